"""Documentation for agents: the texts beside this file, and a list of the tools."""

from importlib.resources import files
from typing import NamedTuple

from cadenza.domain.access.key import Scope
from cadenza.operations.table import OPERATIONS


class Text(NamedTuple):
    """A text, and what it is about."""

    title: str
    about: str
    body: str


def _written(name: str) -> str:
    return files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8")


def _tools() -> str:
    """Every tool, under the scope that it needs."""
    parts = ["# Tools, by the scope that they need"]
    for scope in Scope:
        offered = [one for one in OPERATIONS if one.agent and one.route is not None and one.scope is scope]
        lines = [f"- `{one.name}`: {one.description.splitlines()[0]}" for one in offered]
        parts += [f"## {scope}", "\n".join(lines)] if lines else []
    return "\n\n".join(parts) + "\n"


INSTRUCTIONS = _written("instructions").strip()
TEXTS = {
    "about": Text(
        "What Cadenza is", "What Cadenza schedules, and how a next run is decided.", _written("about")
    ),
    "steering": Text(
        "How to steer", "The three tools that steer an endpoint, with examples.", _written("steering")
    ),
    "glossary": Text("Words", "One word, one meaning: what the names in answers mean.", _written("glossary")),
    "tools": Text("Tools by scope", "What every tool does, and which scope it needs.", _tools()),
}
