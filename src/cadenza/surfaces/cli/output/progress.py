"""How far long work has come, for people who watch: on standard error, and only on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[float], None]


@contextmanager
def working(title: str) -> Iterator[None]:
    """Something turns while work of unknown length is done."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(title):
        yield


@contextmanager
def counting(title: str, *, total: float | None = None, shown: bool = True) -> Iterator[Progress]:
    """Something to tell how far it is; without a total it only counts."""
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
