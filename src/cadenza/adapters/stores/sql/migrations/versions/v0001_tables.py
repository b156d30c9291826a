"""Jobs, endpoints, their states, leases, runs and hints."""

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Identity, Integer, PrimaryKeyConstraint, Text, text

from cadenza.adapters.stores.sql.migrations.columns import Document, Key, Moment, Serial, keys, moments, texts

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    _owners()
    _endpoints()
    _states()
    _leases()
    _runs()
    _hints()


def _owners() -> None:
    op.create_table("tenants", Column("id", Key, primary_key=True), Column("name", Text, nullable=False))
    op.create_table(
        "jobs",
        *keys("tenant_id", "id"),
        Column("name", Text, nullable=False),
        Column("active", Boolean, nullable=False),
        PrimaryKeyConstraint("tenant_id", "id"),
    )


def _endpoints() -> None:
    op.create_table(
        "endpoints",
        *keys("tenant_id", "id", "job_id"),
        Column("name", Text, nullable=False),
        Column("description", Text),
        Column("definition", Document, nullable=False),
        PrimaryKeyConstraint("tenant_id", "id"),
    )
    op.create_index("endpoints_of_job", "endpoints", ["tenant_id", "job_id", "id"])


def _states() -> None:
    op.create_table(
        "endpoint_states",
        *keys("tenant_id", "endpoint_id"),
        Column("rank", BigInteger, Identity(), nullable=False),
        Column("version", BigInteger, nullable=False),
        *moments("claimable_at", "tidy_at", "next_run_at"),
        Column("next_source", Text, nullable=False),
        *moments("last_run_at", "skipped_at", "paused_until", "quota_opens_at"),
        *(
            Column(name, Integer, nullable=False)
            for name in ("missed_slots", "failure_count", "abandoned_count")
        ),
        Column("open_slot_at", Moment),
        Column("open_slot_attempts", Integer),
        Column("interval_hint_ms", BigInteger),
        Column("interval_hint_expires_at", Moment),
        Column("interval_hint_reason", Text),
        *moments("one_shot_at", "one_shot_expires_at"),
        *texts("one_shot_reason", "pause_reason"),
        *(Column(name, Boolean, nullable=False) for name in ("enabled", "archived", "job_active")),
        Column("lease_token", Key),
        Column("lease_until", Moment),
        Column("run_id", Key),
        *moments("run_slot", "run_due_at"),
        Column("run_attempt", Integer),
        Column("run_source", Text),
        *moments("run_claimed_at", "run_started_at"),
        PrimaryKeyConstraint("tenant_id", "endpoint_id"),
        postgresql_with={"fillfactor": "70", "autovacuum_vacuum_scale_factor": "0.02"},
    )
    _state_index("due", "claimable_at", "rank")
    _state_index("due_of_tenant", "tenant_id", "claimable_at", "rank", given="claimable_at")
    _state_index("to_tidy", "tidy_at")


def _state_index(name: str, *columns: str, given: str | None = None) -> None:
    there = text(f"{given or columns[0]} IS NOT NULL")
    op.create_index(
        f"endpoint_states_{name}",
        "endpoint_states",
        list(columns),
        sqlite_where=there,
        postgresql_where=there,
    )


def _leases() -> None:
    op.create_table("leases", Column("token", Key, primary_key=True), Column("until", Moment, nullable=False))


def _runs() -> None:
    op.create_table(
        "runs",
        *keys("tenant_id", "id", "endpoint_id", "job_id"),
        *moments("slot", "due_at", required=True),
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
        *texts("error", "reason"),
        Column("response", Document),
        postgresql_partition_by="RANGE (finished_at)",
    )
    op.create_index("runs_of_tenant", "runs", ["tenant_id", "id"])
    op.create_index("runs_of_endpoint", "runs", ["tenant_id", "endpoint_id", "id"])
    if op.get_context().dialect.name == "postgresql":
        op.execute("CREATE TABLE runs_default PARTITION OF runs DEFAULT")


def _hints() -> None:
    op.create_table(
        "hints",
        Column("id", Serial, primary_key=True, autoincrement=True),
        *keys("tenant_id", "endpoint_id"),
        Column("kind", Text, nullable=False),
        Column("written_at", Moment, nullable=False),
        Column("origin", Text, nullable=False),
        Column("reason", Text),
        Column("expires_at", Moment),
        Column("interval_ms", BigInteger),
        Column("at", Moment),
    )
    op.create_index("hints_of_endpoint", "hints", ["tenant_id", "endpoint_id", "id"])
