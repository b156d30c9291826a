"""JSON models of daily programmes, and their conversion to the domain and back."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, assert_never, get_args

from pydantic import BeforeValidator, Field

from cadenza.domain.daily.programme import (
    EVERY_WEEKDAY,
    LONGEST_PROMPT,
    MINUTES_OF_DAY,
    MOST_PROGRAMMES,
    Programme,
    ProgrammePrompt,
    ProgrammeTarget,
)
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.calendars.calendar import Calendar, no_calendar
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget
from cadenza.operations.documented_models import Documented, Shape, part
from cadenza.operations.fields import Flag, Id, Name, Text, Whole
from cadenza.operations.scheduling.calendars.schemas import Weekday
from cadenza.operations.scheduling.schemas import HttpShape, as_shape

WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)
CALENDARS = ("only_during", "never_during")
NO_CALENDARS: Mapping[str, Calendar] = {}
LEAST_TIMEOUT_MS, MOST_TIMEOUT_MS = 100, 3_600_000


class DailyHttpShape(HttpShape):
    """One HTTP exchange for each user and day.

    `tenant_id`, `user_id`, `service_date` and `programme` are added to its JSON body. `${env:NAME}` and
    `${secret:NAME}` in headers and body stand for secrets.
    """

    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "POST"

    def to_domain(self) -> HttpTarget:
        """The target; InvalidRequest if nothing can be added to its body."""
        if self.body is not None and not isinstance(self.body, dict):
            raise InvalidRequest("The body of a daily job must be a JSON object.", "body")
        return super().to_domain()


class DailyPromptShape(Shape):
    """A message to an agent, in the conversation of each user."""

    kind: Literal["prompt"]
    agent_id: Id
    prompt: Annotated[Text, Field(min_length=1, max_length=LONGEST_PROMPT)]

    def to_domain(self) -> ProgrammePrompt:
        """The target."""
        return ProgrammePrompt(self.agent_id, self.prompt)


class DailyCallableShape(Shape):
    """A Python function that a program declares for the programme, with `@app.daily(programme=…)`."""

    kind: Literal["callable"]
    function: Name
    """Its name."""

    def to_domain(self) -> CallableTarget:
        """The target."""
        return CallableTarget(self.function)


def _whole_target(value: Any) -> Any:
    """An address alone is an HTTP target with everything else as usual."""
    return {"kind": "http", "url": value} if isinstance(value, str) else value


AnyDailyTarget = Annotated[
    DailyHttpShape | DailyPromptShape | DailyCallableShape, Field(discriminator="kind")
]
DailyTargetShape = Annotated[
    AnyDailyTarget, BeforeValidator(_whole_target, json_schema_input_type=AnyDailyTarget | str)
]


class ProgrammeFields(Documented):
    """What a daily programme consists of; what is null is as the settings of the installation have it."""

    name: Name | None = None
    """If left out, the id."""
    target: DailyTargetShape | None = None
    """What is done for each user; an address alone is a POST to it."""
    window_minutes: Annotated[int, Whole(1, MINUTES_OF_DAY)] | None = None
    """How long before a due time its window opens. A change holds from each user's next date on."""
    retry_delay_minutes: Annotated[int, Whole(1, MINUTES_OF_DAY)] | None = None
    """How long after a try the next one may be."""
    job_timeout_ms: Annotated[int, Whole(LEAST_TIMEOUT_MS, MOST_TIMEOUT_MS)] | None = None
    """How long a try may take."""
    share_percent: Annotated[int, Whole(1, 100)] = 100
    """The share of a process's slots that it may use at once; one slot is always allowed."""
    weekdays: Annotated[list[Weekday], Field(min_length=1, max_length=7)] = list(WEEKDAYS)
    """The days of the week on which it is owed, by the service date."""
    only_during: Id | None = None
    """The id of a calendar: dates are owed where it is open at the due time, on the clocks of its zone."""
    never_during: Id | None = None
    """The id of a calendar: dates are not owed where it is open then, such as on holidays."""
    resets_conversation: Flag = True
    """Whether a cutoff lets the user's conversations start afresh."""

    @property
    def calendar_ids(self) -> set[str]:
        """The calendars that it names."""
        return {id_ for id_ in (self.only_during, self.never_during) if id_ is not None}

    def to_domain(
        self, tenant_id: str, programme_id: str, calendars: Mapping[str, Calendar] = NO_CALENDARS
    ) -> Programme:
        """The programme with these calendars; InvalidRequest with the path of what is wrong."""
        given = {name: getattr(self, name) for name in OF_PROGRAMME}
        for name in CALENDARS:
            if given[name] is not None:
                given[name] = _named_calendar(name, given[name], calendars)
        given["target"] = None if self.target is None else part("target", self.target.to_domain)
        given["weekdays"] = tuple(WEEKDAYS.index(day) + 1 for day in self.weekdays)
        return Programme(tenant_id=tenant_id, id=programme_id, **given)


def _named_calendar(field: str, id_: str, calendars: Mapping[str, Calendar]) -> Calendar:
    if id_ not in calendars:
        raise InvalidRequest(no_calendar(id_), field)
    return calendars[id_]


OF_PROGRAMME = tuple(ProgrammeFields.model_fields)
"""The fields that its owner writes."""


class ConfigProgramme(Shape, ProgrammeFields):
    """A daily programme. What is left out is as usual."""

    id: Id

    @classmethod
    def of(cls, programme: Programme) -> Self:
        """The model of a programme."""
        return cls.model_construct(id=programme.id, **programme_fields(programme))


ConfigProgrammes = Annotated[list[ConfigProgramme], Field(max_length=MOST_PROGRAMMES + 1)]


def programme_fields(programme: Programme) -> dict[str, Any]:
    """The fields of a programme as its owner writes them."""
    fields = {name: getattr(programme, name) for name in OF_PROGRAMME}
    target = None if programme.target is None else target_shape(programme.target)
    fields |= {name: fields[name].id for name in CALENDARS if fields[name] is not None}
    return {**fields, "target": target, "weekdays": weekday_names(programme.weekdays)}


def weekday_names(weekdays: tuple[int, ...] = EVERY_WEEKDAY) -> list[Weekday]:
    """Days of the week by their names."""
    return [WEEKDAYS[day - 1] for day in weekdays]


def target_shape(target: ProgrammeTarget) -> DailyHttpShape | DailyPromptShape | DailyCallableShape:
    """The model of a target."""
    match target:
        case HttpTarget():
            return DailyHttpShape.model_construct(**dict(as_shape(target)))
        case ProgrammePrompt():
            return DailyPromptShape(kind="prompt", agent_id=target.agent_id, prompt=target.prompt)
        case CallableTarget():
            return DailyCallableShape(kind="callable", function=target.function)
        case _:
            assert_never(target)


def programme_definition(programme: Programme) -> dict[str, Json]:
    """A programme as the audit has it."""
    definition: dict[str, Json] = ConfigProgramme.of(programme).model_dump(mode="json", exclude={"id"})
    return definition
