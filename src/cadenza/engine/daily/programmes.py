"""The programmes as the daily runner knows them: read once a tick, with the installation's settings."""

from collections import Counter
from datetime import date, time
from typing import Protocol

from cadenza.domain.daily.keys import ProgrammeKey
from cadenza.domain.daily.programme import Programme
from cadenza.ports.daily import DailyTargetRunner, PendingDay, ProgrammeStore

PAGE = 5_000
"""How many programmes are read with one query; nearly always it is the only one."""
WHOLE = 100
"""The share of a programme that may use all slots."""


class ProgrammeDefaults(Protocol):
    """The settings of an installation, for programmes that have none of their own."""

    @property
    def window_minutes(self) -> int: ...
    @property
    def retry_delay_minutes(self) -> int: ...
    @property
    def job_timeout_ms(self) -> int: ...


class RunnerProgrammes:
    """The programmes of all tenants; one that nothing is stored about has the installation's settings."""

    def __init__(self, store: ProgrammeStore | None, defaults: ProgrammeDefaults) -> None:
        self._store = store
        self._defaults = defaults
        self._programmes: dict[ProgrammeKey, Programme] = {}
        self._unstored: dict[ProgrammeKey, Programme] = {}
        self._stored: list[Programme] = []
        self._served: dict[tuple[str, str, date, time], bool] = {}
        """What was answered since they were read."""
        self.serve_every_date = True
        """Whether no programme leaves out a date."""

    async def read(self) -> bool:
        """Read them anew; whether anything has changed."""
        stored = [] if self._store is None else await all_programmes(self._store)
        self._served = {}
        if stored == self._stored:
            return False
        self._stored = stored
        self._programmes = {one.key: self._with_settings(one) for one in stored}
        self._unstored = {}
        self.serve_every_date = all(one.serves_every_date for one in stored)
        return True

    def of(self, key: ProgrammeKey) -> Programme:
        """A programme, with the installation's settings where it has none of its own."""
        found = self._programmes.get(key) or self._unstored.get(key)
        if found is None:
            found = self._with_settings(Programme(tenant_id=key.tenant_id, id=key.id))
            self._unstored[key] = found
        return found

    def serves(self, day: PendingDay) -> bool:
        """Whether its programme owes this day a verdict."""
        key = (day.tenant_id, day.programme_id, day.service_date, day.due)
        if (found := self._served.get(key)) is None:
            found = self._served[key] = self.of(day.key.programme).serves(day.service_date, day.due)
        return found

    def _with_settings(self, programme: Programme) -> Programme:
        return programme.with_settings(
            window_minutes=self._defaults.window_minutes,
            retry_delay_minutes=self._defaults.retry_delay_minutes,
            job_timeout_ms=self._defaults.job_timeout_ms,
        )


async def all_programmes(store: ProgrammeStore) -> list[Programme]:
    """The stored programmes of all tenants."""
    found: list[Programme] = []
    while page := await store.all_programmes(limit=PAGE, after=found[-1].key if found else None):
        found += page
        if len(page) < PAGE:
            break
    return found


class OneTarget:
    """The same target for every programme."""

    def __init__(self, target_runner: DailyTargetRunner) -> None:
        self._target_runner = target_runner

    def runner_for(self, programme: Programme) -> DailyTargetRunner:  # noqa: ARG002 - It is the same for all.
        """The target."""
        return self._target_runner


class SlotShares:
    """How many slots each programme uses now."""

    def __init__(self, programmes: RunnerProgrammes, *, most: int) -> None:
        self._programmes = programmes
        self._used: Counter[ProgrammeKey] = Counter()
        self.most = most
        """The slots of all programmes together."""

    def has_room(self, key: ProgrammeKey) -> bool:
        """Whether the programme may use one more slot, if one is free."""
        programme = self._programmes.of(key)
        return programme.share_percent == WHOLE or self._used[key] < programme.slots(self.most)

    def take(self, key: ProgrammeKey) -> None:
        """A run has begun."""
        self._used[key] += 1

    def free(self, key: ProgrammeKey) -> None:
        """A run has ended."""
        self._used[key] -= 1
        if not self._used[key]:
            del self._used[key]
