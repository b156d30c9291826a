"""What all commands over operations share: a client to ask, an answer to print, and an example."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from cyclopts import App

from cadenza.surfaces.cli.connection import ClientOpener, CliOptions, OperationClient
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.output.stdout import write_json

if TYPE_CHECKING:  # Rich is for people, and for those who ask for a table.
    from cadenza.surfaces.cli.output.formatting import Part

Answer = TypeVar("Answer")
Method = TypeVar("Method", bound=Callable[..., Any])
Request = Callable[[OperationClient], Awaitable[Any]]
Renderer = Callable[[Any], "Iterable[Part]"]
EXAMPLE = "__example__"
OPERATION = "__operation__"


class Commands:
    """Commands that ask operations."""

    inside = ""
    """The name of a group of their own inside the group that they belong to; empty if there is none."""

    def __init__(self, open_client: ClientOpener, now: Callable[[CliOptions], datetime]) -> None:
        self._open_client = open_client
        self._time = now

    def clock(self, connection: CliOptions) -> Callable[[], datetime]:
        """Tells the present by the clock that the command is carried out by, for spans from now."""
        return partial(self._time, connection)

    def ask(self, connection: CliOptions, operation: str, arguments: Mapping[str, Any] | None = None) -> int:
        """Ask one operation, and print its answer."""
        given = arguments or {}
        return self.answer(connection, lambda client: client.ask(operation, given), operation, given)

    def answer(
        self,
        connection: CliOptions,
        request: Request,
        view: str | Renderer,
        words: Mapping[str, Any] | None = None,
    ) -> int:
        """Carry out a request, and print what it returns: as JSON, or in the view of an operation.

        The words stand in for the answers of operations that answer nothing.
        """
        found = self.fetch(connection, request)
        if connection.json:
            write_json(found)
        else:
            from cadenza.surfaces.cli.output.terminal import show

            render = partial(_view, view, words or {}) if isinstance(view, str) else view
            show(*render(found))
        return Exit.DONE

    def answer_trial(self, connection: CliOptions, request: Request) -> int:
        """Carry out a trial, and print what the target answered; a failed trial exits with 1."""
        trial = self.fetch(connection, request)
        if connection.json:
            write_json(trial)
        else:
            from cadenza.surfaces.cli.output.reports import trial_card
            from cadenza.surfaces.cli.output.terminal import show

            show(*trial_card(trial))
        return Exit.DONE if trial["status"] == "success" else Exit.FAILED_CHECK

    def fetch(
        self, connection: CliOptions, request: Callable[[OperationClient], Awaitable[Answer]]
    ) -> Answer:
        """What a request returns."""
        import asyncio

        async def connected_request() -> Answer:
            async with self._open_client(connection) as client:
                return await request(client)

        return asyncio.run(connected_request())


def _view(operation: str, words: Mapping[str, Any], found: Any) -> "Iterable[Part]":
    from cadenza.surfaces.cli.output.views import view_of

    return view_of(operation, words, found)


def example(line: str = "", *, operation: str | None = None) -> Callable[[Method], Method]:
    """Make a method a command, with an example of what follows its name, and the operation that it does."""

    def marked(method: Method) -> Method:
        setattr(method, EXAMPLE, line)
        setattr(method, OPERATION, operation)
        return method

    return marked


def operations_of(commands: type[Commands]) -> dict[str, str]:
    """The commands by the operations that they do."""
    before = f"{commands.inside} " if commands.inside else ""
    return {
        member.operation if isinstance(member, DerivedCommand) else getattr(member, OPERATION): before
        + _name(attribute)
        for attribute, member in vars(commands).items()
        if isinstance(member, DerivedCommand) or getattr(member, OPERATION, None) is not None
    }


def _name(attribute: str) -> str:
    return attribute.strip("_").replace("_", "-")


class Registered(NamedTuple):
    """A command: its name, the function behind it, and an example."""

    name: str
    function: Callable[..., Any]
    example: str


def group(name: str, about: str, *commands: Commands) -> App:
    """The commands of one group; the first example is that of the group, too."""
    found = [one for some in commands if not some.inside for one in _registered(some, name)]
    app = App(name=name, help=about, help_epilogue=f"Example: {found[0].example}")
    _add(app, found)
    for some in commands:
        if some.inside:
            app.command(_inner_group(some, name))
    return app


def _inner_group(commands: Commands, name: str) -> App:
    found = list(_registered(commands, name, commands.inside))
    about = type(commands).__doc__
    app = App(name=commands.inside, help=about, help_epilogue=f"Example: {found[0].example}")
    _add(app, found)
    return app


def register(app: App, *commands: Commands) -> None:
    """Add every method with an example, and every derived command, by its name."""
    for one in commands:
        _add(app, _registered(one))


def _add(app: App, commands: Iterable[Registered]) -> None:
    for name, function, line in commands:
        app.command(function, name=name, help_epilogue=f"Example: {line}")


def _registered(commands: Commands, *before: str) -> Iterator[Registered]:
    for attribute, member in vars(type(commands)).items():
        name = _name(attribute)
        if isinstance(member, DerivedCommand):
            function, words = member.build(commands.answer), member.example
        elif hasattr(member, EXAMPLE):
            function, words = getattr(commands, attribute), getattr(member, EXAMPLE)
        else:
            continue
        yield Registered(name, function, " ".join(filter(None, ("cadenza", *before, name, words))))
