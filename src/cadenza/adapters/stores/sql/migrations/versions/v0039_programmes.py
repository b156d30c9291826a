"""Add daily programmes, and let daily users have due times in zones; those there are in `daily`, in UTC."""

from typing import Any

from alembic import op
from sqlalchemy import Boolean, Column, Integer, PrimaryKeyConstraint, Text, text

from cadenza.adapters.stores.sql.migrations.columns import Document, Key, Moment, keys, moments, texts
from cadenza.adapters.stores.sql.migrations.versions.v0013_daily_tallies import A_MISS

revision = "0039"
down_revision = "0038"

USER = ("tenant_id", "programme_id", "user_id")
TABLES = {
    "daily_users": [*USER],
    "daily_verdicts": [*USER, "service_date"],
    "daily_gaps": [*USER, "from_date"],
    "daily_tallies": ["tenant_id", "programme_id", "service_date", "due"],
}
"""With their keys."""
INDEXES = ("daily_users_owed", "daily_verdicts_by_day", "daily_misses", "daily_gaps_by_day")
BEFORE = {
    "daily_users": (
        *("tenant_id", "user_id", "shard", "next_cutoff", "changes", "last_date", "status", "last_run_at"),
        "added_at",
    ),
    "daily_verdicts": (
        *("tenant_id", "user_id", "service_date", "status", "due", "decided_at", "late", "cause"),
    ),
    "daily_gaps": ("tenant_id", "user_id", "from_date", "to_date", "noticed_at", "cause"),
    "daily_tallies": ("tenant_id", "service_date", "due", "success", "cutoff_reached", "late"),
}
DERIVED = {
    "sqlite": {
        "next_date": "date(next_cutoff / 1000000, 'unixepoch')",
        "due": "next_cutoff / 60000000 % 1440",
        "opens_at": "next_cutoff - 3600000000",
    },
    "postgresql": {
        "next_date": "to_char(next_cutoff AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
        "due": "mod(extract(epoch FROM next_cutoff)::bigint / 60, 1440)::int",
        "opens_at": "next_cutoff - interval '1 hour'",
    },
}
"""The next day of users, as a day of UTC with a window of an hour."""
TYPES = {"next_date": 'text COLLATE "C"', "due": "int", "opens_at": "timestamptz"}


def upgrade() -> None:
    """Make the table, and let the keys of the others begin with tenant and programme."""
    op.create_table(
        "daily_programmes",
        *keys("tenant_id", "id"),
        Column("definition", Document, nullable=False),
        *moments("created_at"),
        PrimaryKeyConstraint("tenant_id", "id"),
    )
    for name in INDEXES:
        op.drop_index(name)
    if op.get_context().dialect.name == "sqlite":
        _make_anew()
    else:
        _alter()
    _add_indexes()


def _make_anew() -> None:
    """SQLite cannot change a key: each table is copied."""
    for name, key in TABLES.items():
        op.create_table(f"{name}_new", *_columns(name), PrimaryKeyConstraint(*key))
        added = DERIVED["sqlite"] if name == "daily_users" else {}
        names, values = [*BEFORE[name], *added], [*BEFORE[name], *added.values()]
        op.execute(f"INSERT INTO {name}_new ({', '.join(names)}) SELECT {', '.join(values)} FROM {name}")
        op.drop_table(name)
        op.rename_table(f"{name}_new", name)
    for statement in SQLITE:
        op.execute(statement)


def _columns(table: str) -> list[Column[Any]]:
    columns: dict[str, list[Column[Any]]] = {
        "daily_users": [
            *_programme("tenant_id", "user_id"),
            Column("shard", Integer, nullable=False),
            *moments("next_cutoff", required=True),
            Column("changes", Document),
            Column("last_date", Key),
            *texts("status"),
            *moments("last_run_at", "added_at"),
            *_of_users(nullable=False),
        ],
        "daily_verdicts": [
            *_programme("tenant_id", "user_id", "service_date"),
            Column("status", Text, nullable=False),
            Column("due", Integer, nullable=False),
            *moments("decided_at", required=True),
            Column("late", Boolean, nullable=False),
            *texts("cause"),
        ],
        "daily_gaps": [
            *_programme("tenant_id", "user_id", "from_date", "to_date"),
            *moments("noticed_at", required=True),
            Column("cause", Text, nullable=False),
        ],
        "daily_tallies": [
            *_programme("tenant_id", "service_date"),
            *[Column(name, Integer, nullable=False) for name in ("due", "success", "cutoff_reached", "late")],
        ],
    }
    return columns[table]


def _programme(*others: str) -> list[Column[Any]]:
    return [*keys(*others), Column("programme_id", Key, nullable=False, server_default=text("'daily'"))]


