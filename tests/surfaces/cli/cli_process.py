"""The program as a user starts it."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[3]
QUIET = {"NO_COLOR": None, "FORCE_COLOR": None, "TTY_COMPATIBLE": None, "COLUMNS": None}
"""What would change the output behind a test's back."""


def command(*arguments: str) -> list[str]:
    """The installed script or, in a tree that is only on the path, what that script would do."""
    script = Path(sys.executable).with_name("cadenza")
    if script.exists():
        return [str(script), *arguments]
    return [sys.executable, "-c", f"import sys; from {_entry()} as main; sys.exit(main())", *arguments]


def cadenza(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end, with its output in pipes."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, check=False, timeout=60, env=env(**environment)
    )


def env(**changes: str) -> dict[str, str]:
    """This process's environment, without what colours output."""
    wanted: dict[str, Any] = {**os.environ, "PYTHONPATH": str(PROJECT / "src"), **QUIET, **changes}
    return {name: value for name, value in wanted.items() if value is not None}


def _entry() -> str:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    module, function = project["scripts"]["cadenza"].split(":")
    return f"{module} import {function}"
