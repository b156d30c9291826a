"""A plan as it is shown: when next, why, and what it was chosen from."""

from datetime import datetime
from typing import Self

from cadenza.domain.scheduling.explain import Explanation
from cadenza.domain.scheduling.plan import Source
from cadenza.operations.operation import View


class CandidateView(View):
    """A moment that a rule proposed."""

    at: datetime
    source: Source


class GovernorView(View):
    """What the governor would choose now."""

    next_run_at: datetime | None
    source: Source
    candidates: list[CandidateView]


class PlanView(View):
    """Why the next run is when it is."""

    endpoint_id: str
    now: datetime
    next_run_at: datetime | None
    source: Source
    """Which rule set the stored next run."""
    opens_at: datetime | None
    """When it may really run: not before a pause or a quota lets it; null if something must change first."""
    gate: str | None
    """What keeps it from running at all, in words."""
    governor: GovernorView
    answer: str
    """All of it in words."""

    @classmethod
    def of(cls, endpoint_id: str, why: Explanation) -> Self:
        """The view of an explanation."""
        candidates = [CandidateView(at=one.at, source=one.source) for one in why.plan.candidates]
        return cls(
            endpoint_id=endpoint_id,
            now=why.now,
            next_run_at=why.next_run_at,
            source=why.source,
            opens_at=why.opens_at,
            gate=why.gate,
            governor=GovernorView(
                next_run_at=why.plan.next_run_at, source=why.plan.source, candidates=candidates
            ),
            answer=" ".join(why.sentences),
        )
