"""What a quota promises: one answer for each request, in their order."""

from datetime import datetime

import pytest

from cadenza.ports.access import Quota, QuotaKind, QuotaRequest
from cadenza.testing.clock import NEW_YEAR

CLOSED, OPEN = "closed", "open"
RUN = QuotaKind.ENDPOINT


class QuotaContract:
    """A subclass gives the fixture `quota`; it is closed for runs of the tenant `closed`, and for no other.

    A quota that never closes sets `closes` to False.
    """

    closes = True

    @pytest.fixture
    def now(self) -> datetime:
        """The present moment, as the quota sees it."""
        return NEW_YEAR

    async def test_what_is_open_is_allowed(self, quota: Quota) -> None:
        (answer,) = await quota.check([QuotaRequest(RUN, OPEN)])
        assert (answer.allowed, answer.opens_at) == (True, None)

    async def test_nothing_asked_is_nothing_answered(self, quota: Quota) -> None:
        assert await quota.check([]) == []

    async def test_each_request_is_answered_in_its_place(self, quota: Quota) -> None:
        tenants = [OPEN, CLOSED, OPEN, "another", CLOSED]
        answers = await quota.check([QuotaRequest(RUN, tenant_id) for tenant_id in tenants])
        allowed = [tenant_id != CLOSED or not self.closes for tenant_id in tenants]
        assert [answer.allowed for answer in answers] == allowed

    async def test_what_is_closed_says_from_when_it_is_open(self, quota: Quota, now: datetime) -> None:
        (answer,) = await quota.check([QuotaRequest(RUN, CLOSED)])
        if self.closes:
            assert answer.opens_at is not None
            assert answer.opens_at > now
            assert answer.opens_at.utcoffset() is not None

    async def test_one_kind_does_not_close_another(self, quota: Quota) -> None:
        kinds = [RUN, QuotaKind.AI]
        answers = await quota.check([QuotaRequest(kind, CLOSED) for kind in kinds])
        assert [answer.allowed for answer in answers] == [not self.closes, True]

    async def test_it_stays_closed_when_it_is_asked_again(self, quota: Quota) -> None:
        answers = [(await quota.check([QuotaRequest(RUN, CLOSED)]))[0] for _ in range(3)]
        assert {answer.allowed for answer in answers} == {not self.closes}
