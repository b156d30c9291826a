"""What a run shows of the world: the part of it whose change is a change."""

from hashlib import blake2b

import orjson

from cadenza.domain.json_path import follow
from cadenza.domain.planning.health import COUNTED
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.target import HttpTarget, Json

TELLING = ("status", "body", "text", "sha256")
"""Of an HTTP answer, what it says; its headers and its size change without a reason."""


def looked(run: Run) -> bool:
    """Did this run look at the world, whatever it found? One that was skipped or cancelled did not."""
    return run.started_at is not None and run.status in COUNTED


def shown(endpoint: Endpoint, run: Run) -> str:
    """How a run ended and what it saw, in short; two runs that saw the same show the same."""
    facts = [run.status, _seen(endpoint, run.response)]
    return blake2b(orjson.dumps(facts, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()


def _seen(endpoint: Endpoint, response: Json) -> Json:
    """What its owner watches or, if that is nothing in particular, all that the answer says."""
    watch, seen = endpoint.planning.watch, response
    if isinstance(endpoint.target, HttpTarget) and isinstance(response, dict):
        seen = response.get("body") if watch else {name: response.get(name) for name in TELLING}
    if not watch:
        return seen
    found = {path: follow(path, seen) for path in watch}
    return {path: [place.value] for path, place in found.items() if place is not None}
