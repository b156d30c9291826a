"""`cadenza jobs`."""

from dataclasses import replace
from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.surfaces.cli.argument_parsing import json_text
from cadenza.surfaces.cli.calendar_options import (
    NO_JOB_CALENDARS,
    JobCalendarOptions,
    job_calendar_change,
)
from cadenza.surfaces.cli.connection import AS_CONFIGURED, CliOptions
from cadenza.surfaces.cli.derived_commands import DerivedCommand
from cadenza.surfaces.cli.lookup import JOB, ask_about
from cadenza.surfaces.cli.operation_command import Commands, example
from cadenza.surfaces.cli.parameters import AJob, AtRank, Description, Id, Name, NewName, present

Active = Annotated[
    bool | None, Parameter(name="--active", negative="--inactive", help="Whether its endpoints run.")
]

Metadata = Annotated[
    str | None, Parameter(help='A JSON object of your own, such as \'{"team": "web"}\', or @FILE.')
]


class Jobs(Commands):
    """Named groups of endpoints that are switched together."""

    list_ = DerivedCommand("list_jobs")
    show = DerivedCommand("get_job", "checkout")
    pause = DerivedCommand("pause_job", "checkout")
    resume = DerivedCommand("resume_job", "checkout", about="Resume a job.")

    @example('--name Checkout --id checkout --description "All that sells"')
    def create(
        self,
        *,
        name: NewName,
        id: Id = None,
        description: Description = None,
        active: Active = None,
        metadata: Metadata = None,
        calendars: JobCalendarOptions = NO_JOB_CALENDARS,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Create a job."""
        given = present(name=name, id=id, description=description, active=active, metadata=_json(metadata))
        return self.ask(connection, "create_job", given | job_calendar_change(calendars))

    @example('checkout --name "The checkout"')
    def update(
        self,
        job: AJob,
        /,
        *,
        name: Name = None,
        description: Description = None,
        active: Active = None,
        metadata: Metadata = None,
        calendars: JobCalendarOptions = NO_JOB_CALENDARS,
        rank: AtRank = None,
        connection: CliOptions = AS_CONFIGURED,
    ) -> int:
        """Change a job. Options that are not given keep their value."""
        given = present(name=name, description=description, active=active, metadata=_json(metadata))
        given |= job_calendar_change(calendars)
        connection = replace(connection, rank=rank)
        return self.answer(
            connection, lambda client: ask_about(client, JOB, job, "update_job", **given), "update_job"
        )

    delete = DerivedCommand(
        "delete_job",
        "checkout",
        about="Delete a job with its endpoints. Run history is kept until its retention ends.",
    )


def _json(metadata: str | None) -> Any:
    return None if metadata is None else json_text("--metadata", metadata)
