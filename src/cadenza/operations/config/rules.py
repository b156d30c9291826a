"""What a configuration wants of rules, and what that changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.errors import Fault, InvalidRequest
from cadenza.domain.planning.rules.rule import MOST_RULES, OWNER_FIELDS, Rule
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.operations.config.schemas import ConfigDocument, RuleWords
from cadenza.operations.planning.rule_schemas import made_parts, strangers
from cadenza.ports.catalog import BulkState
from cadenza.ports.planning import Expressions

PARTS = ("when", "then", "relax", "cooldown_ms", "once_per_incident", "escalate")


class PlacedRule(NamedTuple):
    """A rule of a file, its job, and the path to it."""

    path: str
    job_id: str
    words: RuleWords


class WantedRule(NamedTuple):
    """A rule as a file wants it, and where; `enabled` is None if the file does not say."""

    rule: Rule
    enabled: bool | None
    path: str


def placed_rules(document: ConfigDocument) -> list[PlacedRule]:
    """All rules of a file."""
    return [
        PlacedRule(f"jobs.{j}.rules.{r}", job.id, words)
        for j, job in enumerate(document.jobs)
        for r, words in enumerate(job.rules)
    ]


def made_rule(
    placed: PlacedRule, *, tenant_id: str, expressions: Expressions, now: datetime | None = None
) -> WantedRule | list[Fault]:
    """The rule that is spelt, or all that is wrong with it."""
    path, job_id, words = placed
    try:
        rule = Rule(
            id=words.id,
            name=words.name or words.id,
            tenant_id=tenant_id,
            job_id=job_id,
            endpoint_id=words.endpoint,
            enabled=words.enabled is not False,
            created_at=now,
            **made_parts({name: getattr(words, name) for name in PARTS}),
        )
        expressions.check(rule.when)
    except InvalidRequest as problem:
        return [Fault(f"{path}.{fault.field}", fault.message) for fault in problem.faults]
    return WantedRule(rule, words.enabled, path)


def refuse(faults: Sequence[Fault]) -> None:
    """Raise all that is wrong with a configuration, if anything is."""
    if faults:
        first = faults[0]
        raise InvalidRequest(f"{first.field}: {first.message}", first.field, faults)


def changed_rule(wanted: WantedRule, before: Rule | None) -> Rule | None:
    """The rule as it will be; None if it stays as it is."""
    rule, enabled, _ = wanted
    if before is None:
        return rule
    said = {name: getattr(rule, name) for name in OWNER_FIELDS} | (
        {"enabled": before.enabled} if enabled is None else {}
    )
    after = replace(before, **said)
    return None if after == before else after


def removed_rules(
    current: BulkState, wanted: Mapping[str, WantedRule], *, jobs: frozenset[str]
) -> list[Rule]:
    """Rules of these jobs that are not wanted."""
    return [rule for rule in current.rules.values() if rule.job_id in jobs and rule.id not in wanted]


def check_rules(
    wanted: Mapping[str, WantedRule], present: list[Endpoint], *, stay: Mapping[str, Rule]
) -> None:
    """Refuse rules about endpoints that are not in their job, and more of them than a job may have."""
    faults = [fault for one in wanted.values() for fault in _strangers(one, present)]
    faults += _too_many([one.rule for one in wanted.values()] + [*stay.values()])
    refuse(faults)


def _strangers(wanted: WantedRule, present: list[Endpoint]) -> Iterator[Fault]:
    siblings = [one for one in present if one.job_id == wanted.rule.job_id]
    found = strangers(wanted.rule, ids={one.id for one in siblings}, names={one.name for one in siblings})
    for fault in found:
        field = "endpoint" if fault.field == "endpoint_id" else fault.field
        yield Fault(f"{wanted.path}.{field}", fault.message)


def _too_many(rules: list[Rule]) -> Iterator[Fault]:
    for job_id in dict.fromkeys(rule.job_id for rule in rules):
        count = sum(rule.job_id == job_id for rule in rules)
        if count > MOST_RULES:
            yield Fault("jobs", f"The job {job_id} would have {count} rules, and may have {MOST_RULES}.")
