"""The groups of commands over operations; a group that is not called costs no imports."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple

from cyclopts import App

from cadenza.surfaces.cli.operation_command import Commands, group, operations_of

BARE = frozenset({"--help", "-h", "--version"})
"""Options for which the names of the groups are enough."""
MODULES = "cadenza.surfaces.cli.commands"


class Group(NamedTuple):
    """What a group is about, and where its commands are: classes of modules that are not imported yet."""

    about: str
    classes: tuple[tuple[str, str], ...]

    def kinds(self) -> list[type[Commands]]:
        """The classes themselves, imported now."""
        return [getattr(import_module(f"{MODULES}.{module}"), name) for module, name in self.classes]


GROUPS = {
    "jobs": Group("Named groups of endpoints that are switched together.", (("jobs", "Jobs"),)),
    "endpoints": Group(
        "Schedulable things: what to do, and when.",
        (("endpoints", "Endpoints"), ("steering", "SteeringCommands"), ("endpoints", "EndpointReports")),
    ),
    "runs": Group("What happened, newest first.", (("runs", "Runs"),)),
    "hints": Group("Advice with an expiry and a reason.", (("runs", "Hints"),)),
    "rules": Group("What owners want done, and when.", (("planning", "Rules"),)),
    "analyses": Group("What planners thought and did, and what it cost.", (("planning", "Analyses"),)),
    "schedules": Group("What users and their agents have planned.", (("agents", "Schedules"),)),
    "users": Group("Users of agents.", (("agents", "Users"),)),
    "agents": Group("Conversational agents.", (("agents", "Agents"),)),
    "daily": Group(
        "Daily users; alone, it serves them until stopped.",
        (("daily", "Daily"), ("daily", "DailyReports")),
    ),
    "keys": Group("API keys.", (("access", "Keys"),)),
    "secrets": Group("Secrets for targets: written and named, never shown.", (("access", "Secrets"),)),
    "audit": Group("Who changed, steered or logged in, and what differed.", (("access", "Audit"),)),
    "tenants": Group(
        "Owners, and what they may have and spend: on the database itself.", (("access", "Tenants"),)
    ),
}


def command_of(operation: str) -> str | None:
    """The command that does what an operation does, as it is written; None if refusals name none."""
    for name, one in GROUPS.items():
        for kind in one.kinds():
            if operation in (found := operations_of(kind)):
                return f"cadenza {name} {found[operation]}"
    return None


def add_groups(app: App, instance: Callable[[type[Commands]], Commands], words: Sequence[str] | None) -> None:
    """Add all groups; for a given command line, only the group that it calls gets its commands."""
    needed = GROUPS.keys() if words is None else _needed(words)
    for name, one in GROUPS.items():
        filled = name in needed
        app.command(
            group(name, one.about, *map(instance, one.kinds())) if filled else App(name=name, help=one.about)
        )


def _needed(words: Sequence[str]) -> frozenset[str]:
    """The group that is called; all groups for an option that may need them, such as completion."""
    if words and words[0].startswith("-") and not BARE.issuperset(words):
        return frozenset(GROUPS)
    return frozenset(words[:1]) & GROUPS.keys()
