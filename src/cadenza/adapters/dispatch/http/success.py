"""Whether an answer is what its owner calls a success."""

from cadenza.adapters.dispatch.http.content import Document
from cadenza.adapters.dispatch.http.failure import ExchangeFailed, Failure
from cadenza.domain.json_path import follow
from cadenza.domain.scheduling.target import HttpTarget, Json


def check_success(target: HttpTarget, *, status: int, document: Document | None) -> None:
    """Fail unless the status is one of those that count, and the path leads to what it should."""
    if not target.succeeds(status):
        raise ExchangeFailed(Failure.STATUS, f"answered {status}")
    if target.success_path is None:
        return
    if document is None:
        raise ExchangeFailed(Failure.CONTENT, "the answer is not JSON, or too long to be read whole")
    found = follow(target.success_path, document.value)
    if found is None:
        raise ExchangeFailed(Failure.CONTENT, f"the answer has nothing at {target.success_path}")
    if target.success_values and not any(same(found.value, value) for value in target.success_values):
        raise ExchangeFailed(Failure.CONTENT, f"the answer has another value at {target.success_path}")


def same(one: Json, other: Json) -> bool:
    """Equal as JSON: true is not 1, but 1.0 is."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return isinstance(one, bool) == isinstance(other, bool) and one == other
