"""Rules, analyses and what planners remember."""

from sqlalchemy import BigInteger, Boolean, Column, Index, PrimaryKeyConstraint, Table, Text
from tests.integration.migrations.expected_schema.columns import Document, Key, Moment, belongs_to, metadata

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
    belongs_to("jobs", "job_id"),
)

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
    belongs_to("endpoints", "endpoint_id"),
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
    belongs_to("endpoints", "endpoint_id"),
)
"""When planners want to analyse endpoints again."""

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
"""What planners remember about endpoints, in a format of their own."""
