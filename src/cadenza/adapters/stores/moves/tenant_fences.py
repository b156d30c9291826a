"""Triggers that hold a tenant on PostgreSQL: first nothing of it is claimed, then nothing of it is changed.

They are row by row, and for one tenant alone: others in the same statement are not affected.
"""

from collections.abc import Iterable
from hashlib import sha256

from cadenza.adapters.stores.moves.fences import CODE
from cadenza.adapters.stores.moves.tenant_tables import literal
from cadenza.domain.access.move import StoredTable

MESSAGE = "This tenant is being moved: try again in some seconds."
HELD = "moving:"
"""Before the requirement of an endpoint: no worker can run it."""
HOLD_STATES = f"""
CREATE OR REPLACE FUNCTION cadenza_hold_endpoint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.requirement NOT LIKE '{HELD}%' THEN
        NEW.requirement := '{HELD}' || NEW.requirement;
    END IF;
    NEW.tidy_at := NULL;
    RETURN NEW;
END $$
"""
HOLD_DAILY = """
CREATE OR REPLACE FUNCTION cadenza_hold_daily_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.shard >= 0 THEN
        NEW.shard := -1 - NEW.shard;
    END IF;
    RETURN NEW;
END $$
"""
FAR = "interval '100 years'"
NEAR = "now() + interval '50 years'"


def _hold_moment(name: str, column: str) -> str:
    """A function that puts a moment so far off that no loop looks at its row, once."""
    return f"""
CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.{column} < {NEAR} THEN
        NEW.{column} := NEW.{column} + {FAR};
    END IF;
    RETURN NEW;
END $$
"""


REFUSE = f"""
CREATE OR REPLACE FUNCTION cadenza_refuse_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = '{CODE}', MESSAGE = '{MESSAGE}';
END $$
"""
SKIP_VERDICTS = f"""
CREATE OR REPLACE FUNCTION cadenza_skip_verdict() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.next_date = OLD.next_date AND (
        NEW.changes::text IS DISTINCT FROM OLD.changes::text
        OR (NEW.due, NEW.timezone) <> (OLD.due, OLD.timezone)
    ) THEN
        RAISE EXCEPTION USING ERRCODE = '{CODE}', MESSAGE = '{MESSAGE}';
    END IF;
    RETURN NULL;
END $$
"""
"""A changed due time is refused; what a day's verdict would change is skipped with the verdict."""
SKIP = """
CREATE OR REPLACE FUNCTION cadenza_skip_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RETURN NULL;
END $$
"""
FUNCTIONS = (
    HOLD_STATES,
    HOLD_DAILY,
    _hold_moment("cadenza_hold_look", "at"),
    _hold_moment("cadenza_hold_alert", "due_at"),
    _hold_moment("cadenza_hold_condition", "decide_at"),
    REFUSE,
    SKIP,
    SKIP_VERDICTS,
)
HOLDS = {
    "endpoint_states": "cadenza_hold_endpoint",
    "daily_users": "cadenza_hold_daily_user",
    "looks": "cadenza_hold_look",
    "alerts": "cadenza_hold_alert",
    "alert_conditions": "cadenza_hold_condition",
    "alert_messages": "cadenza_hold_alert",
    "user_channels": "cadenza_hold_alert",
}
"""What keeps workers and sweepers, daily runners, planners and senders of alerts from rows of the tenant."""
SKIPPED = frozenset(
    {
        *("daily_verdicts", "daily_gaps", "looks", "notes", "analyses"),
        *("alerts", "alert_conditions", "alert_messages", "user_channels"),
    }
)
"""Loops write these for many tenants in one statement, which must not fail for all of them."""
SWEPT = SKIPPED | {"runs", "conversation_messages", "pending_messages", "agent_turns", "replies"}
"""Retention deletes from these for all tenants in one statement."""


def hold(tenant_id: str) -> list[str]:
    """The statements after which nothing of a tenant can be claimed, and runs in flight still end."""
    return [
        _trigger("hold", table, tenant_id, events="INSERT OR UPDATE", function=function)
        for table, function in HOLDS.items()
    ]


def release(tenant_id: str) -> list[str]:
    """The statements that take this back."""
    return [f"DROP TRIGGER IF EXISTS {_name('hold', tenant_id)} ON {table}" for table in HOLDS]


def refuse(tables: Iterable[StoredTable], tenant_id: str) -> list[str]:
    """The statements after which nothing of a tenant can be changed; each is complete in itself."""
    statements = []
    for table in (table for table in tables if not table.derived):
        written = "cadenza_skip_row" if table.name in SKIPPED else "cadenza_refuse_tenant"
        deleted = "cadenza_skip_row" if table.name in SWEPT else "cadenza_refuse_tenant"
        changed = "cadenza_skip_verdict" if table.name == "daily_users" else written
        for kind, event, function in (
            ("fence", "INSERT", written),
            ("guard", "UPDATE", changed),
            ("keep", "DELETE", deleted),
        ):
            statements.append(_trigger(kind, table.name, tenant_id, events=event, function=function))
    return statements


def allow_deletion(tables: Iterable[StoredTable], tenant_id: str) -> list[str]:
    """The statements after which rows of a tenant may be deleted."""
    return [f'DROP TRIGGER IF EXISTS {_name("keep", tenant_id)} ON "{table.name}"' for table in tables]


def allow(tables: Iterable[StoredTable], tenant_id: str) -> list[str]:
    """The statements after which a tenant may be changed again."""
    tables = list(tables)
    dropped = [
        f'DROP TRIGGER IF EXISTS {_name(kind, tenant_id)} ON "{table.name}"'
        for table in tables
        for kind in ("fence", "guard")
    ]
    return [*dropped, *allow_deletion(tables, tenant_id)]


def _trigger(kind: str, table: str, tenant_id: str, *, events: str, function: str) -> str:
    """Make a trigger anew. Its name sorts holds behind fences: what is refused need not be held."""
    row = "OLD" if events == "DELETE" else "NEW"
    owner = {"tenants": f"{row}.id", "alerts": f"({row}.facts ->> 'tenant_id')"}.get(
        table, f"{row}.tenant_id"
    )
    name = _name(kind, tenant_id)
    return (
        f'DROP TRIGGER IF EXISTS {name} ON "{table}"; CREATE TRIGGER {name} BEFORE {events} ON "{table}"'
        f" FOR EACH ROW WHEN ({owner} = {literal(tenant_id)}) EXECUTE FUNCTION {function}()"
    )


def _name(kind: str, tenant_id: str) -> str:
    return f"cadenza_{kind}_{sha256(tenant_id.encode()).hexdigest()[:16]}"
