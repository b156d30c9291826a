"""Rules of jobs."""

from dataclasses import fields
from typing import Any

import orjson

from cadenza.adapters.stores.common import already_exists, not_found, same_rule, too_many_rules
from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.adapters.stores.sql.scheduling.endpoints import GET_JOBS, LOCK_TENANT
from cadenza.domain.planning.rules.rule import STEPS, Escalation, Rule, Step
from cadenza.domain.scheduling.hint import Rank
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.planning import EVERY_RULE, JobKey, RuleChange, RuleFilter

RULE = ("tenant_id", "id", "job_id", "endpoint_id", "name", "definition", "created_at")
COLUMNS = ", ".join(RULE)
INSERT = f"INSERT INTO rules ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)"
ADD = f"{INSERT} ON CONFLICT DO NOTHING RETURNING id"
PUT = (
    f"{INSERT} ON CONFLICT (tenant_id, id) DO UPDATE"
    f" SET {', '.join(f'{column} = excluded.{column}' for column in RULE[2:])}"
)
GET = f"SELECT {COLUMNS} FROM rules WHERE tenant_id = $1 AND id = $2"
LIST = f"""
SELECT {COLUMNS} FROM rules WHERE tenant_id = $1 AND id > $2 AND ($3::text IS NULL OR job_id = $3)
    AND ($4::text IS NULL OR endpoint_id = $4) ORDER BY id LIMIT $5
"""
LIST_WITHIN = f"""
SELECT {COLUMNS} FROM rules WHERE tenant_id = $1 AND (job_id = ANY ($2::text[]) OR id = ANY ($3::text[]))
ORDER BY id
"""
"""Those of some jobs, and those with some ids."""
COUNT_OF_JOB = "SELECT count(*) FROM rules WHERE tenant_id = $1 AND job_id = $2"
REMOVE = "DELETE FROM rules WHERE tenant_id = $1 AND id = $2 RETURNING id"
JOBS_WITH_RULES = "SELECT DISTINCT tenant_id, job_id FROM rules"


class SqlRules:
    """Rules of jobs; a change of one locks the tenant, as a change of a job does."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_rule(self, rule: Rule, *, most: int) -> None:
        async def work(connection: Connection) -> None:
            await connection.fetch(LOCK_TENANT, rule.tenant_id)
            if not await connection.fetch(GET_JOBS, rule.tenant_id, [rule.job_id]):
                raise not_found("job", rule.job_id)
            count = await connection.fetchval(COUNT_OF_JOB, rule.tenant_id, rule.job_id)
            if not await connection.fetch(ADD, *write_rule(rule)):
                raise already_exists("rule", rule.id)
            if count >= most:
                raise too_many_rules(most)

        await self._database.write(work)

    async def rule(self, tenant_id: str, rule_id: str) -> Rule:
        for row in await self._database.read(GET, tenant_id, rule_id):
            return read_rule(row, self._database.read_moment)
        raise not_found("rule", rule_id)

    async def rules(
        self, tenant_id: str, *, wanted: RuleFilter = EVERY_RULE, page: Page = FIRST_PAGE
    ) -> list[Rule]:
        rows = await self._database.read(LIST, tenant_id, page.after or "", *wanted, page.limit)
        return [read_rule(row, self._database.read_moment) for row in rows]

    async def amend_rule(self, tenant_id: str, rule_id: str, change: RuleChange) -> Rule:
        async def work(connection: Connection) -> Rule:
            await connection.fetch(LOCK_TENANT, tenant_id)
            row = await connection.fetchrow(GET, tenant_id, rule_id)
            if row is None:
                raise not_found("rule", rule_id)
            before = read_rule(row, self._database.read_moment)
            after = same_rule(before, change(before))
            await connection.execute(PUT, *write_rule(after))
            return after

        return await self._database.write(work)

    async def remove_rule(self, tenant_id: str, rule_id: str) -> None:
        async def work(connection: Connection) -> None:
            await connection.fetch(LOCK_TENANT, tenant_id)
            if not await connection.fetch(REMOVE, tenant_id, rule_id):
                raise not_found("rule", rule_id)

        await self._database.write(work)

    async def jobs_with_rules(self) -> frozenset[JobKey]:
        return frozenset(JobKey(*row) for row in await self._database.read(JOBS_WITH_RULES))


def write_rule(rule: Rule) -> tuple[Any, ...]:
    """The columns `RULE`."""
    document = {
        "when": rule.when,
        "then": _write_step(rule.then),
        "relax": None if rule.relax is None else _write_step(rule.relax),
        "cooldown_ms": rule.cooldown_ms,
        "once_per_incident": rule.once_per_incident,
        "escalate": [{"after_ms": one.after_ms, "then": _write_step(one.then)} for one in rule.escalate],
        "enabled": rule.enabled,
    }
    if rule.rank is not Rank.RULE:
        document["rank"] = rule.rank
    owned = (rule.tenant_id, rule.id, rule.job_id, rule.endpoint_id, rule.name)
    return (*owned, orjson.dumps(document).decode(), rule.created_at)


def read_rule(row: Row, read: Read) -> Rule:
    """The rule of a row selected as `RULE`."""
    tenant_id, id_, job_id, endpoint_id, name, definition, created_at = row
    document = orjson.loads(definition)
    relax, escalate = document.pop("relax"), document.pop("escalate")
    return Rule(
        tenant_id=tenant_id,
        id=id_,
        job_id=job_id,
        endpoint_id=endpoint_id,
        name=name,
        then=_read_step(document.pop("then")),
        relax=None if relax is None else _read_step(relax),
        escalate=tuple(Escalation(one["after_ms"], _read_step(one["then"])) for one in escalate),
        created_at=read(created_at),
        rank=Rank(document.pop("rank", Rank.RULE)),
        **document,
    )


def _write_step(step: Step) -> dict[str, Any]:
    return {"tool": step.tool, **{field.name: getattr(step, field.name) for field in fields(step)}}


def _read_step(document: dict[str, Any]) -> Step:
    return STEPS[document.pop("tool")](**document)
