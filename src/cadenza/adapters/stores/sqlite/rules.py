"""Rules in a SQLite file."""

import sqlite3
from functools import partial

from cadenza.adapters.stores.common import missing, same_rule, taken, too_many_rules
from cadenza.adapters.stores.sql.rows import from_micros
from cadenza.adapters.stores.sql.rule_rows import read_rule, write_rule
from cadenza.adapters.stores.sql.rule_statements import SQLITE as SQL
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.jobs import get_job
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.domain.planning.rules.rule import Rule
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.planning import EVERY_RULE, JobKey, RuleChange, RuleFilter


class SqliteRules:
    """Rules of jobs."""

    _file: SqliteFile

    async def add_rule(self, rule: Rule, *, most: int) -> None:
        await self._file.write(partial(_add, rule=rule, most=most))

    async def rule(self, tenant_id: str, rule_id: str) -> Rule:
        return await self._file.read(partial(_get, tenant_id=tenant_id, rule_id=rule_id))

    async def rules(
        self, tenant_id: str, *, wanted: RuleFilter = EVERY_RULE, page: Page = FIRST_PAGE
    ) -> list[Rule]:
        asked = (tenant_id, page.after or "", *wanted, page.limit)
        rows = await self._file.read(lambda file: file.execute(SQL.find, asked).fetchall())
        return [read_rule(row, from_micros) for row in rows]

    async def amend_rule(self, tenant_id: str, rule_id: str, change: RuleChange) -> Rule:
        def work(file: sqlite3.Connection) -> Rule:
            before = _get(file, tenant_id, rule_id)
            after = same_rule(before, change(before))
            file.execute(SQL.put, in_micros(write_rule(after)))
            return after

        return await self._file.write(work)

    async def remove_rule(self, tenant_id: str, rule_id: str) -> None:
        removed = await self._file.write(lambda file: file.execute(SQL.remove, (tenant_id, rule_id)).rowcount)
        if not removed:
            raise missing("rule", rule_id)

    async def jobs_with_rules(self) -> frozenset[JobKey]:
        rows = await self._file.read(lambda file: file.execute(SQL.jobs_with_rules).fetchall())
        return frozenset(JobKey(*row) for row in rows)


def _add(file: sqlite3.Connection, rule: Rule, most: int) -> None:
    get_job(file, rule.tenant_id, rule.job_id)
    (count,) = file.execute(SQL.count_of_job, (rule.tenant_id, rule.job_id)).fetchone()
    if not file.execute(SQL.add, in_micros(write_rule(rule))).fetchall():
        raise taken("rule", rule.id)
    if count >= most:
        raise too_many_rules(most)


def _get(file: sqlite3.Connection, tenant_id: str, rule_id: str) -> Rule:
    row = file.execute(SQL.get, (tenant_id, rule_id)).fetchone()
    if row is None:
        raise missing("rule", rule_id)
    return read_rule(row, from_micros)
