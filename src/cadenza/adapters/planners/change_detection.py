"""Fingerprints of responses: two runs with different ones show a change."""

from hashlib import blake2b

import orjson

from cadenza.domain.json_values import Json, follow_path
from cadenza.domain.planning.health import COUNTED
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.target import HttpTarget

COMPARED_PARTS = ("status", "body", "text", "sha256")
"""The parts of an HTTP response that are compared; headers and size change for no reason."""


def was_executed(run: Run) -> bool:
    """Whether a run reached its target, whatever the outcome; skipped and cancelled ones did not."""
    return run.started_at is not None and run.status in COUNTED


def fingerprint(endpoint: Endpoint, run: Run) -> str:
    """A hash of a run's status and the compared parts of its response.

    Runs with the same status and the same compared parts have the same fingerprint.
    """
    compared = [run.status, _compared(endpoint, run.response)]
    return blake2b(orjson.dumps(compared, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()


def _compared(endpoint: Endpoint, response: Json) -> Json:
    """The values that the owner watches or, if there are none, the whole response.

    A watched path that does not exist differs from one whose value is null.
    """
    watch, value = endpoint.planning.watch, response
    if isinstance(endpoint.target, HttpTarget) and isinstance(response, dict):
        value = response.get("body") if watch else {name: response.get(name) for name in COMPARED_PARTS}
    if not watch:
        return value
    found = {path: follow_path(path, value) for path in watch}
    return {path: [place.value] for path, place in found.items() if place is not None}
