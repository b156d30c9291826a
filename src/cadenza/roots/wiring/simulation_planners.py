"""The planners of simulations and replays, by name."""

from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from cadenza.domain.errors import Conflict, InvalidRequest, Unavailable
from cadenza.domain.scheduling.endpoint import Job
from cadenza.ports.planning import Planner
from cadenza.ports.store import Store
from cadenza.sim.analyst_steps import PlannerFactory
from cadenza.sim.product_run import JOB, TENANT

if TYPE_CHECKING:  # Each kind of planner costs its own imports.
    from cadenza.domain.planning.rules.rule import Rule
    from cadenza.sim.catalogue import Planners

LONGEST_FILE = 8 * 1024 * 1024
SALE = "flash-sale"
LEARNED = "learned"


def planners_for(word: str, scenario: str) -> "Planners":
    """Who is to steer a scenario, as it was asked for."""
    from cadenza.sim.catalogue import Planners

    name, _, path = word.partition(":")
    match name:
        case "rules":
            return Planners(
                name, rule_planner_factory(_of_simulation(rules_in(path) if path else _sale_rules(scenario)))
            )
        case "learned" if not path:
            return Planners(name, learning)
        case "scripted" if scenario == SALE and not path:
            return Planners(name, scripted)
        case "scripted" if not path:
            raise InvalidRequest(f"The script is for {SALE} alone.", "planner")
        case _:
            raise InvalidRequest(f"{word!r} is none of rules, rules:FILE, learned and scripted.", "planner")


async def scripted(_: Store) -> Sequence[Planner]:
    """The planner that calls tools as a model would."""
    from cadenza.sim.flash_sale.scripted import ScriptedPlanner

    return [ScriptedPlanner()]


async def learning(store: Store) -> Sequence[Planner]:
    """The planner that learns, as a running system has it."""
    from cadenza.roots import planner
    from cadenza.roots.settings import Settings

    found = [one for one in planner.planners(Settings(llm_model=None), store) if one.name == LEARNED]
    if not found:
        raise Unavailable("Learning planner not available here.")
    return found


def rule_planner_factory(rules: "Sequence[Rule]") -> PlannerFactory:
    """The planner that does what these rules say."""

    async def make_planner(store: Store) -> Sequence[Planner]:
        from cadenza.adapters.planners.rules.expressions import CelExpressions
        from cadenza.adapters.planners.rules.planner import RulePlanner
        from cadenza.domain.planning.rules.rule import MOST_RULES

        for rule in rules:
            with suppress(Conflict):  # The job has another rule.
                await store.catalog.add_job(Job(id=rule.job_id, name=rule.job_id, tenant_id=rule.tenant_id))
            await store.rules.add_rule(rule, most=MOST_RULES)
        return [RulePlanner(store.rules, store.analyses, CelExpressions())]

    return make_planner


def rules_in(path: str, tenant_id: str = TENANT) -> "list[Rule]":
    """The rules of a configuration file; the rest of it is read, and left alone."""
    return rules_of(_text(path), tenant_id)


def rules_of(text: str, tenant_id: str = TENANT) -> "list[Rule]":
    """The rules of a configuration, each checked as if it were applied."""
    from cadenza.adapters.planners.rules.expressions import CelExpressions
    from cadenza.operations.arguments import parse_command
    from cadenza.operations.config.apply import apply_config
    from cadenza.operations.config.file import ConfigFile
    from cadenza.operations.config.rules import WantedRule, located_rules, refuse, rule_or_faults

    file, expressions = ConfigFile(text), CelExpressions()
    try:
        placed = located_rules(parse_command(apply_config, file.document))
        made = [rule_or_faults(one, tenant_id=tenant_id, expressions=expressions) for one in placed]
        refuse([fault for one in made if not isinstance(one, WantedRule) for fault in one])
    except InvalidRequest as problem:
        raise file.located(problem) from None
    if not made:
        raise InvalidRequest("The file has no rules.", "planner")
    return [one.rule for one in made if isinstance(one, WantedRule)]


def _of_simulation(rules: "Sequence[Rule]") -> "list[Rule]":
    """The same rules for the job that simulations have."""
    from dataclasses import replace

    return [replace(rule, job_id=JOB) for rule in rules]


def sale_rules() -> "list[Rule]":
    """The flash sale's own rules."""
    return rules_of(files("cadenza.sim.flash_sale").joinpath("rules.yaml").read_text(encoding="utf-8"))


def _sale_rules(scenario: str) -> "list[Rule]":
    if scenario != SALE:
        raise InvalidRequest(
            f"Give a file: --planner rules:FILE. Rules are at hand for {SALE} alone.", "planner"
        )
    return sale_rules()


def _text(path: str) -> str:
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(LONGEST_FILE + 1)
    except (OSError, UnicodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is not a text in UTF-8"
        raise InvalidRequest(f"The file of rules cannot be read: {why}.", "policy") from None
    if len(text) > LONGEST_FILE:
        raise InvalidRequest(f"The file of rules has more than {LONGEST_FILE:,} characters.", "policy")
    return text
