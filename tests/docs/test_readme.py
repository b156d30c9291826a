"""The README, followed from top to bottom in one terminal, word for word."""

import fnmatch
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.docs.test_documents import ROOT
from tests.surfaces.cli.cli_fixtures import free_port

BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"^\$ ", re.MULTILINE)
PROMPT = re.compile(r"<exit (\d+)> ")
KEY = re.compile(r"cad_[A-Za-z0-9]+_[A-Za-z0-9]+")
UNTIL_CTRL_C = {"scripts/up --demo": "/login#", "cadenza runs list --follow": " success home "}
"""What goes on for ever, and what its reader waits for."""
IN_BACKGROUND = "/login#"
PATIENCE_S = 90
TERMINAL = """
import fcntl, os, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
"""


class Terminal:
    """A shell in a terminal: what is typed into it, and what it shows."""

    def __init__(self, keyboard: int) -> None:
        self._keyboard = keyboard
        self.shown = ""

    def type(self, text: str) -> None:
        os.write(self._keyboard, text.encode())

    def wait_for(self, pattern: str, begin: int) -> "re.Match[str]":
        """What matches behind a place."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            found = re.compile(pattern).search(self.shown, begin)
            if found:
                return found
            if select.select([self._keyboard], [], [], 0.2)[0]:
                self.shown += os.read(self._keyboard, 65_536).decode(errors="replace").replace("\r", "")
        raise AssertionError(f"{pattern} does not come:\n{self.shown}")

    def follow(self, step: str) -> None:
        """Type a step; end what goes on for ever when it has shown something."""
        begin = len(self.shown)
        self.type(step + "\n")
        for command, awaited in UNTIL_CTRL_C.items():
            if step.startswith(command):
                self.wait_for(re.escape(awaited), begin)
                self.type("\x03")
        code = self.wait_for(PROMPT.pattern, begin)[1]
        assert code == "0", f"{step}\n{self.shown[begin:]}"
        if step.endswith("&"):
            self.wait_for(IN_BACKGROUND, begin)


@contextmanager
def a_terminal(folder: Path, **environment: str) -> Iterator[Terminal]:
    keyboard, screen = pty.openpty()
    own = {name: value for name, value in os.environ.items() if not name.startswith("CADENZA_")}
    own |= {"PS1": "<exit $?> ", "PS2": "", "TERM": "dumb", "PYTHONPATH": str(ROOT / "src"), **environment}
    with subprocess.Popen(
        [sys.executable, "-c", TERMINAL], cwd=folder, env=own, stdin=screen, stdout=screen, stderr=screen
    ) as shell:
        os.close(screen)
        terminal = Terminal(keyboard)
        try:
            terminal.wait_for(PROMPT.pattern, 0)
            yield terminal
        finally:
            terminal.type("\x03\nkill %1; exit\n")
            time.sleep(0.1)
            os.close(keyboard)
            shell.wait(PATIENCE_S)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone in which `scripts/up` finds everything installed."""
    for name in ("pyproject.toml", "constraints.txt", "hatch_build.py"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    for name in ("src", "web"):
        (tmp_path / name).symlink_to(ROOT / name)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    (programs / "cadenza").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m cadenza "$@"\n')
    (programs / "cadenza").chmod(0o755)
    done = 'source scripts/lib.sh; record made-in "$root"; record installed-core "$(fingerprint)"'
    subprocess.run(["bash", "-c", done], cwd=tmp_path, check=True, timeout=PATIENCE_S)
    return tmp_path


def steps(document: str) -> list[str]:
    """What stands behind each `$`, with the lines that go on with it."""
    return [step.strip() for block in BLOCK.findall(document) for step in STEP.split(block)[1:]]


def test_the_readme_can_be_followed_in_one_terminal_word_for_word(clone: Path) -> None:
    before, port = set(clone.iterdir()), str(free_port())
    readme = (ROOT / "README.md").read_text().replace("8700", port)
    readme = readme.replace("https://example.com", f"http://127.0.0.1:{port}")
    own = {"CADENZA_PORT": port, "CADENZA_DEMO_PORT": "0", "CADENZA_ALLOW_TARGETS": f"127.0.0.1:{port}"}
    with a_terminal(clone, **own) as terminal:
        for step in steps(readme):
            terminal.follow(step.replace("cad_…", (KEY.findall(terminal.shown) or [""])[-1]))
        terminal.follow("wait")
        terminal.follow("env -u CADENZA_KEY cadenza endpoints list")
    listed = terminal.shown.rpartition("cadenza endpoints list")[2]
    assert "home" in listed
    assert "search" in listed
    assert "traffic_monitor" not in listed, "the demo leaves nothing here"
    left = {path.name for path in set(clone.iterdir()) - before}
    assert {"cadenza.db", "cadenza-demo.db", "cadenza.log"} <= left
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert {name for name in left if not any(fnmatch.fnmatch(name, line) for line in ignored)} == set()
