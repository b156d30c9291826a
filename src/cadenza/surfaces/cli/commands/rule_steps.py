"""Steps of rules as people write and see them: a tool, and what it takes."""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cadenza.domain.durations import span_ms
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import quoted
from cadenza.surfaces.cli.argument_parsing import pairs

if TYPE_CHECKING:  # Rich costs time.
    from rich.console import RenderableType

NONE = "none"
SPANS = {"intervalMs": "interval", "nextRunInMs": "in", "pauseMs": "pause"}


def step(option: str, text: str) -> dict[str, Any]:
    """`wake endpoint=cache ttl=5m` as the API takes it."""
    from cadenza.operations.config.schemas import whole_step

    tool, *words = _words(option, text)
    given: dict[str, Any] = pairs(option, words)
    resumes = given.get("pause") == NONE
    if resumes:
        del given["pause"]
    try:
        whole: dict[str, Any] = whole_step({"tool": tool, **given})
    except ValueError as problem:
        raise InvalidRequest(f"{option}: {problem}", option) from None
    return {**whole, "pauseMs": None} if resumes else whole


def escalation(option: str, text: str) -> dict[str, Any]:
    """`5m wake endpoint=oncall` as the API takes it."""
    after, *words = _words(option, text)
    return {"after_ms": span_ms(option, after), "then": step(option, shlex.join(words))}


def _words(option: str, text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    if not words:
        raise InvalidRequest(f"{option} takes a tool with NAME=VALUE, and not {quoted(text)}.", option)
    return words


def spoken(given: Any) -> str:
    """A step in the words that it may be written in."""
    from cadenza.surfaces.cli.output.formatting import span

    said = [given["tool"]]
    said += [f"endpoint={given['endpoint']}"] if given["endpoint"] else []
    for name, word in SPANS.items():
        if name in given:
            said.append(f"{word}={NONE if given[name] is None else span(given[name])}")
    if given.get("ttlMinutes") is not None:
        said.append(f"ttl={span(round(given['ttlMinutes'] * 60_000))}")
    return " ".join(said)


def rule_card(rule: Any) -> "Iterator[RenderableType]":
    """All about a rule."""
    from cadenza.surfaces.cli.output.formatting import card, moment, span, yes

    facts: dict[str, object] = {
        "rule": rule["name"],
        "id": rule["id"],
        "job": rule["job_id"],
        "endpoint": rule["endpoint_id"] or "each of the job",
        "when": rule["when"],
        "then": spoken(rule["then"]),
        "relax": rule["relax"] and spoken(rule["relax"]),
        "cooldown": span(rule["cooldown_ms"] or None),
        "once per incident": yes(rule["once_per_incident"]),
        **{f"after {span(one['after_ms'])}": spoken(one["then"]) for one in rule["escalate"]},
        "enabled": yes(rule["enabled"]),
        "created": moment(rule["created_at"]),
    }
    yield card({name: fact for name, fact in facts.items() if fact not in (None, "")})
