"""The tables, the same on SQLite and PostgreSQL.

An endpoint is two rows: what its owner wrote, which rarely changes, and where it
stands, which every cycle changes. Runs are only ever added: while a run is open,
it stands in its endpoint's state.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    false,
    text,
)
from sqlalchemy.dialects import postgresql

metadata = MetaData()

Moment = BigInteger().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")
"""A moment: a timestamp on PostgreSQL, microseconds since 1970 on SQLite, which has no such type."""
Key = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
"""An id, sorted by its bytes on every machine; ids that grow with time then sort by time."""
Document = Text().with_variant(postgresql.JSON(), "postgresql")
"""JSON that is stored as it was written."""

tenants = Table(
    "tenants",
    metadata,
    Column("id", Key, primary_key=True),
    Column("name", Text, nullable=False),
    Column("limits", Document),
)

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
    PrimaryKeyConstraint("tenant_id", "id"),
)

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
)

endpoint_labels = Table(
    "endpoint_labels",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("name", Key, nullable=False),
    Column("value", Key, nullable=False),
    Column("endpoint_id", Key, nullable=False),
    PrimaryKeyConstraint("tenant_id", "name", "value", "endpoint_id"),
)
"""The labels that stand in the definitions, to find endpoints by; written together with them."""

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
    PrimaryKeyConstraint("tenant_id", "endpoint_id"),
    postgresql_with={"fillfactor": "70", "autovacuum_vacuum_scale_factor": "0.02"},
)

Index(
    "endpoint_states_due",
    endpoint_states.c.claimable_at,
    endpoint_states.c.rank,
    sqlite_where=text("claimable_at IS NOT NULL"),
    postgresql_where=text("claimable_at IS NOT NULL"),
)
Index(
    "endpoint_states_due_of_tenant",
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

leases = Table(
    "leases",
    metadata,
    Column("token", Key, primary_key=True),
    Column("until", Moment, nullable=False),
)
"""One row a claimed batch: to renew a thousand runs is to move one moment."""

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
    Index("hints_of_endpoint", "tenant_id", "endpoint_id", "id"),
)

secrets = Table(
    "secrets",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("name", Key, nullable=False),
    Column("sealed", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    PrimaryKeyConstraint("tenant_id", "name"),
)
"""Values that a key opens which is not in the database."""

usage = Table(
    "usage",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("month", Key, nullable=False),
    Column("shard", Integer, nullable=False),
    Column("runs", BigInteger, nullable=False),
    Column("planner_tokens", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant_id", "month", "shard"),
)
"""What tenants have spent: each store counts in a row of its own, and whoever reads adds them up."""

keys = Table(
    "keys",
    metadata,
    Column("id", Key, primary_key=True),
    Column("tenant_id", Key, nullable=False),
    Column("name", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment),
    Column("user_id", Text),
    Index("keys_of_tenant", "tenant_id", "id"),
    Index(
        "keys_of_users",
        "tenant_id",
        "expires_at",
        sqlite_where=text("user_id IS NOT NULL"),
        postgresql_where=text("user_id IS NOT NULL"),
    ),
)

replies = Table(
    "replies",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("key", Key, nullable=False),
    Column("fingerprint", Key, nullable=False),
    Column("began_at", Moment, nullable=False),
    Column("status", Integer),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("tenant_id", "key"),
    Index("replies_by_age", "began_at"),
)

rates = Table(
    "rates",
    metadata,
    Column("window", BigInteger, nullable=False),
    Column("subject", Key, nullable=False),
    Column("drawn", BigInteger, nullable=False),
    PrimaryKeyConstraint("window", "subject"),
)
"""The window comes first, so that those that have passed are found together; unlogged on PostgreSQL."""

analyses = Table(
    "analyses",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("endpoint_id", Key, nullable=False),
    Column("id", Key, nullable=False),
    Column("job_id", Key, nullable=False),
    Column("planner", Text, nullable=False),
    Column("trigger", Text, nullable=False),
    Column("began_at", Moment, nullable=False),
    Column("duration_ms", BigInteger, nullable=False),
    Column("reasoning", Text, nullable=False),
    Column("calls", Document),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("look_again_at", Moment),
    Column("shadow", Boolean, nullable=False),
    Column("error", Text),
    PrimaryKeyConstraint("tenant_id", "endpoint_id", "id"),
    Index("analyses_by_age", "began_at"),
    Index("analyses_of_tenant", "tenant_id", "began_at", "id"),
)

looks = Table(
    "looks",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("endpoint_id", Key, nullable=False),
    Column("planner", Key, nullable=False),
    Column("at", Moment, nullable=False),
    PrimaryKeyConstraint("tenant_id", "endpoint_id", "planner"),
    Index("looks_due", "at"),
)
"""When planners want to look at endpoints again."""

notes = Table(
    "notes",
    metadata,
    Column("planner", Key, nullable=False),
    Column("tenant_id", Key, nullable=False),
    Column("endpoint_id", Key, nullable=False),
    Column("note", Document, nullable=False),
    Column("taken_at", Moment, nullable=False),
    PrimaryKeyConstraint("planner", "tenant_id", "endpoint_id"),
)
"""What planners know of endpoints, in words of their own."""

rules = Table(
    "rules",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("id", Key, nullable=False),
    Column("job_id", Key, nullable=False),
    Column("endpoint_id", Key),
    Column("name", Text, nullable=False),
    Column("definition", Document, nullable=False),
    Column("created_at", Moment),
    PrimaryKeyConstraint("tenant_id", "id"),
    Index("rules_of_job", "tenant_id", "job_id", "id"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", LargeBinary, nullable=False),
    Column("kind", Text, nullable=False),
    Column("tenant_id", Key, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Column("key_id", Key),
    PrimaryKeyConstraint("digest"),
    Index("sessions_by_end", "expires_at"),
)
"""Sessions at the dashboard and links to one, under the digests of their secrets."""
