"""Standings and alerts as rows, and back."""

from typing import Any

import orjson

from cadenza.adapters.stores.sql.agent_rows import beginning_with
from cadenza.adapters.stores.sql.rows import Read, Row, storable
from cadenza.domain.monitoring.alert import Alert, AlertKind, AlertState, told_to
from cadenza.domain.monitoring.slo import Judgement, Measured, Slo, SloState
from cadenza.ports.monitoring import OwedAlert, SloStanding

LOOKED_AT = 500
"""Among so many of the newest alerts of all tenants one that has many of them finds its own."""


def slo_row(standing: SloStanding) -> tuple[Any, ...]:
    """A standing, moments as they are."""
    process, scheduler, evaluated_at, window_minutes, state = standing
    assert state.measured is not None, "what stands somewhere was measured"
    counted = {"bad_in_a_row": state.bad_in_a_row, "good_in_a_row": state.good_in_a_row}
    document = orjson.dumps({"measured": state.measured._asdict(), **counted}).decode()
    since, slo = state.breached_since, state.measured.slo.value
    return (process, scheduler, slo, evaluated_at, window_minutes, since, document)


def read_slo(row: Row, moment: Read) -> SloStanding:
    """The standing of a row."""
    process, scheduler, _, evaluated_at, window_minutes, since, document = row
    told = orjson.loads(document)
    measured = told.pop("measured")
    measured |= {"slo": Slo(measured["slo"]), "judgement": Judgement(measured["judgement"])}
    state = SloState(measured=Measured(**measured), breached_since=moment(since), **told)
    return SloStanding(process, scheduler, moment(evaluated_at), window_minutes, state)


def alert_row(alert: Alert, *, owed: bool) -> tuple[Any, ...]:
    """An alert that is to be sent at once, or never, moments as they are."""
    facts = {name: storable(fact) if isinstance(fact, str) else fact for name, fact in alert.facts.items()}
    named = (alert.key, alert.kind.value, alert.state.value, storable(alert.text))
    due_at = alert.raised_at if owed else None
    return (*named, alert.raised_at, orjson.dumps(facts).decode(), due_at, 0)


def read_alert(row: Row, moment: Read) -> OwedAlert:
    """The alert of a row."""
    key, kind, state, text, raised_at, facts, attempts = row
    alert = Alert(
        key=key,
        kind=AlertKind(kind),
        state=AlertState(state),
        text=text,
        raised_at=moment(raised_at),
        facts=orjson.loads(facts),
    )
    return OwedAlert(alert, attempts)


def spans_told_to(tenant_id: str) -> tuple[str, ...]:
    """Between which keys all lie that a tenant is told of."""
    return tuple(end for start in told_to(tenant_id) for end in beginning_with(start))
