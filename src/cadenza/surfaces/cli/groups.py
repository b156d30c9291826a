"""The groups of commands over operations; a group that is not called costs no imports."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple

from cyclopts import App

from cadenza.surfaces.cli.operation_command import Commands, group, operations_of

BARE = frozenset({"--help", "-h", "--version"})
"""Options for which the names of the groups are enough."""
ALSO_ALONE = frozenset({"daily"})
"""Groups whose name is a command, too."""
MODULES = "cadenza.surfaces.cli.commands"


class Group(NamedTuple):
    """What a group is about, and where its commands are: classes of modules that are not imported yet."""

    about: str
    classes: tuple[tuple[str, str], ...]

    def kinds(self) -> list[type[Commands]]:
        """The classes themselves, imported now."""
        return [getattr(import_module(f"{MODULES}.{module}"), name) for module, name in self.classes]


GROUPS = {
    "jobs": Group("Named groups of endpoints that are paused and resumed together.", (("jobs", "Jobs"),)),
    "endpoints": Group(
        "What runs, and when: targets with a schedule.",
        (
            ("endpoints", "Endpoints"),
            ("steering", "SteeringCommands"),
            ("endpoints", "EndpointReports"),
            ("endpoints", "UnsavedEndpoints"),
        ),
    ),
    "runs": Group("Results of runs, newest first.", (("runs", "Runs"),)),
    "hints": Group(
        "Temporary changes of an interval or of the next run, with a reason.", (("runs", "Hints"),)
    ),
    "alerts": Group("What is wrong, and who has it in hand.", (("overview", "Alerts"),)),
    "alert-routes": Group("Which alerts go to which channel.", (("overview", "AlertRoutes"),)),
    "rules": Group("Conditions on runs, and the steering they trigger.", (("planning", "Rules"),)),
    "analyses": Group("Planner evaluations, their calls and their cost.", (("planning", "Analyses"),)),
    "schedules": Group("Schedules of users and their agents.", (("agents.schedules", "Schedules"),)),
    "users": Group("Users of agents.", (("agents.users_agents", "Users"),)),
    "agents": Group("Conversational agents.", (("agents.users_agents", "Agents"),)),
    "turns": Group("Turns of agents of your own.", (("agents.turns", "Turns"),)),
    "daily": Group(
        "Daily users. Without a subcommand: run the daily process.",
        (
            ("daily.users_days", "Daily"),
            ("daily.users_days", "DailyReports"),
            ("daily.programmes", "DailyProgrammes"),
        ),
    ),
    "keys": Group("API keys.", (("access", "Keys"),)),
    "secrets": Group("Secrets for targets. Values are never shown.", (("access", "Secrets"),)),
    "limits": Group(
        "Limits of runs: how many are in flight, and begin in a minute.", (("access", "RunLimits"),)
    ),
    "calendars": Group("Times in which things run, or never do.", (("calendars", "Calendars"),)),
    "audit": Group("Who changed, steered or logged in, with the difference.", (("access", "Audit"),)),
    "tenants": Group("Tenants and their limits, which the operator sets.", (("access", "Tenants"),)),
}


def command_of(operation: str) -> str | None:
    """The command that does what an operation does, as it is written; None if refusals name none."""
    for name, one in GROUPS.items():
        for kind in one.kinds():
            if operation in (found := operations_of(kind)):
                return f"cadenza {name} {found[operation]}"
    return None


def called_group(words: Sequence[str] | None) -> str | None:
    """The group that a command line calls; None for anything else."""
    return words[0] if words and words[0] in GROUPS else None


def add_groups(app: App, instance: Callable[[type[Commands]], Commands], words: Sequence[str] | None) -> None:
    """Add the group that a command line calls, or else all groups, without their commands if they suffice."""
    called = called_group(words)
    bare = called is None and words is not None and not _may_need_all(words)
    for name in GROUPS if called is None else [called]:
        one = GROUPS[name]
        app.command(
            App(name=name, help=one.about) if bare else group(name, one.about, *map(instance, one.kinds()))
        )


def _may_need_all(words: Sequence[str]) -> bool:
    """Whether an option stands first that may need all commands, such as completion."""
    return bool(words) and words[0].startswith("-") and not BARE.issuperset(words)
