"""The statements about rules; the two databases differ in how parameters are written."""

from collections.abc import Callable
from typing import NamedTuple

from cadenza.adapters.stores.sql.rule_rows import COLUMNS, RULE

CHANGED = ", ".join(f"{column} = excluded.{column}" for column in RULE[2:])


class RuleStatements(NamedTuple):
    """What is asked of a table of rules."""

    add: str
    put: str
    get: str
    find: str
    count_of_job: str
    remove: str
    remove_of_job: str
    of_estate: str
    """Those of some jobs, and those with some ids."""
    jobs_with_rules: str


def _statements(place: Callable[[int], str], among: str) -> RuleStatements:
    """The statements, with parameters and membership in a list as a database writes them."""
    row = ", ".join(place(number + 1) for number in range(len(RULE)))
    one = f"tenant_id = {place(1)} AND id = {place(2)}"
    of_job = f"tenant_id = {place(1)} AND job_id = {place(2)}"
    add = f"INSERT INTO rules ({COLUMNS}) VALUES ({row})"
    return RuleStatements(
        add=f"{add} ON CONFLICT DO NOTHING RETURNING id",
        put=f"{add} ON CONFLICT (tenant_id, id) DO UPDATE SET {CHANGED}",
        get=f"SELECT {COLUMNS} FROM rules WHERE {one}",
        find=(
            f"SELECT {COLUMNS} FROM rules WHERE tenant_id = {place(1)} AND id > {place(2)}"
            f" AND ({_text(place(3))} IS NULL OR job_id = {place(3)})"
            f" AND ({_text(place(4))} IS NULL OR endpoint_id = {place(4)}) ORDER BY id LIMIT {place(5)}"
        ),
        count_of_job=f"SELECT count(*) FROM rules WHERE {of_job}",
        remove=f"DELETE FROM rules WHERE {one}",
        remove_of_job=f"DELETE FROM rules WHERE {of_job}",
        of_estate=(
            f"SELECT {COLUMNS} FROM rules WHERE tenant_id = {place(1)}"
            f" AND (job_id {among.format(place(2))} OR id {among.format(place(3))}) ORDER BY id"
        ),
        jobs_with_rules="SELECT DISTINCT tenant_id, job_id FROM rules",
    )


def _text(place: str) -> str:
    return f"CAST({place} AS text)"


SQLITE = _statements("?{}".format, "IN (SELECT value FROM json_each({}))")
POSTGRES = _statements("${}".format, "= ANY ({}::text[])")
