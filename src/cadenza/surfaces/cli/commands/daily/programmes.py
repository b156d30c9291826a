"""`cadenza daily programmes …`: what is owed daily, and how."""

from typing import Annotated

from cyclopts import Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.calendars.definition import WEEKDAYS
from cadenza.domain.scheduling.calendars.short_forms import weekdays_in
from cadenza.surfaces.cli.argument_parsing import document, whole_number
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.parameters import AProgramme, File, Name, OnlyNew, present
from cadenza.surfaces.cli.written_words import Fills

ALL_DAYS = ", ".join(WEEKDAYS)
Target = Annotated[
    str | None,
    Parameter(help="A URL to POST to; any other target stands in a --file. The settings' one, if left out."),
]
Window = Annotated[
    int | None,
    Parameter(name="--window-minutes", converter=whole_number, help="How long a window lasts."),
    Fills("window_minutes"),
]
RetryDelay = Annotated[
    int | None,
    Parameter(name="--retry-delay-minutes", converter=whole_number, help="How long until the next try."),
    Fills("retry_delay_minutes"),
]
Timeout = Annotated[
    int | None,
    Parameter(name="--job-timeout-ms", converter=whole_number, help="How long a try may take."),
    Fills("job_timeout_ms"),
]
Share = Annotated[
    int | None,
    Parameter(
        name="--share-percent", converter=whole_number, help="Its share of a process's slots, at most."
    ),
    Fills("share_percent"),
]
Weekdays = Annotated[
    str | None, Parameter(help="Days of the week: mon,wed,fri or mon-fri; every day, if left out.")
]
OnlyDuring = Annotated[str | None, Parameter(help="A calendar: owed only on dates on which it is open.")]
NeverDuring = Annotated[str | None, Parameter(help="A calendar: never owed on dates on which it is open.")]
KeepsConversations = Annotated[
    bool | None,
    Parameter(
        name="--keep-conversations", negative="", help="Let cutoffs leave the conversations of users alone."
    ),
    Fills("resets_conversation"),
]


class DailyProgrammes(Commands):
    """Daily programmes: what is owed to users daily, and how."""

    inside = "programmes"

    list_ = DerivedCommand("list_programmes")
    show = DerivedCommand("get_programme", "daily")

    @example("evening --target https://example.com/evening --window-minutes 30 --weekdays mon-fri")
    def put(
        self,
        programme: AProgramme,
        /,
        *,
        name: Name = None,
        target: Target = None,
        window: Window = None,
        retry_delay: RetryDelay = None,
        job_timeout: Timeout = None,
        share: Share = None,
        weekdays: Weekdays = None,
        only_during: OnlyDuring = None,
        never_during: NeverDuring = None,
        keep_conversations: KeepsConversations = None,
        file: File = None,
        only_new: OnlyNew = False,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Create or replace a daily programme; what is left out is as usual."""
        base = {} if file is None else document("--file", file)
        given = base | present(
            name=name,
            target=target,
            window_minutes=window,
            retry_delay_minutes=retry_delay,
            job_timeout_ms=job_timeout,
            share_percent=share,
            weekdays=None if weekdays is None else _weekdays(weekdays),
            only_during=only_during,
            never_during=never_during,
            resets_conversation=False if keep_conversations else None,
        )
        given |= {"programme_id": programme, "only_new": only_new}
        return self.ask(connection, "put_programme", given)

    delete = DerivedCommand("delete_programme", "evening", options=("with_days",))


def _weekdays(written: str) -> list[str]:
    """Days of the week from single ones and spans of them, such as mon-wed,fri."""
    spans = [weekdays_in(part.strip()) for part in written.split(",")]
    if not all(spans):
        raise InvalidRequest(f"--weekdays must be days such as mon,wed or mon-fri: {ALL_DAYS}.", "--weekdays")
    return [day for span in spans for day in span]
