"""Run this environment's uv with pip's settings: its registries and certificates, which uv does not read."""

import ast
import os
import subprocess
import sys
from pathlib import Path

PRECEDENCE = ("global", "install", ":env:")
"""The parts of pip's configuration; later ones override earlier ones."""


def main() -> None:
    uv = str(Path(sys.prefix, "bin", "uv"))
    os.execve(uv, [uv, *sys.argv[1:]], uv_environment(pip_settings()) | os.environ)


def pip_settings() -> dict[str, str]:
    """pip's settings from its files and environment variables, by option name."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    settings: list[tuple[int, str, str]] = []
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        part, _, option = key.partition(".")
        if part in PRECEDENCE:
            settings.append((PRECEDENCE.index(part), option, ast.literal_eval(value)))
    return {option: value for _, option, value in sorted(settings)}


def uv_environment(pip: dict[str, str]) -> dict[str, str]:
    """The same settings as environment variables for uv; unset ones are left out."""
    extra_indexes = pip.get("extra-index-url", "").split()
    links = [link for link in pip.get("find-links", "").split() if "://" in link or Path(link).exists()]
    variables = {
        "UV_DEFAULT_INDEX": pip.get("index-url", ""),
        "UV_INDEX": " ".join(extra_indexes),
        # Like pip: the best version that any registry has, not the first registry that has the name.
        "UV_INDEX_STRATEGY": "unsafe-best-match" if extra_indexes else "",
        "UV_FIND_LINKS": ",".join(links),
        "SSL_CERT_FILE": pip.get("cert", ""),
    }
    return {name: value for name, value in variables.items() if value}


if __name__ == "__main__":
    main()
