"""Things by their ids, or by names that only one of them has."""

import re
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.domain.validation import quoted
from cadenza.surfaces.cli.connection import Asker

AN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
PAGE = 500
MOST_TOLD = 5


class Kind(NamedTuple):
    """How things of one kind are looked up."""

    word: str
    id_field: str
    get: str
    list: str


JOB = Kind("job", "job_id", "get_job", "list_jobs")
ENDPOINT = Kind("endpoint", "endpoint_id", "get_endpoint", "list_endpoints")
RULE = Kind("rule", "rule_id", "get_rule", "list_rules")


async def the(asker: Asker, kind: Kind, word: str) -> Any:
    """The one thing that a word means: first by id, then by name."""
    if AN_ID.fullmatch(word):
        try:
            return await asker.ask(kind.get, {kind.id_field: word})
        except NotFound:
            pass
    named = [thing async for thing in _all(asker, kind) if thing["name"] == word]
    if not named:
        raise NotFound(f"There is no {kind.word} {quoted(word)}.")
    if len(named) > 1:
        ids = ", ".join(thing["id"] for thing in named[:MOST_TOLD])
        more = ", …" if len(named) > MOST_TOLD else ""
        raise InvalidRequest(f"{len(named)} {kind.word}s are named {quoted(word)}: {ids}{more}; take an id.")
    return named[0]


async def job_id(asker: Asker, word: str) -> str:
    """The id of the job that a word means."""
    found: str = (await the(asker, JOB, word))["id"]
    return found


async def endpoint_id(asker: Asker, word: str) -> str:
    """The id of the endpoint that a word means."""
    found: str = (await the(asker, ENDPOINT, word))["id"]
    return found


async def rule_id(asker: Asker, word: str) -> str:
    """The id of the rule that a word means."""
    found: str = (await the(asker, RULE, word))["id"]
    return found


async def on_job(asker: Asker, operation: str, word: str, **given: Any) -> Any:
    """Ask something of the job that a word means."""
    return await asker.ask(operation, {"job_id": await job_id(asker, word), **given})


async def on_endpoint(asker: Asker, operation: str, word: str, **given: Any) -> Any:
    """Ask something of the endpoint that a word means."""
    return await asker.ask(operation, {"endpoint_id": await endpoint_id(asker, word), **given})


async def _all(asker: Asker, kind: Kind) -> AsyncIterator[Any]:
    given: dict[str, Any] = {"limit": PAGE}
    while True:
        page = await asker.ask(kind.list, given)
        for thing in page["items"]:
            yield thing
        if page["next_cursor"] is None:
            return
        given["cursor"] = page["next_cursor"]
