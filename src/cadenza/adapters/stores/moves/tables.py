"""Which tables and columns a move takes, derived from the schema of the database itself."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import TopologicalSorter
from typing import NamedTuple

from cadenza.adapters.stores.sql.migrations import HEAD
from cadenza.domain.access.move import StoredTable
from cadenza.domain.errors import Conflict

NOT_CARRIED = {
    "alembic_version": "each database has its own",
    "locks": "who does what on this database now",
    "moves": "each database records its own",
    "rates": "what was drawn in the last seconds",
}
"""Every other table is carried: one that a later migration adds cannot be forgotten."""
LIVE = frozenset(
    {
        *("endpoint_states", "leases", "daily_users", "looks", "keys", "sessions"),
        *("alerts", "alert_conditions", "alert_messages", "user_channels"),
    }
)
"""Workers, sweepers, daily runners, planners and senders of alerts act on what they find in these, and
whoever has a key may change things."""
SECRET = frozenset({"secrets"})
DERIVED = frozenset({"daily_tallies"})
"""Triggers fill them from other tables."""
KEYS = {"runs": ("tenant_id", "id")}
"""Of tables without a primary key: partitions by another column do not allow one."""
OF_ITS_SERVER = {"runs": frozenset({"txid"})}
"""Columns that mean something on their own server alone; elsewhere they hold nothing."""
LEFT_BEHIND = {"notes": "NOT (planner = 'analyst' AND tenant_id = '' AND endpoint_id = 'feed')"}
"""Which rows are taken. A place in the feed of ended runs means nothing in another database."""


CREATED = re.compile(r"CREATE (?:UNLOGGED )?TABLE (\w+) \(")


@cache
def schema_tables() -> frozenset[str]:
    """The tables that the migrations make; a database may hold those of other programs beside them."""
    from cadenza.adapters.stores.sql.migrations.script import statements  # noqa: PLC0415 - It loads Alembic.

    made = (CREATED.match(statement) for statement in statements("postgresql", None))
    return frozenset(found[1] for found in made if found)


class SchemaColumn(NamedTuple):
    """A column of a table, as the database describes it."""

    table: str
    name: str
    kind: str
    key_place: int | None
    """Its place in the primary key, from 1 on."""
    computed: bool
    numbered: bool = False
    """Whether the database numbers it by itself."""


def stored_tables(columns: Iterable[SchemaColumn], references: Mapping[str, set[str]]) -> list[StoredTable]:
    """The tables of a move, each after those that it refers to and otherwise by name; live ones last."""
    of_table: dict[str, list[SchemaColumn]] = {}
    for column in columns:
        if column.table in schema_tables() - NOT_CARRIED.keys():
            of_table.setdefault(column.table, []).append(column)
    ordered = TopologicalSorter({name: sorted(references.get(name, ())) for name in sorted(of_table)})
    found = [_stored_table(name, of_table[name]) for name in ordered.static_order() if name in of_table]
    return sorted(found, key=lambda table: table.live)


def _stored_table(name: str, columns: Iterable[SchemaColumn]) -> StoredTable:
    left_out = OF_ITS_SERVER.get(name, frozenset())
    carried = sorted(one.name for one in columns if not one.computed and one.name not in left_out)
    in_key = sorted((one.key_place, one.name) for one in columns if one.key_place)
    return StoredTable(
        name,
        tuple(carried),
        KEYS.get(name) or tuple(name for _, name in in_key),
        live=name in LIVE,
        derived=name in DERIVED,
        secret=name in SECRET,
    )


def check_version(version: str | None, name: str) -> bool:
    """Whether there is a schema; Conflict if it is of another version than this program."""
    if version is None:
        return False
    if version != HEAD:
        older = "run `cadenza migrate` there first" if version < HEAD else "upgrade this program first"
        raise Conflict(f"The tables in {name} are of version {version}, not of {HEAD}: {older}.")
    return True


def quoted_names(names: Iterable[str]) -> str:
    """Names of columns as SQL has them, also those that are words of SQL."""
    return ", ".join(f'"{name}"' for name in names)


def select_rows(table: StoredTable, expressions: Iterable[str], *, condition: str, after: bool) -> str:
    """The statement that reads rows by their key, with the values of a key and then the limit."""
    key = quoted_names(table.key)
    values = ", ".join(f"${place}" for place in range(1, len(table.key) + 1))
    behind = f"AND ({key}) > ({values})" if after else ""
    limit = f"${len(table.key) + 1 if after else 1}"
    return (
        f'SELECT {", ".join(expressions)} FROM "{table.name}" WHERE {condition} {behind}'
        f" ORDER BY {key} LIMIT {limit}"
    )


def all_rows(table: StoredTable) -> str:
    """The condition for the rows that a move of everything takes."""
    return LEFT_BEHIND.get(table.name, "true")


def count_rows(table: StoredTable, condition: str) -> str:
    """The statement that counts rows."""
    return f'SELECT count(*) FROM "{table.name}" WHERE {condition}'
