"""`cadenza rules` and `cadenza analyses`."""

import shlex
from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import parse_duration_ms, quoted
from cadenza.surfaces.cli.argument_parsing import bound, pairs, whole_number
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions, OperationClient
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.lookup import ENDPOINT, JOB, RULE, ask_about, find_id
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.parameters import AJob, AnEndpoint, ARule, Id, Name, present

STEP = "TOOL NAME=VALUE …, such as 'wake endpoint=investigator' or 'propose_interval interval=20s ttl=1h'"
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
    bool | None, Parameter(name="--enabled", negative="--disabled", help="Whether the rule is evaluated.")
]
On = Annotated[str | None, Parameter(name="--endpoint", help="What to try it on, by id or name.")]
NONE = "none"


class Rules(Commands):
    """What owners want done, and when."""

    list_ = DerivedCommand("list_rules", options=("job_id",), about="List rules, in the order of their ids.")
    show = DerivedCommand("get_rule", "slow")

    @example(
        "--job checkout --name slow --id slow --when 'response.latency_ms > 800'"
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
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Write a rule; its condition is read and tried at once."""
        words = {"id": id, "name": name, "when": when, "once_per_incident": once, "enabled": enabled}
        given = _given(words, then=then, relax=relax, escalate=escalate, cooldown=cooldown)

        async def request(client: OperationClient) -> Any:
            about = await _about_endpoint(client, endpoint)
            return await client.ask(
                "create_rule", {"job_id": await find_id(client, JOB, job), **about, **given}
            )

        return self.answer(connection, request, "create_rule")

    @example("slow --cooldown 10m")
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
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Change a rule; what is left out stays as it is."""
        words = {"name": name, "when": when, "once_per_incident": once, "enabled": enabled}
        given = _given(words, then=then, relax=relax, escalate=escalate, cooldown=cooldown)

        async def request(client: OperationClient) -> Any:
            about = await _about_endpoint(client, endpoint)
            return await client.ask(
                "update_rule", {"rule_id": await find_id(client, RULE, rule), **about, **given}
            )

        return self.answer(connection, request, "update_rule")

    @example("slow --endpoint traffic")
    def test(self, rule: ARule, /, *, endpoint: On = None, connection: CliOptions = AS_CONFIGURED) -> int:
        """Show what a rule would do about an endpoint as it stands; nothing is changed."""

        async def request(client: OperationClient) -> Any:
            about = await _about_endpoint(client, endpoint)
            return await client.ask("test_rule", {"rule_id": await find_id(client, RULE, rule), **about})

        return self.answer(connection, request, "test_rule")

    delete = DerivedCommand(
        "delete_rule", "slow", about="Delete a rule; hints that it wrote stay until they expire."
    )


async def _about_endpoint(client: OperationClient, word: str | None) -> dict[str, Any]:
    if word is None:
        return {}
    return {"endpoint_id": None if word == NONE else await find_id(client, ENDPOINT, word)}


def _given(
    words: dict[str, Any],
    *,
    then: str | None,
    relax: str | None,
    escalate: tuple[str, ...],
    cooldown: str | None,
) -> dict[str, Any]:
    given = present(**words)
    if then is not None:
        given["then"] = step("--then", then)
    if relax is not None:
        given["relax"] = None if relax == NONE else step("--relax", relax)
    if escalate:
        given["escalate"] = [escalation("--escalate", one) for one in escalate]
    if cooldown is not None:
        given["cooldown_ms"] = bound("--cooldown", cooldown) or 0
    return given


def step(option: str, text: str) -> dict[str, Any]:
    """`wake endpoint=cache ttl=5m` as the API takes it."""
    from cadenza.operations.config.schemas import whole_step

    tool, *words = _words(option, text)
    given: dict[str, Any] = pairs(option, words)
    resumes = given.get("pause") == NONE
    if resumes:
        del given["pause"]
    try:
        whole: dict[str, Any] = whole_step({"tool": tool, **given})
    except ValueError as problem:
        raise InvalidRequest(f"{option}: {problem}", option) from None
    return {**whole, "pauseMs": None} if resumes else whole


def escalation(option: str, text: str) -> dict[str, Any]:
    """`5m wake endpoint=oncall` as the API takes it."""
    after, *words = _words(option, text)
    return {"after_ms": parse_duration_ms(option, after), "then": step(option, shlex.join(words))}


def _words(option: str, text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    if not words:
        raise InvalidRequest(f"{option} takes a tool with NAME=VALUE, and not {quoted(text)}.", option)
    return words


Days = Annotated[int, Parameter(converter=whole_number, help="How many days to look back, today among them.")]


class Analyses(Commands):
    """What planners thought and did, and what it cost."""

    list_ = DerivedCommand(
        "list_analyses", "traffic", about="List planners' analyses of an endpoint, newest first."
    )
    recent = DerivedCommand(
        "list_sittings", "--limit 20", about="List planners' analyses of all endpoints, newest first."
    )
    learned = DerivedCommand(
        "list_learning", about="Show what the learning planner wins and, in the shadow, would have won."
    )

    @example("traffic --days 7")
    def cost(self, endpoint: AnEndpoint, /, *, days: Days = 7, connection: CliOptions = AS_CONFIGURED) -> int:
        """Show how many analyses and tokens planners spent on an endpoint, by day."""
        return self.answer(
            connection,
            lambda client: ask_about(client, ENDPOINT, endpoint, "get_planner_cost", days=days),
            "get_planner_cost",
        )

    @example("--days 7")
    def spending(self, *, days: Days = 7, connection: CliOptions = AS_CONFIGURED) -> int:
        """Show how many analyses and tokens planners spent on which endpoints."""
        return self.ask(connection, "get_spending", {"days": days})
