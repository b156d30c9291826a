"""What all commands over operations share: an application to ask, an answer to print, and an example."""

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cyclopts import App

from cadenza.surfaces.cli.connection import ApplicationLauncher, Asker, Way
from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.output.stdout import write_json

if TYPE_CHECKING:  # Rich is for people, and for those who ask for a table.
    from rich.console import RenderableType

Answer = TypeVar("Answer")
Method = TypeVar("Method", bound=Callable[..., Any])
Errand = Callable[[Asker], Awaitable[Any]]
Look = Callable[[Any], "Iterable[RenderableType]"]
EXAMPLE = "__example__"


class Commands:
    """Commands that ask an application."""

    def __init__(self, application: ApplicationLauncher, now: Callable[[], datetime]) -> None:
        self._application = application
        self._now = now

    def answer(self, way: Way, errand: Errand, look: Look) -> int:
        """Run an errand, and print what it brought: as it is, or as people like to see it."""
        found = self.fetch(way, errand)
        if way.json:
            write_json(found)
        else:
            from cadenza.surfaces.cli.output.terminal import show

            show(*look(found))
        return Exit.DONE

    def fetch(self, way: Way, errand: Callable[[Asker], Awaitable[Answer]]) -> Answer:
        """What an errand brings."""
        import asyncio

        async def there_and_back() -> Answer:
            async with self._application(way) as asker:
                return await errand(asker)

        return asyncio.run(there_and_back())


def example(line: str) -> Callable[[Method], Method]:
    """Make a method a command, with a line to try."""

    def marked(method: Method) -> Method:
        setattr(method, EXAMPLE, line)
        return method

    return marked


def group(name: str, about: str, *commands: Commands) -> App:
    """The commands of one group; the first example is that of the group, too."""
    lines = [line for one in commands for _, line in _marked(one)]
    app = App(name=name, help=about, help_epilogue=f"Example: {lines[0]}")
    register(app, *commands)
    return app


def register(app: App, *commands: Commands) -> None:
    """Every method with an example is a command by its name."""
    for one in commands:
        for method, line in _marked(one):
            word = method.__name__.strip("_").replace("_", "-")
            app.command(method, name=word, help_epilogue=f"Example: {line}")


def _marked(commands: Commands) -> Iterable[tuple[Callable[..., Any], str]]:
    for name, method in vars(type(commands)).items():
        if hasattr(method, EXAMPLE):
            yield getattr(commands, name), getattr(method, EXAMPLE)


def plan_look() -> Look:
    """How people see a plan."""
    from cadenza.surfaces.cli.output.cards import plan

    return plan


def said(sentence: str) -> Look:
    """For answers that hold nothing: what was done."""
    return partial(_sentence, sentence)


def _sentence(sentence: str, _: Any) -> "Iterable[RenderableType]":
    from cadenza.surfaces.cli.output.formatting import text

    return [text(sentence)]
