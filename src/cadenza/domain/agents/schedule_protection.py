"""Keeps agent schedules from every change that the operations for schedules do not make."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.target import PromptTarget

SCHEDULES_JOB = "agenda"
"""The id of the job that holds all agent schedules of a tenant."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def is_schedule(endpoint: Endpoint) -> bool:
    """Whether the endpoint is an agent schedule, which belongs to a user."""
    return isinstance(endpoint.target, PromptTarget)


def refuse_schedule(endpoint: Endpoint) -> None:
    """Conflict if the endpoint is an agent schedule."""
    if is_schedule(endpoint):
        raise Conflict(
            f"{endpoint.id} is a schedule of a user: change it with `update_schedule`, or delete it with"
            " `delete_schedule`."
        )


def refuse_schedules_job(job_id: str | None) -> None:
    """Conflict if the job is the one of the agent schedules."""
    if job_id == SCHEDULES_JOB:
        raise Conflict(
            f"The job {SCHEDULES_JOB} holds the schedules of users: only `create_schedule`,"
            " `update_schedule` and `delete_schedule` change it."
        )


def refuse_new_schedule(endpoint: Endpoint) -> None:
    """InvalidRequest for a prompt, Conflict for an endpoint in the job of the agent schedules."""
    if is_schedule(endpoint):
        raise InvalidRequest("A prompt is sent by a schedule: make it with `create_schedule`.", "target")
    refuse_schedules_job(endpoint.job_id)


def refuse_id_of_schedule(endpoint: Endpoint) -> None:
    """InvalidRequest if the id of a new endpoint is that of an agent schedule, also of a deleted one."""
    if is_schedule(endpoint):
        raise InvalidRequest(f"{endpoint.id} is the id of a schedule of a user: use another id.", "id")


def not_for_schedules(
    change: Callable[Concatenate[Endpoint, Arguments], Result],
) -> Callable[Concatenate[Endpoint, Arguments], Result]:
    """A change of an endpoint that refuses agent schedules."""

    @wraps(change)
    def refusing(endpoint: Endpoint, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        refuse_schedule(endpoint)
        return change(endpoint, *arguments, **named)

    return refusing


Change = TypeVar("Change", bound=Callable[..., Any])


def for_schedules(change: Change) -> Change:
    """A change that refuses agent schedules, without the refusal: for the operations for schedules alone."""
    return cast("Change", vars(change)["__wrapped__"])
