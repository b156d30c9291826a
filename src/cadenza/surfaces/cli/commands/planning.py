"""`cadenza rules` and `cadenza analyses`."""

import shlex
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import quoted, read_duration_ms
from cadenza.surfaces.cli.argument_parsing import bound, pairs, whole_number
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions, OperationClient
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.lookup import ENDPOINT, JOB, RULE, ask_about, find_id
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.parameters import AJob, AnEndpoint, ARule, Id, present
from cadenza.surfaces.cli.written_words import Fills

STEP = "TOOL NAME=VALUE …, such as 'wake endpoint=investigator' or 'propose_interval interval=20s ttl=1h'"
NAME = Parameter(allow_leading_hyphen=True, help="The reason of all that it does.")
WHEN = Parameter(allow_leading_hyphen=True, help="An expression that holds or does not.")
THEN = Parameter(help=f"What to do while it holds: {STEP}.")
ESCALATE = "SPAN TOOL …: what to do after this duration; repeat for several steps."
On = Annotated[
    str | None,
    Parameter(name="--endpoint", help="What to try it on, by id or name."),
    Fills("endpoint_id"),
]
NONE = "none"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RuleOptions:
    """What a rule may have, and need not."""

    endpoint: Annotated[
        str | None,
        Parameter(name="--endpoint", help="The one endpoint it looks at, by id or name; none: all."),
        Fills("endpoint_id"),
    ] = None
    relax: Annotated[
        str | None, Parameter(help="What to do when it is over, written likewise; none: nothing.")
    ] = None
    escalate: Annotated[
        tuple[str, ...],
        Parameter(help="SPAN TOOL …: what to do after this duration; repeat for several steps."),
    ] = ()
    cooldown: Annotated[
        str | None,
        Parameter(help="How long it is left alone after it fired, such as 10m; none: not at all."),
        Fills("cooldown_ms"),
    ] = None
    once: Annotated[
        bool | None,
        Parameter(name="--once", negative="--repeat", help="Fire once in an incident."),
        Fills("once_per_incident"),
    ] = None
    enabled: Annotated[
        bool | None, Parameter(name="--enabled", negative="--disabled", help="Whether the rule is evaluated.")
    ] = None

    def arguments(self) -> dict[str, Any]:
        """What the operation takes, but for the endpoint, which a client must find."""
        given = present(once_per_incident=self.once, enabled=self.enabled)
        if self.relax is not None:
            given["relax"] = None if self.relax == NONE else step("--relax", self.relax)
        if self.escalate:
            given["escalate"] = [escalation("--escalate", one) for one in self.escalate]
        if self.cooldown is not None:
            given["cooldown_ms"] = bound("--cooldown", self.cooldown) or 0
        return given


AS_USUAL = RuleOptions()


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
        name: Annotated[str, NAME],
        when: Annotated[str, WHEN],
        then: Annotated[str, THEN],
        id: Id = None,
        options: RuleOptions = AS_USUAL,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Write a rule; its condition is read and tried at once."""
        given = present(id=id, name=name, when=when, then=step("--then", then)) | options.arguments()

        async def request(client: OperationClient) -> Any:
            about = await _about_endpoint(client, options.endpoint)
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
        name: Annotated[str | None, NAME] = None,
        when: Annotated[str | None, WHEN] = None,
        then: Annotated[str | None, THEN] = None,
        options: RuleOptions = AS_USUAL,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Change a rule; what is left out stays as it is."""
        does = None if then is None else step("--then", then)
        given = present(name=name, when=when, then=does) | options.arguments()

        async def request(client: OperationClient) -> Any:
            about = await _about_endpoint(client, options.endpoint)
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


def step(option: str, text: str) -> dict[str, Any]:
    """`wake endpoint=cache ttl=5m` as the API takes it."""
    from cadenza.operations.config.rule_words import whole_step

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
    return {"after_ms": read_duration_ms(option, after), "then": step(option, shlex.join(words))}


def _words(option: str, text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    if not words:
        raise InvalidRequest(f"{option} takes a tool with NAME=VALUE, not {quoted(text)}.", option)
    return words


Days = Annotated[int, Parameter(converter=whole_number, help="How many days to look back, today among them.")]


class Analyses(Commands):
    """What planners thought and did, and what it cost."""

    list_ = DerivedCommand(
        "list_analyses", "traffic", about="List planner evaluations of an endpoint, newest first."
    )
    recent = DerivedCommand(
        "list_sittings", "--limit 20", about="List planner evaluations of all endpoints, newest first."
    )
    learned = DerivedCommand(
        "list_learning", about="Show learning planner savings, also of its dry runs (shadow mode)."
    )

    wakes = DerivedCommand(
        "list_wakes", about="Show what waking agents cost and brought, by schedule with a probe."
    )

    @example("traffic --days 7")
    def cost(self, endpoint: AnEndpoint, /, *, days: Days = 7, connection: CliOptions = AS_CONFIGURED) -> int:
        """Show planner evaluations and tokens of an endpoint, by date (UTC)."""
        return self.answer(
            connection,
            lambda client: ask_about(client, ENDPOINT, endpoint, "get_planner_cost", days=days),
            "get_planner_cost",
        )

    @example("--days 7")
    def spending(self, *, days: Days = 7, connection: CliOptions = AS_CONFIGURED) -> int:
        """Show planner evaluations and tokens by endpoint, most expensive first."""
        return self.ask(connection, "get_spending", {"days": days})
