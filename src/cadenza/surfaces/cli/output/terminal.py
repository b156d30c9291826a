"""Writing to people: rich on a terminal, plain text anywhere else."""

import os

from rich.console import Console, RenderableType

from cadenza.domain.errors import Unavailable
from cadenza.surfaces.cli.output.stdout import write

WIDE = 10_000
"""The width of a pipe: nothing is wrapped or cut in it."""


def show(*parts: RenderableType) -> None:
    """Print one part after the other."""
    console = Console(highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto")
    if not console.is_terminal:
        console.width = WIDE
    # Captured first, because rich meets a closed pipe with an exit code of its own.
    try:
        with console.capture() as captured:
            for part in parts:
                console.print(part, crop=False)  # What may not be broken is longer than the line.
    except OSError as problem:
        raise Unavailable(f"Standard output cannot be written: {problem.strerror}.") from None
    write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
