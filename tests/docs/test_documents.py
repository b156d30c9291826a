"""What the documents say is true: their links lead somewhere, and their examples run."""

import asyncio
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cadenza import Cadenza
from cadenza.roots.command_line import main
from cadenza.roots.settings import Settings

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^\$ (?:\.venv/bin/)?cadenza (.*)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
NAMES = [str(document.relative_to(ROOT)) for document in DOCUMENTS]


def text(name: str) -> str:
    return (ROOT / name).read_text()


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_somewhere(name: str) -> None:
    missing = [link for link in LINK.findall(text(name)) if not (ROOT / name).parent.joinpath(link).exists()]
    assert missing == []


@pytest.mark.parametrize("name", [name for name in NAMES if PYTHON.search(text(name))])
def test_python_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    async def briefly(app: Cadenza) -> None:
        async with app:
            await asyncio.sleep(0.05)

    monkeypatch.setattr(Cadenza, "run", lambda app: asyncio.run(briefly(app)))
    names: dict[str, Any] = {"__name__": "example"}
    for example in PYTHON.findall(text(name)):
        exec(compile(example, name, "exec"), names)
    if "main" in names:
        asyncio.run(names["main"]())


COMMANDS = sorted({line for name in NAMES for line in CONSOLE.findall(text(name)) if line.startswith("sim ")})


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_work(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 0
    assert capsys.readouterr().out


INSTALLS = sorted({line for name in NAMES for line in re.findall(r"pip install [^`\n]*'[^`\n]*", text(name))})


@pytest.mark.parametrize("line", INSTALLS)
def test_what_is_installed_is_the_clone_with_an_extra_that_it_has(line: str) -> None:
    """The package is not published: nothing else can be installed."""
    extras = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]
    found = re.search(r" --editable '\.\[(\w+)\]'", line)
    assert found, line
    assert found[1] in extras


def test_every_setting_is_documented_with_its_default() -> None:
    reference = text("docs/reference/settings.md")
    named = set(re.findall(r"`CADENZA_([A-Z0-9_]+)`", reference))
    known = {name.upper() for name in Settings.model_fields}
    assert named == known
