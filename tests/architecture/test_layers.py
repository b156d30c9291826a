"""What the layers promise, read from the source itself."""

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import cadenza

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "cadenza"
FILES = sorted(SOURCE.rglob("*.py"))
DOMAIN = sorted((SOURCE / "domain").rglob("*.py"))
PORTS = sorted(path.stem for path in (SOURCE / "ports").glob("*.py") if path.stem != "__init__")
LONGEST_FILE = 400

MAY_ASK = {"adapters/clock.py", "adapters/ids.py", "testing/virtual_time.py"}
"""Where the present, chance and identity may be asked for: their adapters, and the loop of simulations."""

PUBLIC = [
    "Cadenza",
    "Cron",
    "Endpoint",
    "ErrorClass",
    "EventBus",
    "Every",
    "Guard",
    "HttpTarget",
    "IntervalHint",
    "JobFailed",
    "Once",
    "OneShotHint",
    "Plan",
    "RunContext",
    "plan_next_run",
]
REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pypi", "python", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("crates", "io"),
        ("rubygems", "org"),
        ("artifactory", ""),
    )
]


def name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, by their full names."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module or ""


def meanings(module: ast.Module) -> dict[str, str]:
    """What the names that a file imports stand for, spelled out."""
    known: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            known |= {alias.asname or alias.name.split(".")[0]: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return known


def used_names(path: Path) -> set[str]:
    """Everything imported that a file uses, by its full name."""
    module = parsed(path)
    known = meanings(module)
    used = {ast.unparse(node) for node in ast.walk(module) if isinstance(node, ast.Attribute | ast.Name)}
    parts = [dotted.split(".", 1) for dotted in used]
    return {".".join([known[first], *rest]) for first, *rest in parts if first in known} | set(known.values())


def asks_the_world(dotted: str) -> bool:
    """Is this a question for the present, for chance or for a new identity?"""
    module, last = dotted.split(".", maxsplit=1)[0], dotted.rsplit(".", maxsplit=1)[-1]
    match module:
        case "datetime":
            return last in {"now", "utcnow", "today"}
        case "time":
            return dotted != "time" and last in {"time", "time_ns", "gmtime", "localtime"}
        case "uuid":
            return last in {"uuid1", "uuid4"}
        case _:
            return module in {"random", "secrets"}


@pytest.mark.parametrize("path", DOMAIN, ids=name)
def test_the_domain_imports_only_itself_and_the_standard_library(path: Path) -> None:
    foreign = {
        module
        for module in imported(path)
        if not module.startswith("cadenza.domain.") and module.split(".")[0] not in sys.stdlib_module_names
    }
    assert foreign == set()


@pytest.mark.parametrize("path", DOMAIN, ids=name)
def test_the_domain_awaits_nothing(path: Path) -> None:
    waits = (ast.Await, ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith)
    assert [node.lineno for node in ast.walk(parsed(path)) if isinstance(node, waits)] == []
    assert "asyncio" not in set(imported(path))


@pytest.mark.parametrize("path", DOMAIN, ids=name)
def test_the_domain_touches_nothing_outside(path: Path) -> None:
    outside = {"logging", "os", "io", "pathlib", "socket", "sqlite3", "subprocess", "threading"}
    assert outside.isdisjoint(module.split(".")[0] for module in imported(path))


def test_only_the_adapters_of_time_and_identity_ask_the_world() -> None:
    asked = {name(path): list(filter(asks_the_world, used_names(path))) for path in FILES}
    assert {file: asks for file, asks in asked.items() if asks and file not in MAY_ASK} == {}


@pytest.mark.parametrize("adapter", sorted(MAY_ASK))
def test_the_adapters_that_may_ask_the_world_do_so(adapter: str) -> None:
    assert any(map(asks_the_world, used_names(SOURCE / adapter)))


@pytest.mark.parametrize(
    "line",
    [
        "from datetime import datetime\ndatetime.now(UTC)",
        "import datetime as dates\ndates.datetime.utcnow()",
        "from datetime import date as day\nday.today()",
        "import time\ntime.time()",
        "from time import time",
        "from uuid import uuid4",
        "import uuid\nuuid.uuid4()",
        "import random\nrandom.random()",
        "from random import Random",
        "from secrets import token_hex",
    ],
)
def test_a_question_to_the_world_is_recognized(tmp_path: Path, line: str) -> None:
    path = tmp_path / "curious.py"
    path.write_text(line)
    assert any(map(asks_the_world, used_names(path)))


@pytest.mark.parametrize(
    "line",
    [
        "self._clock.now()",
        "from datetime import datetime, time\ntime(1)",
        "import time\ntime.monotonic()",
        "def reveal(secrets): secrets.reveal()",
        "from uuid import UUID\nUUID(text)",
    ],
)
def test_a_question_to_a_port_is_none_to_the_world(tmp_path: Path, line: str) -> None:
    path = tmp_path / "modest.py"
    path.write_text(line)
    assert not any(map(asks_the_world, used_names(path)))


def test_the_public_names_are_pinned() -> None:
    assert cadenza.__all__ == PUBLIC


@pytest.mark.parametrize("public", PUBLIC)
def test_every_public_name_can_be_imported_and_says_what_it_is(public: str) -> None:
    assert inspect.getdoc(getattr(cadenza, public))


@pytest.mark.parametrize("port", PORTS)
def test_every_method_of_a_port_states_its_guarantee(port: str) -> None:
    module = importlib.import_module(f"cadenza.ports.{port}")
    silent = [
        f"{kind.__name__}.{method}"
        for kind in vars(module).values()
        if inspect.isclass(kind)
        and kind.__module__ == module.__name__
        and getattr(kind, "_is_protocol", False)
        for method, member in vars(kind).items()
        if not method.startswith("_") and (callable(member) or isinstance(member, property))
        if not inspect.getdoc(member)
    ]
    assert silent == []


def test_a_file_that_grows_wants_splitting() -> None:
    lengths = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {file: lines for file, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_every_file_says_what_it_is_for() -> None:
    assert [name(path) for path in FILES if not ast.get_docstring(parsed(path))] == []


def test_no_tracked_file_names_a_package_registry() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / tracked for tracked in listed.decode().split("\0") if tracked]
    naming = [
        path.relative_to(ROOT).as_posix()
        for path in paths
        if path.is_file() and any(host in path.read_text("utf-8", "ignore").lower() for host in REGISTRIES)
    ]
    assert naming == []
