"""Jobs, endpoints, runs and hints. An endpoint is two rows: one its owner writes, one each run changes."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Computed,
    Identity,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    false,
    text,
)
from tests.integration.migrations.expected_schema.columns import Document, Key, Moment, belongs_to, metadata

jobs = Table(
    "jobs",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("id", Key, nullable=False),
    Column("name", Text, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("description", Text),
    Column("applied", Boolean, nullable=False, server_default=false()),
    Column("created_at", Moment),
    Column("metadata", Document),
    Column("pause_origin", Text),
    Column("calendar_rules", Document),
    PrimaryKeyConstraint("tenant_id", "id"),
)

calendars = Table(
    "calendars",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("id", Key, nullable=False),
    Column("definition", Document, nullable=False),
    Column("compiled", Document, nullable=False),
    Column("compiled_until", Moment, nullable=False),
    Column("created_at", Moment),
    PrimaryKeyConstraint("tenant_id", "id"),
    Index("calendars_compiled_until", "compiled_until"),
)

USE = ("tenant_id", "calendar_id", "kind", "used_by_id")
calendar_uses = Table(
    "calendar_uses",
    metadata,
    *(Column(name, Key, nullable=False) for name in USE),
    PrimaryKeyConstraint(*USE),
    Index("calendar_uses_by_user", "tenant_id", "kind", "used_by_id"),
)
"""What names each calendar."""

endpoints = Table(
    "endpoints",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("id", Key, nullable=False),
    Column("job_id", Key, nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text),
    Column("definition", Document, nullable=False),
    PrimaryKeyConstraint("tenant_id", "id"),
    Index("endpoints_of_job", "tenant_id", "job_id", "id"),
    Column("user_id", Key, Computed("json_extract(definition, '$.target.user_id')", persisted=False)),
    Column("agent_id", Key, Computed("json_extract(definition, '$.target.agent_id')", persisted=False)),
    belongs_to("users", "user_id", ondelete=None),
    belongs_to("agents", "agent_id", ondelete=None),
    Index("endpoints_of_user", "tenant_id", "user_id", "id", sqlite_where=text("user_id IS NOT NULL")),
)

endpoint_labels = Table(
    "endpoint_labels",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("name", Key, nullable=False),
    Column("value", Key, nullable=False),
    Column("endpoint_id", Key, nullable=False),
    PrimaryKeyConstraint("tenant_id", "name", "value", "endpoint_id"),
    belongs_to("endpoints", "endpoint_id"),
    Index("endpoint_labels_of_endpoint", "tenant_id", "endpoint_id"),
)
"""The labels of the definitions, to find endpoints by; written together with them."""

endpoint_states = Table(
    "endpoint_states",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("endpoint_id", Key, nullable=False),
    Column("rank", BigInteger, Identity(), nullable=False),
    Column("version", BigInteger, nullable=False),
    Column("claimable_at", Moment),
    Column("tidy_at", Moment),
    Column("next_run_at", Moment),
    Column("next_source", Text, nullable=False),
    Column("last_run_at", Moment),
    Column("skipped_at", Moment),
    Column("paused_until", Moment),
    Column("quota_opens_at", Moment),
    Column("missed_slots", Integer, nullable=False),
    Column("failure_count", Integer, nullable=False),
    Column("abandoned_count", Integer, nullable=False),
    Column("open_slot_at", Moment),
    Column("open_slot_attempts", Integer),
    Column("interval_hint_ms", BigInteger),
    Column("interval_hint_expires_at", Moment),
    Column("interval_hint_reason", Text),
    Column("one_shot_at", Moment),
    Column("one_shot_expires_at", Moment),
    Column("one_shot_reason", Text),
    Column("pause_reason", Text),
    Column("enabled", Boolean, nullable=False),
    Column("archived", Boolean, nullable=False),
    Column("job_active", Boolean, nullable=False),
    Column("lease_token", Key),
    Column("lease_until", Moment),
    Column("run_id", Key),
    Column("run_slot", Moment),
    Column("run_due_at", Moment),
    Column("run_attempt", Integer),
    Column("run_source", Text),
    Column("run_claimed_at", Moment),
    Column("run_started_at", Moment),
    Column("requirement", Key, nullable=False, server_default=text("''")),
    Column("interval_hint_origin", Text),
    Column("one_shot_origin", Text),
    Column("pause_origin", Text),
    Column("abandoned_alone_count", Integer),
    Column("requested_runs", Text),
    Column("cancel_request", Text),
    Column("request_slot_at", Moment),
    Column("request_attempt", Integer),
    Column("request_source", Text),
    Column("limited_by", Key),
    Column("priority", Integer, nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("tenant_id", "endpoint_id"),
    postgresql_with={"fillfactor": "70", "autovacuum_vacuum_scale_factor": "0.02"},
)

Index(
    "endpoint_states_due",
    endpoint_states.c.requirement,
    endpoint_states.c.claimable_at,
    endpoint_states.c.rank,
    sqlite_where=text("claimable_at IS NOT NULL"),
    postgresql_where=text("claimable_at IS NOT NULL"),
)
Index(
    "endpoint_states_due_of_tenant",
    endpoint_states.c.requirement,
    endpoint_states.c.tenant_id,
    endpoint_states.c.claimable_at,
    endpoint_states.c.rank,
    sqlite_where=text("claimable_at IS NOT NULL"),
    postgresql_where=text("claimable_at IS NOT NULL"),
)
Index(
    "endpoint_states_to_tidy",
    endpoint_states.c.tidy_at,
    sqlite_where=text("tidy_at IS NOT NULL"),
    postgresql_where=text("tidy_at IS NOT NULL"),
)
Index(
    "endpoint_states_leased",
    endpoint_states.c.lease_token,
    sqlite_where=text("lease_token IS NOT NULL"),
    postgresql_where=text("lease_token IS NOT NULL"),
)

Index(
    "endpoint_states_retired",
    endpoint_states.c.requirement,
    sqlite_where=text("next_source = 'retired'"),
    postgresql_where=text("next_source = 'retired'"),
)

Index(
    "endpoint_states_failing",
    endpoint_states.c.tenant_id,
    endpoint_states.c.endpoint_id,
    sqlite_where=text("failure_count > 0"),
    postgresql_where=text("failure_count > 0"),
)


Index(
    "endpoint_states_requested",
    endpoint_states.c.tenant_id,
    endpoint_states.c.endpoint_id,
    sqlite_where=text("requested_runs IS NOT NULL"),
    postgresql_where=text("requested_runs IS NOT NULL"),
)
Index(
    "endpoint_states_to_cancel",
    endpoint_states.c.lease_token,
    sqlite_where=text("cancel_request IS NOT NULL"),
    postgresql_where=text("cancel_request IS NOT NULL"),
)
Index(
    "endpoint_states_in_order",
    endpoint_states.c.requirement,
    endpoint_states.c.tenant_id,
    endpoint_states.c.limited_by,
    endpoint_states.c.priority,
    endpoint_states.c.claimable_at,
    endpoint_states.c.rank,
    sqlite_where=text("claimable_at IS NOT NULL AND limited_by IS NOT NULL"),
    postgresql_where=text("claimable_at IS NOT NULL AND limited_by IS NOT NULL"),
)
Index(
    "endpoint_states_limited_in_flight",
    endpoint_states.c.tenant_id,
    endpoint_states.c.limited_by,
    sqlite_where=text("lease_token IS NOT NULL AND limited_by > ''"),
    postgresql_where=text("lease_token IS NOT NULL AND limited_by > ''"),
)

functions = Table(
    "functions",
    metadata,
    Column("name", Key, primary_key=True),
    Column("declared_at", Moment, nullable=False),
)
"""When a process last said that it has the function; endpoints of those that no process has are retired."""

leases = Table(
    "leases",
    metadata,
    Column("token", Key, primary_key=True),
    Column("until", Moment, nullable=False),
    Column("holder", Key),
    Column("in_flight", Integer),
    Column("suspects", Integer),
)
"""One row for each claimed batch: renewing a thousand runs changes one moment."""

runs = Table(
    "runs",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("id", Key, nullable=False),
    Column("endpoint_id", Key, nullable=False),
    Column("job_id", Key, nullable=False),
    Column("slot", Moment, nullable=False),
    Column("due_at", Moment, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("source", Text, nullable=False),
    Column("claimed_at", Moment, nullable=False),
    Column("started_at", Moment),
    Column("finished_at", Moment, nullable=False),
    Column("status", Text, nullable=False),
    Column("duration_ms", BigInteger, nullable=False),
    Column("late_ms", BigInteger, nullable=False),
    Column("coalesced", Integer, nullable=False),
    Column("verdict", Boolean, nullable=False),
    Column("error", Text),
    Column("reason", Text),
    Column("response", Document),
    Column("traceback", Text),
    Column("txid", BigInteger),
    Index("runs_of_tenant", "tenant_id", "id"),
    Index("runs_of_endpoint", "tenant_id", "endpoint_id", "id"),
    postgresql_partition_by="RANGE (finished_at)",
)
"""Ids grow with time, so their order is the order of the runs, also across partitions.

On PostgreSQL each names its transaction, by which the feed knows what was committed late; SQLite, which
has one writer, needs no such name.
"""

hints = Table(
    "hints",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("tenant_id", Key, nullable=False),
    Column("endpoint_id", Key, nullable=False),
    Column("kind", Text, nullable=False),
    Column("written_at", Moment, nullable=False),
    Column("origin", Text, nullable=False),
    Column("reason", Text),
    Column("expires_at", Moment),
    Column("interval_ms", BigInteger),
    Column("at", Moment),
    Column("not_applied", Text),
    Index("hints_of_endpoint", "tenant_id", "endpoint_id", "id"),
    belongs_to("endpoints", "endpoint_id"),
)
