"""Finds jobs, endpoints and rules by id, or by a name that is unique."""

import re
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.domain.text_patterns import AN_ID
from cadenza.domain.validation import quoted
from cadenza.surfaces.cli.connection import OperationClient

PAGE = 500
MOST_NAMED = 5


class Resource(NamedTuple):
    """Something with an id and a name, and the operations that find it."""

    word: str
    id_field: str
    get: str
    list: str


JOB = Resource("job", "job_id", "get_job", "list_jobs")
ENDPOINT = Resource("endpoint", "endpoint_id", "get_endpoint", "list_endpoints")
RULE = Resource("rule", "rule_id", "get_rule", "list_rules")


async def find_one(client: OperationClient, resource: Resource, word: str) -> Any:
    """The thing with this id or, if there is none, with this name; InvalidRequest if several have it."""
    if re.fullmatch(AN_ID, word):
        try:
            return await client.ask(resource.get, {resource.id_field: word})
        except NotFound:
            pass
    named = [thing async for thing in _all(client, resource) if thing["name"] == word]
    if not named:
        raise NotFound(f"{resource.word.capitalize()} not found: {quoted(word)}.")
    if len(named) > 1:
        ids = ", ".join(thing["id"] for thing in named[:MOST_NAMED])
        more = ", …" if len(named) > MOST_NAMED else ""
        raise InvalidRequest(
            f"{len(named)} {resource.word}s are named {quoted(word)}: {ids}{more}; use an id."
        )
    return named[0]


async def find_id(client: OperationClient, resource: Resource, word: str) -> str:
    """The id of the thing with this id or name; a job may be there with its endpoints alone."""
    try:
        found: str = (await find_one(client, resource, word))["id"]
    except NotFound:
        if resource is not JOB or not await _has_endpoints(client, word):
            raise
        return word
    return found


async def _has_endpoints(client: OperationClient, job_id: str) -> bool:
    """Is there an endpoint of a job that only programs declare, and that has no record of its own?"""
    if not re.fullmatch(AN_ID, job_id):
        return False
    page = await client.ask("list_endpoints", {"job_id": job_id, "limit": 1})
    return bool(page["items"])


async def ask_about(
    client: OperationClient, resource: Resource, word: str, operation: str, **given: Any
) -> Any:
    """Ask an operation about the thing with this id or name."""
    return await client.ask(operation, {resource.id_field: await find_id(client, resource, word), **given})


async def job_filter(client: OperationClient, job: str | None) -> dict[str, str]:
    """The argument that limits a list to one job; empty for all jobs."""
    return {} if job is None else {"job_id": await find_id(client, JOB, job)}


async def _all(client: OperationClient, resource: Resource) -> AsyncIterator[Any]:
    given: dict[str, Any] = {"limit": PAGE}
    while True:
        page = await client.ask(resource.list, given)
        for thing in page["items"]:
            yield thing
        if page["next_cursor"] is None:
            return
        given["cursor"] = page["next_cursor"]
