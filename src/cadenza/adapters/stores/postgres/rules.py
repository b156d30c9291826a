"""Rules in PostgreSQL."""

from functools import partial

from cadenza.adapters.stores.common import missing, same_rule, taken, too_many_rules
from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.catalog_statements import HOLD_TENANT
from cadenza.adapters.stores.postgres.endpoints import jobs_by_id
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.sql.rule_rows import read_rule, write_rule
from cadenza.adapters.stores.sql.rule_statements import POSTGRES as SQL
from cadenza.domain.planning.rules.rule import Rule
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.planning import EVERY_RULE, JobKey, RuleChange, RuleFilter


class PostgresRules:
    """Rules of jobs; who changes them holds the tenant, as who changes jobs does."""

    _pool: PostgresPool

    async def add_rule(self, rule: Rule, *, most: int) -> None:
        await self._pool.write(partial(_add, rule=rule, most=most))

    async def rule(self, tenant_id: str, rule_id: str) -> Rule:
        for row in await self._pool.ask(SQL.get, tenant_id, rule_id):
            return read_rule(row, as_it_is)
        raise missing("rule", rule_id)

    async def rules(
        self, tenant_id: str, *, wanted: RuleFilter = EVERY_RULE, page: Page = FIRST_PAGE
    ) -> list[Rule]:
        rows = await self._pool.ask(SQL.find, tenant_id, page.after or "", *wanted, page.limit)
        return [read_rule(row, as_it_is) for row in rows]

    async def amend_rule(self, tenant_id: str, rule_id: str, change: RuleChange) -> Rule:
        async def work(connection: Connection) -> Rule:
            await connection.fetch(HOLD_TENANT, tenant_id)
            row = await connection.fetchrow(SQL.get, tenant_id, rule_id)
            if row is None:
                raise missing("rule", rule_id)
            before = read_rule(row, as_it_is)
            after = same_rule(before, change(before))
            await connection.execute(SQL.put, *write_rule(after))
            return after

        return await self._pool.write(work)

    async def remove_rule(self, tenant_id: str, rule_id: str) -> None:
        async def work(connection: Connection) -> bool:
            await connection.fetch(HOLD_TENANT, tenant_id)
            return bool(await connection.fetch(f"{SQL.remove} RETURNING id", tenant_id, rule_id))

        if not await self._pool.write(work):
            raise missing("rule", rule_id)

    async def jobs_with_rules(self) -> frozenset[JobKey]:
        return frozenset(JobKey(*row) for row in await self._pool.ask(SQL.jobs_with_rules))


async def _add(connection: Connection, rule: Rule, most: int) -> None:
    await connection.fetch(HOLD_TENANT, rule.tenant_id)
    if rule.job_id not in await jobs_by_id(connection, rule.tenant_id, [rule.job_id]):
        raise missing("job", rule.job_id)
    count = await connection.fetchval(SQL.count_of_job, rule.tenant_id, rule.job_id)
    if not await connection.fetch(SQL.add, *write_rule(rule)):
        raise taken("rule", rule.id)
    if count >= most:
        raise too_many_rules(most)
