"""Add triggers that count verdicts by due minute, and an index of missed days."""

from alembic import op
from sqlalchemy import Column, Integer, PrimaryKeyConstraint, text

from cadenza.adapters.stores.sql.migrations.columns import keys

revision = "0013"
down_revision = "0012"

KEY = "tenant_id, service_date, due"
COUNTS = ("success", "cutoff_reached", "late")
ONE = "CASE WHEN {0}.status = 'success' THEN 1 ELSE 0 END, CASE WHEN {0}.status = 'success' THEN 0 ELSE 1 END"
A_MISS = text("status = 'cutoff_reached'")


def upgrade() -> None:
    """Make the table, fill it with what there is, and have the database keep it."""
    op.create_table(
        "daily_tallies",
        *keys("tenant_id", "service_date"),
        Column("due", Integer, nullable=False),
        *[Column(name, Integer, nullable=False) for name in COUNTS],
        PrimaryKeyConstraint("tenant_id", "service_date", "due"),
    )
    op.create_index(
        "daily_misses",
        "daily_verdicts",
        ["tenant_id", "service_date", "due", "user_id"],
        sqlite_where=A_MISS,
        postgresql_where=A_MISS,
    )
    op.execute(f"INSERT INTO daily_tallies ({KEY}, {', '.join(COUNTS)}) {_counted('daily_verdicts')}")
    for statement in SQLITE if op.get_context().dialect.name == "sqlite" else POSTGRES:
        op.execute(statement)


def _counted(verdicts: str, sign: str = "") -> str:
    """The verdicts of a table as counts, always in the same order, so that transactions cannot deadlock."""
    success = "sum(CASE WHEN status = 'success' THEN 1 ELSE 0 END)"
    late = "sum(CASE WHEN late THEN 1 ELSE 0 END)"
    sums = f"{sign}{success}, {sign}(count(*) - {success}), {sign}{late}"
    return f"SELECT {KEY}, {sums} FROM {verdicts} GROUP BY {KEY} ORDER BY {KEY}"


def _row(of: str) -> str:
    """The key and the counts of one verdict, as SQLite's triggers see it."""
    return f"{of}.tenant_id, {of}.service_date, {of}.due, {ONE.format(of)}, {of}.late"


ADDED = ", ".join(f"{name} = {name} + excluded.{name}" for name in COUNTS)
ADD = f"INSERT INTO daily_tallies ({KEY}, {', '.join(COUNTS)})"
SQLITE = (
    f"""
CREATE TRIGGER daily_verdicts_added AFTER INSERT ON daily_verdicts BEGIN
    {ADD} VALUES ({_row("new")}) ON CONFLICT DO UPDATE SET {ADDED};
END
""",
    """
CREATE TRIGGER daily_verdicts_removed AFTER DELETE ON daily_verdicts BEGIN
    UPDATE daily_tallies SET success = success - (old.status = 'success'),
        cutoff_reached = cutoff_reached - (old.status <> 'success'), late = late - old.late
    WHERE tenant_id = old.tenant_id AND service_date = old.service_date AND due = old.due;
    DELETE FROM daily_tallies
    WHERE tenant_id = old.tenant_id AND service_date = old.service_date AND due = old.due
        AND success + cutoff_reached = 0;
END
""",
)
SUMMED = ", ".join(f"{name} = t.{name} + excluded.{name}" for name in COUNTS)
POSTGRES = (
    f"""
CREATE FUNCTION daily_tally_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO daily_tallies AS t ({KEY}, {", ".join(COUNTS)}) {_counted("added")}
    ON CONFLICT ({KEY}) DO UPDATE SET {SUMMED};
    RETURN NULL;
END $$
""",
    f"""
CREATE FUNCTION daily_tally_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO daily_tallies AS t ({KEY}, {", ".join(COUNTS)}) {_counted("removed", "-")}
    ON CONFLICT ({KEY}) DO UPDATE SET {SUMMED};
    DELETE FROM daily_tallies t USING (SELECT DISTINCT {KEY} FROM removed) AS r
    WHERE t.tenant_id = r.tenant_id AND t.service_date = r.service_date AND t.due = r.due
        AND t.success + t.cutoff_reached = 0;
    RETURN NULL;
END $$
""",
    """
CREATE TRIGGER daily_verdicts_added AFTER INSERT ON daily_verdicts REFERENCING NEW TABLE AS added
FOR EACH STATEMENT EXECUTE FUNCTION daily_tally_added()
""",
    """
CREATE TRIGGER daily_verdicts_removed AFTER DELETE ON daily_verdicts REFERENCING OLD TABLE AS removed
FOR EACH STATEMENT EXECUTE FUNCTION daily_tally_removed()
""",
)
