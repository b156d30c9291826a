"""Rules as rows, and back."""

from dataclasses import fields
from typing import Any

import orjson

from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.domain.planning.rules.rule import STEPS, Escalation, Rule, Step

RULE = ("tenant_id", "id", "job_id", "endpoint_id", "name", "definition", "created_at")
COLUMNS = ", ".join(RULE)


def write_rule(rule: Rule) -> tuple[Any, ...]:
    """The columns `RULE`."""
    document = {
        "when": rule.when,
        "then": _write_step(rule.then),
        "relax": None if rule.relax is None else _write_step(rule.relax),
        "cooldown_ms": rule.cooldown_ms,
        "once_per_incident": rule.once_per_incident,
        "escalate": [{"after_ms": one.after_ms, "then": _write_step(one.then)} for one in rule.escalate],
        "enabled": rule.enabled,
    }
    owned = (rule.tenant_id, rule.id, rule.job_id, rule.endpoint_id, rule.name)
    return (*owned, orjson.dumps(document).decode(), rule.created_at)


def read_rule(row: Row, read: Read) -> Rule:
    """The rule of a row selected as `RULE`."""
    tenant_id, id_, job_id, endpoint_id, name, definition, created_at = row
    document = orjson.loads(definition)
    relax, escalate = document.pop("relax"), document.pop("escalate")
    return Rule(
        tenant_id=tenant_id,
        id=id_,
        job_id=job_id,
        endpoint_id=endpoint_id,
        name=name,
        then=_read_step(document.pop("then")),
        relax=None if relax is None else _read_step(relax),
        escalate=tuple(Escalation(one["after_ms"], _read_step(one["then"])) for one in escalate),
        created_at=read(created_at),
        **document,
    )


def _write_step(step: Step) -> dict[str, Any]:
    return {"tool": step.tool, **{field.name: getattr(step, field.name) for field in fields(step)}}


def _read_step(document: dict[str, Any]) -> Step:
    return STEPS[document.pop("tool")](**document)
