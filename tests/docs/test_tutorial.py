"""The tutorial, followed word for word against a real `cadenza up`."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.surfaces.cli.cli_fixtures import free_port

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorials" / "first-endpoint.md"
STEP = re.compile(r"^\$ (.*)$", re.MULTILINE)
KEY = re.compile(r"cad_[A-Za-z0-9_]+")
PATIENCE_S = 60


class Reader(NamedTuple):
    """Somebody who follows the tutorial in a folder of their own."""

    folder: Path
    surroundings: dict[str, str]
    port: int

    def follow(self, step: str) -> str:
        done = subprocess.run(
            ["bash", "-c", step.replace("8700", str(self.port))],
            cwd=self.folder,
            env=self.surroundings,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, f"{step}\n{done.stdout}{done.stderr}"
        return done.stdout


@contextmanager
def started(folder: Path) -> Iterator[Reader]:
    """Start it as the tutorial does, and take the key that it prints."""
    port = free_port()
    programs = Path(sys.executable).parent
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("CADENZA_")}
    surroundings |= {
        "PATH": f"{programs}{os.pathsep}{surroundings['PATH']}",
        "CADENZA_PORT": str(port),
        "CADENZA_ALLOW_TARGETS": f"127.0.0.1:{port}",
    }
    said = folder / "said"
    with said.open("w") as output:
        process = subprocess.Popen(
            [programs / "cadenza", "up"], cwd=folder, env=surroundings, stdout=output, stderr=output
        )
    try:
        yield Reader(folder, surroundings | {"CADENZA_KEY": _key(said, process)}, port)
    finally:
        process.terminate()
        assert process.wait(PATIENCE_S) == 0


def _key(said: Path, process: "subprocess.Popen[bytes]") -> str:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = KEY.search(said.read_text())
        if found:
            return found[0]
        assert process.poll() is None, said.read_text()
        time.sleep(0.05)
    raise AssertionError(said.read_text())


def test_the_tutorial_can_be_followed_word_for_word(tmp_path: Path) -> None:
    steps = STEP.findall(TUTORIAL.read_text())
    with started(tmp_path) as reader:
        told = [(step, reader.follow(step)) for step in steps]
        runs = json.loads(reader.follow("cadenza runs list --endpoint front-door --json"))
    explained = [answer for step, answer in told if step.startswith("cadenza explain")]
    assert "customers complain" in explained[0]
    assert "deploying" in explained[1]
    curl = next(answer for step, answer in told if step.startswith("curl"))
    assert json.loads(curl)["id"] == "back-door"
    statuses = {run["status"] for run in runs["items"]}
    assert statuses in ({"success"}, {"success", "cancelled"}), "a pause may cancel a claim made ahead"