def _of_users(*, nullable: bool) -> list[Column[Any]]:
    return [
        Column("timezone", Text, nullable=False, server_default=text("'UTC'")),
        Column("next_date", Key, nullable=nullable),
        Column("due", Integer, nullable=nullable),
        Column("opens_at", Moment, nullable=nullable),
        *moments("previous_cutoff"),
    ]


def _alter() -> None:
    for name in TABLES:
        op.add_column(name, _programme()[0])
    for column in _of_users(nullable=True):
        op.add_column("daily_users", column)
    # Not by UPDATE: the fence of a tenant that is moved would skip its rows.
    derived = DERIVED["postgresql"].items()
    parts = [f"ALTER COLUMN {name} TYPE {TYPES[name]} USING {value}" for name, value in derived]
    op.execute(f"ALTER TABLE daily_users {', '.join(parts)}")
    for name, _ in derived:
        op.alter_column("daily_users", name, nullable=False)
    for name, key in TABLES.items():
        op.drop_constraint(f"{name}_pkey", name)
        op.create_primary_key(f"{name}_pkey", name, key)
    for statement in POSTGRES:
        op.execute(statement)


def _add_indexes() -> None:
    """The first is all that a tick reads."""
    opening = ["shard", "opens_at", *USER, "next_cutoff", "next_date", "due"]
    op.create_index("daily_users_opening", "daily_users", opening)
    owed = ["shard", "next_date", "next_cutoff", "tenant_id", "programme_id", "due"]
    op.create_index("daily_users_owed", "daily_users", owed)
    of_day = ["tenant_id", "programme_id", "service_date"]
    op.create_index("daily_verdicts_by_day", "daily_verdicts", [*of_day, "user_id"])
    op.create_index(
        "daily_misses",
        "daily_verdicts",
        [*of_day, "due", "user_id"],
        sqlite_where=A_MISS,
        postgresql_where=A_MISS,
    )
    op.create_index("daily_gaps_by_day", "daily_gaps", ["tenant_id", "programme_id", "to_date", "from_date"])


KEY = ", ".join(TABLES["daily_tallies"])
COUNTS = ("success", "cutoff_reached", "late")
SAME = "tenant_id = old.tenant_id AND programme_id = old.programme_id AND service_date = old.service_date"
SQLITE = (
    f"""
CREATE TRIGGER daily_verdicts_added AFTER INSERT ON daily_verdicts BEGIN
    INSERT INTO daily_tallies ({KEY}, {", ".join(COUNTS)}) VALUES (
        new.tenant_id, new.programme_id, new.service_date, new.due,
        new.status = 'success', new.status <> 'success', new.late
    ) ON CONFLICT DO UPDATE SET {", ".join(f"{name} = {name} + excluded.{name}" for name in COUNTS)};
END
""",
    f"""
CREATE TRIGGER daily_verdicts_removed AFTER DELETE ON daily_verdicts BEGIN
    UPDATE daily_tallies SET success = success - (old.status = 'success'),
        cutoff_reached = cutoff_reached - (old.status <> 'success'), late = late - old.late
    WHERE {SAME} AND due = old.due;
    DELETE FROM daily_tallies WHERE {SAME} AND due = old.due AND success + cutoff_reached = 0;
END
""",
)


def _counted(verdicts: str, sign: str = "") -> str:
    """The verdicts of a table as counts, always in the same order, so that transactions cannot deadlock."""
    success = "sum(CASE WHEN status = 'success' THEN 1 ELSE 0 END)"
    late = "sum(CASE WHEN late THEN 1 ELSE 0 END)"
    sums = f"{sign}{success}, {sign}(count(*) - {success}), {sign}{late}"
    return f"SELECT {KEY}, {sums} FROM {verdicts} GROUP BY {KEY} ORDER BY {KEY}"


SUMMED = ", ".join(f"{name} = t.{name} + excluded.{name}" for name in COUNTS)
POSTGRES = (
    f"""
CREATE OR REPLACE FUNCTION daily_tally_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO daily_tallies AS t ({KEY}, {", ".join(COUNTS)}) {_counted("added")}
    ON CONFLICT ({KEY}) DO UPDATE SET {SUMMED};
    RETURN NULL;
END $$
""",
    f"""
CREATE OR REPLACE FUNCTION daily_tally_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO daily_tallies AS t ({KEY}, {", ".join(COUNTS)}) {_counted("removed", "-")}
    ON CONFLICT ({KEY}) DO UPDATE SET {SUMMED};
    DELETE FROM daily_tallies t USING (SELECT DISTINCT {KEY} FROM removed) AS r
    WHERE t.tenant_id = r.tenant_id AND t.programme_id = r.programme_id
        AND t.service_date = r.service_date AND t.due = r.due AND t.success + t.cutoff_reached = 0;
    RETURN NULL;
END $$
""",
)
