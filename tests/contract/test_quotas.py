"""Every quota keeps its contract."""

from datetime import timedelta

import pytest

from cadenza.adapters.access.quota import CountedQuota
from cadenza.adapters.null import NoQuota
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.ports.access import Quota
from cadenza.testing import FakeClock, FakeIds, FakeQuota
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts import QuotaContract
from cadenza.testing.contracts.access.quota import CLOSED


class TestNoQuota(QuotaContract):
    closes = False

    @pytest.fixture
    def quota(self) -> Quota:
        return NoQuota()


class TestFakeQuota(QuotaContract):
    @pytest.fixture
    def quota(self) -> Quota:
        fake = FakeQuota()
        fake.close(NEW_YEAR + timedelta(hours=1), tenant_id=CLOSED)
        return fake


class TestCountedQuota(QuotaContract):
    @pytest.fixture
    async def quota(self) -> Quota:
        store = MemoryStore(FakeIds())
        await store.tenants.put_tenant(Tenant(id=CLOSED, name=CLOSED, limits=Limits(runs_per_month=0)))
        return CountedQuota(store.tenants, FakeClock())
