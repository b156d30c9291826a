"""Limits of runs as a configuration: what a file wants of them, and what it changes."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from cadenza.domain.access.key import Scope
from cadenza.domain.access.run_limit import MOST_LIMITS, RunLimit
from cadenza.domain.errors import Fault, InvalidRequest, LimitReached, NotAllowed
from cadenza.operations.access.limits import ConfigLimit, note_limit
from cadenza.operations.config.changes import Action, Decision, Difference
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import part


def wanted_limits(context: RequestContext, entries: Sequence[ConfigLimit]) -> dict[str, RunLimit]:
    """The limits of a file by their keys; InvalidRequest with all faults and their paths."""
    faults: list[Fault] = []
    limits: list[RunLimit] = []
    now = context.dependencies.clock.now()
    for place, entry in enumerate(entries):
        given = {"tenant_id": context.tenant_id, "created_at": now, **entry.model_dump()}
        try:
            limits.append(part(f"limits.{place}", partial(RunLimit, **given)))
        except InvalidRequest as problem:
            faults += problem.faults
    faults += _repeated(limits)
    if faults:
        raise InvalidRequest(faults[0].sentence, faults[0].field, faults)
    return {limit.key: limit for limit in limits}


def _repeated(limits: Sequence[RunLimit]) -> Iterator[Fault]:
    counts = Counter(limit.key for limit in limits)
    for place, limit in enumerate(limits):
        if counts[limit.key] > 1:
            yield Fault(f"limits.{place}.name", f"This file has the limit {limit.key} more than once.")


async def limit_differences(
    context: RequestContext, entries: Sequence[ConfigLimit] | None, *, prune: bool
) -> list[Difference]:
    """What a file changes of the limits; nothing if it has no section of them.

    Those that it does not name stay, unless they are pruned.
    """
    if entries is None:
        return []
    wanted = wanted_limits(context, entries)
    before = {limit.key: limit for limit in await context.store.limits.limits(context.tenant_id)}
    found = [_difference(limit, before.get(key)) for key, limit in wanted.items()]
    differences = [one for one in found if one is not None]
    gone = [limit for key, limit in before.items() if prune and key not in wanted]
    differences += [Difference(Action.DELETE, "limit", limit.key, limit) for limit in gone]
    if differences and not context.caller.may(Scope.ADMIN):
        raise NotAllowed("Limits can only be changed with the scope admin; leave `limits` out.")
    if len(before | wanted) - len(gone) > MOST_LIMITS:
        raise LimitReached(f"A tenant may have at most {MOST_LIMITS} limits.")
    return differences


def _difference(limit: RunLimit, before: RunLimit | None) -> Difference | None:
    if before is None:
        return Difference(Action.CREATE, "limit", limit.key, None, limit)
    numbers = (limit.max_in_flight, limit.max_per_minute)
    if numbers == (before.max_in_flight, before.max_per_minute):
        return None
    return Difference(Action.UPDATE, "limit", limit.key, before, limit)


def with_limits(
    decision: Decision, entries: Sequence[ConfigLimit] | None, changed: list[Difference]
) -> Decision:
    """The decision with the differences of limits, and those that stay as they are counted."""
    named = sum(one.action is not Action.DELETE for one in changed)
    unchanged = decision.unchanged + len(entries or ()) - named
    return decision._replace(differences=[*changed, *decision.differences], unchanged=unchanged)


async def write_limits(context: RequestContext, differences: Iterable[Difference]) -> None:
    """Write what differs, in the commit of the caller."""
    for one in differences:
        if isinstance(one.after, RunLimit):
            note_limit(context, one.after, await context.store.limits.put_limit(one.after))
        elif isinstance(one.before, RunLimit):
            limit = one.before
            await context.store.limits.delete_limit(limit.tenant_id, limit.kind, limit.name)
            note_limit(context, None, limit)


def limits_of(limits: Iterable[RunLimit]) -> list[ConfigLimit]:
    """Limits as a file has them."""
    return [
        ConfigLimit.model_construct(
            kind=one.kind,
            name=one.name,
            max_in_flight=one.max_in_flight,
            max_per_minute=one.max_per_minute,
        )
        for one in limits
    ]
