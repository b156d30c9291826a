"""Deleted endpoints: out of sight at once, and kept for whoever reads their history."""

from cadenza.domain.errors import NotFound
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.steer import Amended, Change


def archived(endpoint: Endpoint) -> Amended:
    """The endpoint out of sight: nothing of it is due any more, and what is in flight ends as it would."""
    return Amended(evolve(endpoint, archived=True))


def live(endpoint: Endpoint) -> Endpoint:
    """An endpoint that was not deleted; one that was is as little there as one that never was."""
    if endpoint.archived:
        raise NotFound(f"There is no endpoint {endpoint.id}.")
    return endpoint


def if_live(change: Change) -> Change:
    """A change that looks, in the same commit, whether the endpoint is still there."""
    return lambda endpoint: change(live(endpoint))
