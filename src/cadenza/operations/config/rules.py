"""The rules of a configuration: checked, and compared with the stored ones."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.errors import Fault, InvalidRequest
from cadenza.domain.planning.rules.rule import MOST_RULES, OWNER_FIELDS, Rule
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.operations.config.rule_words import RuleWords
from cadenza.operations.config.schemas import ConfigDocument
from cadenza.operations.planning.rule_schemas import missing_endpoints, rule_parts_to_domain
from cadenza.ports.catalog import BulkState
from cadenza.ports.planning import Expressions

PARTS = ("when", "then", "relax", "cooldown_ms", "once_per_incident", "escalate")


class LocatedRule(NamedTuple):
    """A rule of a file, its job, and the path to it."""

    path: str
    job_id: str
    entry: RuleWords


class WantedRule(NamedTuple):
    """A rule as a file wants it, and where; `enabled` is None if the file does not say."""

    rule: Rule
    enabled: bool | None
    path: str


def located_rules(document: ConfigDocument) -> list[LocatedRule]:
    """All rules of a file."""
    return [
        LocatedRule(f"jobs.{j}.rules.{r}", job.id, entry)
        for j, job in enumerate(document.jobs)
        for r, entry in enumerate(job.rules)
    ]


def rule_or_faults(
    located: LocatedRule, *, tenant_id: str, expressions: Expressions, now: datetime | None = None
) -> WantedRule | list[Fault]:
    """The rule of an entry, or all its faults."""
    path, job_id, entry = located
    try:
        rule = Rule(
            id=entry.id,
            name=entry.name or entry.id,
            tenant_id=tenant_id,
            job_id=job_id,
            endpoint_id=entry.endpoint,
            enabled=entry.enabled is not False,
            created_at=now,
            **rule_parts_to_domain({name: getattr(entry, name) for name in PARTS}),
        )
        expressions.check(rule.when)
    except InvalidRequest as problem:
        return [Fault(f"{path}.{fault.field}", fault.message) for fault in problem.faults]
    return WantedRule(rule, entry.enabled, path)


def refuse(faults: Sequence[Fault]) -> None:
    """Raise InvalidRequest with all faults, if there are any."""
    if faults:
        first = faults[0]
        raise InvalidRequest(first.sentence, first.field, faults)


def changed_rule(wanted: WantedRule, before: Rule | None, *, origin: str) -> Rule | None:
    """The rule as it will be, written by this origin; None if it stays as it is."""
    rule, enabled, _ = wanted
    if before is None:
        return rule.written_by(origin)
    fields = {name: getattr(rule, name) for name in OWNER_FIELDS} | (
        {"enabled": before.enabled} if enabled is None else {}
    )
    after = replace(before, **fields)
    return None if after == before else after.written_by(origin)


def removed_rules(
    current: BulkState, wanted: Mapping[str, WantedRule], *, jobs: frozenset[str]
) -> list[Rule]:
    """Rules of these jobs that are not wanted."""
    return [rule for rule in current.rules.values() if rule.job_id in jobs and rule.id not in wanted]


def check_rules(
    wanted: Mapping[str, WantedRule], present: list[Endpoint], *, stay: Mapping[str, Rule]
) -> None:
    """Refuse rules about endpoints that are not in their job, and more of them than a job may have."""
    faults = [fault for one in wanted.values() for fault in _missing_endpoints(one, present)]
    faults += _too_many([one.rule for one in wanted.values()] + [*stay.values()])
    refuse(faults)


def _missing_endpoints(wanted: WantedRule, present: list[Endpoint]) -> Iterator[Fault]:
    siblings = [one for one in present if one.job_id == wanted.rule.job_id]
    found = missing_endpoints(
        wanted.rule, ids={one.id for one in siblings}, names={one.name for one in siblings}
    )
    for fault in found:
        field = "endpoint" if fault.field == "endpoint_id" else fault.field
        yield Fault(f"{wanted.path}.{field}", fault.message)


def _too_many(rules: list[Rule]) -> Iterator[Fault]:
    for job_id in dict.fromkeys(rule.job_id for rule in rules):
        count = sum(rule.job_id == job_id for rule in rules)
        if count > MOST_RULES:
            yield Fault("jobs", f"The job {job_id} would have {count} rules, and may have {MOST_RULES}.")
