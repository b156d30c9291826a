"""Text output, with colours and wrapped on a terminal, plain elsewhere; and progress indicators."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from cadenza.domain.errors import Unavailable
from cadenza.surfaces.cli.output.formatting import Part
from cadenza.surfaces.cli.output.layout import Card, Paragraph, Screen, Table
from cadenza.surfaces.cli.output.stdout import write

if TYPE_CHECKING:  # Only the reports of simulations are rendered by rich.
    from rich.console import RenderableType

WIDE = 10_000
"""The width when output is not a terminal: nothing is wrapped or cut."""


def show(*parts: "Part | RenderableType") -> None:
    """Print all parts in order, as wide as the terminal; without a terminal, nothing is wrapped."""
    screen = _screen()
    lines = [line for part in parts for line in _lines(part, screen)]
    write("".join(f"{line.rstrip()}\n" for line in lines))


def _screen() -> Screen:
    """The width of the output, and whether it takes colours: a terminal, unless NO_COLOR is set."""
    forced = bool(os.environ.get("FORCE_COLOR"))
    terminal = forced or (sys.stdout is not None and sys.stdout.isatty())
    coloured = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    encoding = (sys.stdout is not None and sys.stdout.encoding) or "ascii"
    width = get_terminal_size().columns if terminal else WIDE
    return Screen(width, coloured, "─" if encoding.lower().startswith("utf") else "-")


def _lines(part: "Part | RenderableType", screen: Screen) -> Iterable[str]:
    if isinstance(part, Paragraph | Card | Table):
        return part.lines(screen)
    from rich.console import Console

    console = Console(highlight=False, color_system=None if os.environ.get("NO_COLOR") else "auto")
    if not console.is_terminal:
        console.width = WIDE
    # Captured first, because rich meets a closed pipe with an exit code of its own.
    try:
        with console.capture() as captured:
            console.print(part, crop=False)  # What may not be broken is longer than the line.
    except OSError as problem:
        raise Unavailable(f"Standard output cannot be written: {problem.strerror}.") from None
    return captured.get().splitlines()


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
