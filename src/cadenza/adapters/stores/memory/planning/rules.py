"""Rules of jobs."""

from cadenza.adapters.stores.common import already_exists, not_found, same_rule, too_many_rules
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.planning.rules.rule import Rule
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.planning import EVERY_RULE, JobKey, RuleChange, RuleFilter


class MemoryRules:
    """Rules of jobs."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def add_rule(self, rule: Rule, *, most: int) -> None:
        with self._lock:
            self._tables.job(rule.tenant_id, rule.job_id)
            if (rule.tenant_id, rule.id) in self._tables.rules:
                raise already_exists("rule", rule.id)
            if len(self._of(rule.tenant_id, RuleFilter(rule.job_id))) >= most:
                raise too_many_rules(most)
            self._tables.rules[rule.tenant_id, rule.id] = rule

    async def rule(self, tenant_id: str, rule_id: str) -> Rule:
        with self._lock:
            return self._get_rule(tenant_id, rule_id)

    async def rules(
        self, tenant_id: str, *, wanted: RuleFilter = EVERY_RULE, page: Page = FIRST_PAGE
    ) -> list[Rule]:
        with self._lock:
            found = self._of(tenant_id, wanted)
        return [rule for rule in found if page.after is None or rule.id > page.after][: page.limit]

    async def amend_rule(self, tenant_id: str, rule_id: str, change: RuleChange) -> Rule:
        with self._lock:
            before = self._get_rule(tenant_id, rule_id)
            after = same_rule(before, change(before))
            self._tables.rules[tenant_id, rule_id] = after
            return after

    async def remove_rule(self, tenant_id: str, rule_id: str) -> None:
        with self._lock:
            self._get_rule(tenant_id, rule_id)
            del self._tables.rules[tenant_id, rule_id]

    async def jobs_with_rules(self) -> frozenset[JobKey]:
        with self._lock:
            return frozenset(JobKey(rule.tenant_id, rule.job_id) for rule in self._tables.rules.values())

    def _get_rule(self, tenant_id: str, rule_id: str) -> Rule:
        try:
            return self._tables.rules[tenant_id, rule_id]
        except KeyError:
            raise not_found("rule", rule_id) from None

    def _of(self, tenant_id: str, wanted: RuleFilter) -> list[Rule]:
        mine = [rule for (owner, _), rule in sorted(self._tables.rules.items()) if owner == tenant_id]
        return [
            rule
            for rule in mine
            if wanted.job_id in (None, rule.job_id) and wanted.endpoint_id in (None, rule.endpoint_id)
        ]
