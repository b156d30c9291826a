"""Conditions as rows, and back."""

from dataclasses import fields
from datetime import datetime
from typing import Any

import orjson

from cadenza.adapters.stores.sql.monitoring.slo_alerts import alert_row, read_alert
from cadenza.adapters.stores.sql.rows import Read, Row, storable
from cadenza.domain.monitoring.alert import Severity
from cadenza.domain.monitoring.condition import Condition, ConditionState

CONDITION = (
    "tenant_id",
    "id",
    "kind",
    "state",
    "since",
    "job_id",
    "endpoint_id",
    "suppressed_by",
    "decide_at",
    "details",
)
MOMENTS = ("resolved_at", "acknowledged_at", "silenced_until")
IN_COLUMNS = frozenset({*CONDITION, "alert"})
IN_DETAILS = tuple(one.name for one in fields(Condition) if one.name not in IN_COLUMNS)


def write_condition(condition: Condition) -> tuple[Any, ...]:
    """The columns `CONDITION`."""
    details = {name: _plain(getattr(condition, name)) for name in IN_DETAILS}
    key, _, state, text, raised_at, facts = alert_row(condition.alert)
    details["alert"] = [key, state, text, raised_at.isoformat(), facts]
    return (
        condition.tenant_id,
        condition.id,
        condition.kind.value,
        condition.state.value,
        condition.since,
        condition.job_id,
        condition.endpoint_id,
        condition.suppressed_by,
        condition.decide_at,
        orjson.dumps(details).decode(),
    )


def read_condition(row: Row, read: Read) -> Condition:
    """The condition of a row selected as `CONDITION`."""
    tenant_id, id_, kind, state, since, job_id, endpoint_id, suppressed_by, decide_at, details = row
    document = orjson.loads(details)
    key, alert_state, text, raised_at, facts = document.pop("alert")
    of_alert = (key, kind, alert_state, text, datetime.fromisoformat(raised_at), facts)
    for name in MOMENTS:
        if document[name] is not None:
            document[name] = datetime.fromisoformat(document[name])
    return Condition(
        tenant_id=tenant_id,
        id=id_,
        state=ConditionState(state),
        since=read(since),
        job_id=job_id,
        endpoint_id=endpoint_id,
        suppressed_by=suppressed_by,
        decide_at=read(decide_at),
        alert=read_alert(of_alert, lambda moment: moment),
        **document | {"severity": Severity(document["severity"])},
    )


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return storable(value) if isinstance(value, str) else value
