"""The groups of commands over operations; a group that is not called costs no imports."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from cyclopts import App

from cadenza.surfaces.cli.operation_command import Commands, group

Kinds = tuple[type[Commands], ...]
BARE = frozenset({"--help", "-h", "--version"})
"""What shows the groups' names, and nothing of what is in them."""


class Group(NamedTuple):
    """What a group is about, and where its commands are."""

    about: str
    kinds: Callable[[], Kinds]


def _jobs() -> Kinds:
    from cadenza.surfaces.cli.commands.jobs import Jobs

    return (Jobs,)


def _endpoints() -> Kinds:
    from cadenza.surfaces.cli.commands.board import Figures
    from cadenza.surfaces.cli.commands.endpoints import Endpoints
    from cadenza.surfaces.cli.commands.preview import Preview
    from cadenza.surfaces.cli.commands.steering import Steer

    return (Endpoints, Steer, Preview, Figures)


def _runs() -> Kinds:
    from cadenza.surfaces.cli.commands.runs import Runs

    return (Runs,)


def _hints() -> Kinds:
    from cadenza.surfaces.cli.commands.runs import Hints

    return (Hints,)


def _rules() -> Kinds:
    from cadenza.surfaces.cli.commands.rules import Rules

    return (Rules,)


def _analyses() -> Kinds:
    from cadenza.surfaces.cli.commands.analyses import Analyses

    return (Analyses,)


def _schedules() -> Kinds:
    from cadenza.surfaces.cli.commands.schedules import Schedules

    return (Schedules,)


def _users() -> Kinds:
    from cadenza.surfaces.cli.commands.users_agents import Users

    return (Users,)


def _agents() -> Kinds:
    from cadenza.surfaces.cli.commands.users_agents import Agents

    return (Agents,)


def _daily() -> Kinds:
    from cadenza.surfaces.cli.commands.daily import Daily, DailyFigures

    return (Daily, DailyFigures)


def _keys() -> Kinds:
    from cadenza.surfaces.cli.commands.access import Keys

    return (Keys,)


def _secrets() -> Kinds:
    from cadenza.surfaces.cli.commands.access import Secrets

    return (Secrets,)


def _tenants() -> Kinds:
    from cadenza.surfaces.cli.commands.access import Tenants

    return (Tenants,)


GROUPS = {
    "jobs": Group("Named groups of endpoints that are switched together.", _jobs),
    "endpoints": Group("Schedulable things: what to do, and when.", _endpoints),
    "runs": Group("What happened, newest first.", _runs),
    "hints": Group("Advice with an expiry and a reason.", _hints),
    "rules": Group("What owners want done, and when.", _rules),
    "analyses": Group("What planners thought and did, and what it cost.", _analyses),
    "schedules": Group("What users and their agents have planned.", _schedules),
    "users": Group("Those to whom agents speak.", _users),
    "agents": Group("Those who answer users.", _agents),
    "daily": Group("Users with a daily job; alone, it serves them until stopped.", _daily),
    "keys": Group("Keys that let callers in.", _keys),
    "secrets": Group("Secrets for targets: written and named, never shown.", _secrets),
    "tenants": Group("Owners, and what they may have and spend: on the database itself.", _tenants),
}


def add_groups(app: App, there: Callable[[type[Commands]], Commands], words: Sequence[str] | None) -> None:
    """Every group; for a command line that is known, those that it can mean are filled."""
    needed = GROUPS.keys() if words is None else _needed(words)
    for name, (about, kinds) in GROUPS.items():
        filled = group(name, about, *map(there, kinds())) if name in needed else App(name=name, help=about)
        app.command(filled)


def _needed(words: Sequence[str]) -> frozenset[str]:
    if words and words[0] in GROUPS:
        return frozenset({words[0]})
    return frozenset() if not words or BARE.issuperset(words) else frozenset(GROUPS)
