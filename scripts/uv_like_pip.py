"""Run this environment's uv with pip's settings: its registries and certificates, which uv does not read."""

import ast
import os
import subprocess
import sys
from pathlib import Path

STRENGTH = ("global", "install", ":env:")
"""The parts of pip's configuration, the strongest last."""


def main() -> None:
    uv = str(Path(sys.prefix, "bin", "uv"))
    os.execve(uv, [uv, *sys.argv[1:]], as_uv_says(pip_settings()) | os.environ)


def pip_settings() -> dict[str, str]:
    """What pip is told by its files and its variables, by the option's name."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: list[tuple[int, str, str]] = []
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        part, _, option = key.partition(".")
        if part in STRENGTH:
            found.append((STRENGTH.index(part), option, ast.literal_eval(value)))
    return {option: value for _, option, value in sorted(found)}


def as_uv_says(pip: dict[str, str]) -> dict[str, str]:
    """The same, as variables for uv; what is not set stays out."""
    more = pip.get("extra-index-url", "").split()
    links = [link for link in pip.get("find-links", "").split() if "://" in link or Path(link).exists()]
    said = {
        "UV_DEFAULT_INDEX": pip.get("index-url", ""),
        "UV_INDEX": " ".join(more),
        # Like pip: the best version that any registry has, not the first registry that knows the name.
        "UV_INDEX_STRATEGY": "unsafe-best-match" if more else "",
        "UV_FIND_LINKS": ",".join(links),
        "SSL_CERT_FILE": pip.get("cert", ""),
    }
    return {name: value for name, value in said.items() if value}


if __name__ == "__main__":
    main()
