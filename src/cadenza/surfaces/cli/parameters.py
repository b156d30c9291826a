"""Arguments and options that several commands share, and the operation fields that they stand for."""

from inspect import Parameter as Unset
from typing import Annotated, Any, Literal, NamedTuple

from cyclopts import Parameter

from cadenza.surfaces.cli.argument_parsing import whole_number
from cadenza.surfaces.cli.lookup import ENDPOINT, JOB, RULE, Resource
from cadenza.surfaces.cli.written_words import Fills

AJob = Annotated[str, Parameter(help="The job's id, or its name if no other has it."), Fills("job_id")]
AnEndpoint = Annotated[
    str, Parameter(help="The endpoint's id, or its name if no other has it."), Fills("endpoint_id")
]
ARule = Annotated[str, Parameter(help="The rule's id, or its name if no other has it."), Fills("rule_id")]
ARun = Annotated[str, Parameter(help="The run's id."), Fills("run_id")]
AUser = Annotated[str, Parameter(help="The user's id."), Fills("user_id")]
AnAgent = Annotated[str, Parameter(help="The agent's id."), Fills("agent_id")]
ASchedule = Annotated[str, Parameter(help="The schedule's id, such as sched-a7b3c."), Fills("schedule_id")]
ATurn = Annotated[str, Parameter(help="The turn's id."), Fills("turn_id")]
ARecord = Annotated[str, Parameter(help="The audit record's id."), Fills("record_id")]
AProgramme = Annotated[str, Parameter(help="The id of the daily programme."), Fills("programme_id")]
InProgramme = Annotated[
    str | None, Parameter(name="--programme", help="The id of the daily programme; daily, if left out.")
]
AKey = Annotated[str, Parameter(help="The key's id, which is no secret.")]
ASecret = Annotated[
    str, Parameter(help="The secret's name; ${secret:NAME} refers to it."), Fills("secret_name")
]
ACalendar = Annotated[str, Parameter(help="The calendar's id."), Fills("calendar_id")]
ACondition = Annotated[str, Parameter(help="The condition's id."), Fills("condition_id")]
ARoute = Annotated[str, Parameter(help="The alert route's id."), Fills("route_id")]
AChannel = Annotated[str, Parameter(help="The id of one of the user's channels."), Fills("channel_id")]
AtRank = Annotated[
    Literal["rule", "llm", "learning"] | None,
    Parameter(help="Let it count less than a person's word: rules may then replace or end it."),
]
Reason = Annotated[str | None, Parameter(allow_leading_hyphen=True, help="Why, in words.")]
Labels = Annotated[
    tuple[str, ...],
    Parameter(name="--label", help="NAME=VALUE; several times for several labels."),
    Fills("label", "labels"),
]
OfEndpoint = Annotated[
    str | None,
    Parameter(name="--endpoint", help="Those of this endpoint, by id or name."),
    Fills("endpoint_id"),
]
OfJob = Annotated[
    str | None, Parameter(name="--job", help="Those of this job, by id or name."), Fills("job_id")
]
MostSlots = Annotated[int, Parameter(help="How many slots, at most; the oldest first.")]
OnlyNew = Annotated[bool, Parameter(negative="", help="Refuse to replace what is there already.")]
DryRun = Annotated[bool, Parameter(negative="", help="Show what would be run, and change nothing.")]
Name = Annotated[str | None, Parameter(allow_leading_hyphen=True, help="What people call it.")]
NewName = Annotated[str, Parameter(allow_leading_hyphen=True, help="What people call it.")]
Description = Annotated[str | None, Parameter(allow_leading_hyphen=True, help="What it is for, in words.")]
Id = Annotated[str | None, Parameter(name="--id", help="An id of your choice; one is given if left out.")]
File = Annotated[
    str | None,
    Parameter(
        allow_leading_hyphen=True,
        help="A JSON file with everything, as the API takes it; - is standard input; options win.",
    ),
]
Failing = Annotated[bool, Parameter(help="Only those whose last run did not succeed.")]
Hours = Annotated[int, Parameter(converter=whole_number, help="How many hours to look back, up to 720.")]
WithDays = Annotated[bool, Parameter(help="Delete the results of past days, too.")]


class FieldParameter(NamedTuple):
    """How the command line takes one field of an operation."""

    name: str
    type: Any
    default: Any = Unset.empty
    resource: Resource | None = None
    """The kind of thing that may be given by name instead of by id."""


ARGUMENTS = {
    "job_id": FieldParameter("job", AJob, resource=JOB),
    "endpoint_id": FieldParameter("endpoint", AnEndpoint, resource=ENDPOINT),
    "rule_id": FieldParameter("rule", ARule, resource=RULE),
    "run_id": FieldParameter("run", ARun),
    "user_id": FieldParameter("user", AUser),
    "agent_id": FieldParameter("agent", AnAgent),
    "schedule_id": FieldParameter("schedule", ASchedule),
    "turn_id": FieldParameter("turn", ATurn),
    "key_id": FieldParameter("key_id", AKey),
    "record_id": FieldParameter("record", ARecord),
    "secret_name": FieldParameter("name", ASecret),
    "calendar_id": FieldParameter("calendar", ACalendar),
    "condition_id": FieldParameter("condition", ACondition),
    "route_id": FieldParameter("route", ARoute),
    "channel_id": FieldParameter("channel", AChannel),
    "programme_id": FieldParameter("programme", AProgramme),
}
"""Fields in an operation's path."""
OPTIONS = {
    "endpoint_id": FieldParameter("endpoint", OfEndpoint, None, ENDPOINT),
    "reason": FieldParameter("reason", Reason, None),
    "job_id": FieldParameter("job", OfJob, None, JOB),
    "label": FieldParameter("label", Labels, ()),
    "failing": FieldParameter("failing", Failing, default=False),
    "hours": FieldParameter("hours", Hours, 24),
    "with_days": FieldParameter("with_days", WithDays, default=False),
    "programme": FieldParameter("programme", InProgramme, None),
}
"""Other fields, for commands that offer them."""


def present(**values: Any) -> dict[str, Any]:
    """The values that are not None."""
    return {name: value for name, value in values.items() if value is not None}
