"""Fingerprints of responses: two runs with different ones show a change."""

from hashlib import blake2b

import orjson

from cadenza.domain.planning.health import COUNTED
from cadenza.domain.planning.run_changes import compared_parts
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run


def was_executed(run: Run) -> bool:
    """Whether a run reached its target, whatever the outcome; skipped and cancelled ones did not."""
    return run.started_at is not None and run.status in COUNTED


def fingerprint(endpoint: Endpoint, run: Run) -> str:
    """A hash of a run's status and the compared parts of its response.

    Runs with the same status and the same compared parts have the same fingerprint.
    """
    compared = [run.status, compared_parts(endpoint.target, run.response, endpoint.planning.watch)]
    return blake2b(orjson.dumps(compared, option=orjson.OPT_SORT_KEYS), digest_size=16).hexdigest()
