"""`cadenza rules`."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from cadenza.surfaces.cli.argument_parsing import bound
from cadenza.surfaces.cli.commands.rule_steps import escalation, step
from cadenza.surfaces.cli.connection import HERE, Asker, Way
from cadenza.surfaces.cli.lookup import endpoint_id, job_id, rule_id
from cadenza.surfaces.cli.operation_command import Commands, Look, example, said
from cadenza.surfaces.cli.options import AJob, Id, Name, OfJob
from cadenza.surfaces.cli.paging import FIRST, Paging, gathered

if TYPE_CHECKING:  # Rich costs time.
    from rich.console import RenderableType

STEP = "TOOL NAME=VALUE …, such as 'wake endpoint=investigator' or 'propose_interval interval=20s ttl=1h'"
ARule = Annotated[str, Parameter(help="The rule's id, or its name if no other has it.")]
Endpoint = Annotated[
    str | None, Parameter(name="--endpoint", help="The one endpoint it looks at, by id or name; none: all.")
]
When = Annotated[str, Parameter(allow_leading_hyphen=True, help="An expression that holds or does not.")]
WhenNow = Annotated[
    str | None, Parameter(allow_leading_hyphen=True, help="An expression that holds or does not.")
]
Then = Annotated[str, Parameter(help=f"What to do while it holds: {STEP}.")]
ThenNow = Annotated[str | None, Parameter(help=f"What to do while it holds: {STEP}.")]
Relax = Annotated[str | None, Parameter(help="What to do when it is over, written likewise; none: nothing.")]
Escalate = Annotated[
    tuple[str, ...],
    Parameter(help="SPAN TOOL …: what to do when it has lasted so long; several times for several steps."),
]
Cooldown = Annotated[
    str | None, Parameter(help="How long it is left alone after it fired, such as 10m; none: not at all.")
]
Once = Annotated[bool | None, Parameter(name="--once", negative="--repeat", help="Fire once in an incident.")]
Enabled = Annotated[
    bool | None, Parameter(name="--enabled", negative="--disabled", help="Whether anybody looks at it.")
]
On = Annotated[str | None, Parameter(name="--endpoint", help="What to try it on, by id or name.")]
NONE = "none"


class Rules(Commands):
    """What owners want done, and when."""

    @example("cadenza rules list")
    def list_(self, *, job: OfJob = None, paging: Paging = FIRST, way: Way = HERE) -> int:
        """List rules, in the order of their ids."""
        from cadenza.surfaces.cli.output.columns import RULES
        from cadenza.surfaces.cli.output.formatting import listing

        async def errand(asker: Asker) -> Any:
            given = {} if job is None else {"job_id": await job_id(asker, job)}
            return await gathered(asker, "list_rules", given, paging=paging)

        return self.answer(way, errand, listing(RULES, "There are no rules."))

    @example("cadenza rules show slow")
    def show(self, rule: ARule, /, *, way: Way = HERE) -> int:
        """Show one rule."""
        return self._about(way, "get_rule", rule)

    @example(
        "cadenza rules create --job checkout --name slow --id slow --when 'response.latency_ms > 800'"
        " --then 'propose_interval interval=20s' --relax clear"
    )
    def create(
        self,
        *,
        job: AJob,
        name: Annotated[str, Parameter(allow_leading_hyphen=True, help="The reason of all that it does.")],
        when: When,
        then: Then,
        id: Id = None,
        endpoint: Endpoint = None,
        relax: Relax = None,
        escalate: Escalate = (),
        cooldown: Cooldown = None,
        once: Once = None,
        enabled: Enabled = None,
        way: Way = HERE,
    ) -> int:
        """Write a rule; its condition is read and tried at once."""
        words = {"id": id, "name": name, "when": when, "once_per_incident": once, "enabled": enabled}
        given = _given(words, then=then, relax=relax, escalate=escalate, cooldown=cooldown)

        async def errand(asker: Asker) -> Any:
            about = await _about_endpoint(asker, endpoint)
            return await asker.ask("create_rule", {"job_id": await job_id(asker, job), **about, **given})

        return self.answer(way, errand, _card())

    @example("cadenza rules update slow --cooldown 10m")
    def update(
        self,
        rule: ARule,
        /,
        *,
        name: Name = None,
        when: WhenNow = None,
        then: ThenNow = None,
        endpoint: Endpoint = None,
        relax: Relax = None,
        escalate: Escalate = (),
        cooldown: Cooldown = None,
        once: Once = None,
        enabled: Enabled = None,
        way: Way = HERE,
    ) -> int:
        """Change a rule; what is left out stays as it is."""
        words = {"name": name, "when": when, "once_per_incident": once, "enabled": enabled}
        given = _given(words, then=then, relax=relax, escalate=escalate, cooldown=cooldown)

        async def errand(asker: Asker) -> Any:
            about = await _about_endpoint(asker, endpoint)
            return await asker.ask("update_rule", {"rule_id": await rule_id(asker, rule), **about, **given})

        return self.answer(way, errand, _card())

    @example("cadenza rules test slow --endpoint traffic")
    def test(self, rule: ARule, /, *, endpoint: On = None, way: Way = HERE) -> int:
        """Tell what a rule would do about an endpoint as it stands; nothing is changed."""

        async def errand(asker: Asker) -> Any:
            about = await _about_endpoint(asker, endpoint)
            return await asker.ask("test_rule", {"rule_id": await rule_id(asker, rule), **about})

        return self.answer(way, errand, _trial)

    @example("cadenza rules delete slow")
    def delete(self, rule: ARule, /, *, way: Way = HERE) -> int:
        """Delete a rule; hints that it wrote stay until they expire."""

        async def errand(asker: Asker) -> Any:
            return await asker.ask("delete_rule", {"rule_id": await rule_id(asker, rule)})

        return self.answer(way, errand, said(f"Deleted the rule {rule}."))

    def _about(self, way: Way, operation: str, rule: str) -> int:
        async def errand(asker: Asker) -> Any:
            return await asker.ask(operation, {"rule_id": await rule_id(asker, rule)})

        return self.answer(way, errand, _card())


async def _about_endpoint(asker: Asker, word: str | None) -> dict[str, Any]:
    if word is None:
        return {}
    return {"endpoint_id": None if word == NONE else await endpoint_id(asker, word)}


def _given(
    words: dict[str, Any],
    *,
    then: str | None,
    relax: str | None,
    escalate: tuple[str, ...],
    cooldown: str | None,
) -> dict[str, Any]:
    given = {name: word for name, word in words.items() if word is not None}
    if then is not None:
        given["then"] = step("--then", then)
    if relax is not None:
        given["relax"] = None if relax == NONE else step("--relax", relax)
    if escalate:
        given["escalate"] = [escalation("--escalate", one) for one in escalate]
    if cooldown is not None:
        given["cooldown_ms"] = bound("--cooldown", cooldown) or 0
    return given


def _card() -> Look:
    from cadenza.surfaces.cli.commands.rule_steps import rule_card

    return rule_card


def _trial(found: Any) -> "Iterable[RenderableType]":
    from cadenza.surfaces.cli.output.formatting import as_json, moment, text

    holds = {True: "It holds.", False: "It does not hold.", None: f"It does not match: {found['trouble']}"}
    yield text(holds[found["holds"]])
    if found["incident_since"] is not None:
        yield text(f"It has held since {moment(found['incident_since'])}.")
    for call in found["calls"]:
        yield text(f"{call['tool']} of {call['endpoint']}: {as_json(call['arguments'])}")
    if not found["calls"]:
        yield text("There is nothing to do about it now.")
