"""Text output: rich on a terminal, plain text elsewhere; and progress indicators."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, RenderableType

from cadenza.domain.errors import Unavailable
from cadenza.surfaces.cli.output.stdout import write

WIDE = 10_000
"""The width when output is not a terminal: nothing is wrapped or cut."""


def show(*parts: RenderableType) -> None:
    """Print all parts in order."""
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


Progress = Callable[[float], None]


@contextmanager
def working(title: str) -> Iterator[None]:
    """Show a spinner while work is done."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(title):
        yield


@contextmanager
def counting(title: str, *, total: float | None = None, shown: bool = True) -> Iterator[Progress]:
    """Show a progress bar, or a counter if there is no total; yields the function that reports progress."""
    if not shown or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bar

    ends = (SpinnerColumn(), TextColumn("{task.completed:.0f}")) if total is None else (MofNCompleteColumn(),)
    columns = (TextColumn("{task.description}"), *(() if total is None else (BarColumn(),)), *ends)
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done: bar.update(task, completed=done)
