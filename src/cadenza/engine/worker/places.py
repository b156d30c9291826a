"""The places of a worker, how many claims they stand for, and the tenants that share them."""

from collections import Counter
from collections.abc import Callable

from cadenza.domain.access.places import ClaimShares, claim_shares, places_for
from cadenza.domain.scheduling.abandon import is_suspect
from cadenza.engine.worker.held_claims import HeldClaims
from cadenza.engine.worker.run_tasks import Openings
from cadenza.engine.worker.worker_settings import WorkerSettings

LEAST, PARTS = 2, 8
"""At least so many suspects are tried together, and at most one of so many parts of the places."""
BATCHES_HELD = 2
"""So many claims of the largest size are held: while one is settled, the next is made and run."""


def few_places(concurrency: int) -> int:
    """How many suspects are tried together."""
    return max(LEAST, concurrency // PARTS)


class WorkerPlaces:
    """Knows how many claims may be held and begin, and which tenant may take how many of them.

    A place is for a run that has begun. More claims than that are held where the latest runs did not
    wait, so that one statement takes many of them; but while suspects are tried, and where there is one
    place, each claim needs one: what dies together with its process is suspected together.
    """

    def __init__(
        self,
        held: HeldClaims,
        settings: WorkerSettings,
        *,
        kept: Callable[[], int] = lambda: 0,
        careful: Callable[[], bool] = lambda: False,
    ) -> None:
        self._held = held
        self._concurrency, self._claim_limit = settings.concurrency, settings.claim_limit
        self._most_held = max(self._concurrency, BATCHES_HELD * self._claim_limit)
        self._kept = kept
        self._careful = careful
        self.waiting: frozenset[str] = frozenset()
        """The tenants that could take no more when the last claim was made."""

    @property
    def free(self) -> int:
        """How many claims more it may hold."""
        held, most = self._held, self._concurrency - self._kept()
        if self._concurrency == 1 or self._careful():
            return max(0, most - len(held))
        claims = held.pace.claims_for(max(0, most - held.launched)) - len(held.start_moments)
        return max(0, min(claims, self._most_held - len(held)))

    def openings(self) -> Openings:
        """The places that are free for claims to begin, and those that may take one now.

        Suspects are claimed within bounds of their own.
        """
        begun = len(self._held.tasks.begun)
        free = self._concurrency - begun
        if free < 1 or places_for(begun, free):  # It makes no difference whose they are.
            return Openings(max(0, free), _any)
        full = _full(Counter(claim.endpoint.tenant_id for claim in self._held.begun), free)

        def may_begin(run_id: str) -> bool:
            claim = self._held.get(run_id)
            return claim is None or claim.endpoint.tenant_id not in full or is_suspect(claim.endpoint)

        return Openings(free, may_begin)

    @property
    def free_part(self) -> float:
        """How much of it is free."""
        return min(1.0, self.free / self._concurrency)

    @property
    def limit(self) -> int:
        """How many may be claimed at once, if nothing else is claimed before these are settled."""
        return min(self._concurrency - len(self._held), self._claim_limit)

    def shares(self) -> ClaimShares:
        """How much may be claimed now; tenants are counted only where that makes a difference."""
        free, most = self.free, self._claim_limit
        if_one_has_all = claim_shares({"": self._held.unended}, free=free, most=most)
        if not if_one_has_all.bounds:
            return if_one_has_all
        return claim_shares(self._held_by_tenant(), free=free, most=most)

    def shares_of(self, free: int) -> ClaimShares:
        """How much may be claimed for so many free places, so that every claim can begin at once."""
        return claim_shares(self._held_by_tenant(), free=free, most=self._claim_limit)

    def full_tenants(self, *, for_suspects: bool = False) -> frozenset[str]:
        """The tenants that may take no more; for suspects they may take a few beyond their share."""
        free = self.free + (few_places(self._concurrency) if for_suspects else 0)
        if places_for(self._held.unended, free):
            return frozenset()
        return _full(self._held_by_tenant(), free)

    def may_go_on(self) -> bool:
        """May a tenant take a place again that had to wait?"""
        return bool(self.waiting) and not self.waiting <= self.full_tenants()

    def _held_by_tenant(self) -> Counter[str]:
        held = self._held.still_held(self._held.claims)
        return Counter(claim.endpoint.tenant_id for claim in held)


def _any(_: str) -> bool:
    return True


def _full(held: Counter[str], free: int) -> frozenset[str]:
    """The tenants that hold all they may."""
    return frozenset(tenant_id for tenant_id, count in held.items() if not places_for(count, free))
