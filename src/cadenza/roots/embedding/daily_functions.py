"""Daily programmes of a program: those that its functions serve, and the users whom it enrols."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar, overload

from cadenza.adapters.daily.callable_target import CallableTargetRunner
from cadenza.domain.daily.keys import DAILY, ProgrammeKey
from cadenza.domain.daily.programme import Programme
from cadenza.domain.daily.rules import enroll
from cadenza.domain.daily.user import Enrollment
from cadenza.domain.errors import Conflict, NotFound
from cadenza.domain.scheduling.target import CallableTarget
from cadenza.domain.validation import check_id
from cadenza.ports.daily import ProgrammeStore
from cadenza.ports.store import Store
from cadenza.roots.settings import DEFAULT_TENANT, Settings
from cadenza.roots.wiring.daily.programmes import DeclaredFunction

Function = TypeVar("Function", bound=Callable[..., Any])


class DailyFunctions:
    """The functions that a program declares, one for each programme at most."""

    def __init__(self) -> None:
        self.by_programme: dict[str, DeclaredFunction] = {}
        self.running = False
        """Whether the program runs, so that it is too late to declare any."""

    def declare(self, programme: str, function: Function) -> Function:
        """Serve a programme with a function; Conflict if it has one, or if the program runs."""
        check_id("programme", programme)
        if self.running:
            raise Conflict("This app runs already; declare its daily functions before it starts.")
        if programme in self.by_programme:
            raise Conflict(f"There is a function of the programme {programme} already; one serves all users.")
        name = getattr(function, "__name__", programme)
        self.by_programme[programme] = DeclaredFunction(name, CallableTargetRunner(function))
        return function

    async def store(self, programmes: ProgrammeStore, *, now: datetime) -> None:
        """Store the programmes that have functions, unless they are there; `daily` always is.

        They name their functions, so that no process beside this one runs the target of its settings.
        """
        for id_ in self.by_programme.keys() - {DAILY}:
            key, target = ProgrammeKey(DEFAULT_TENANT, id_), CallableTarget(self.by_programme[id_].name)
            try:
                await programmes.programme(key)
            except NotFound:
                await programmes.put_programme(
                    Programme(tenant_id=DEFAULT_TENANT, id=id_, target=target, created_at=now)
                )


class DeclaresDaily:
    """The part of an app that declares daily functions."""

    _daily: DailyFunctions

    @overload
    def daily(self, function: Function, /) -> Function: ...
    @overload
    def daily(self, /, *, programme: str = DAILY) -> Callable[[Function], Function]: ...
    def daily(
        self, function: Function | None = None, /, *, programme: str = DAILY
    ) -> Function | Callable[[Function], Function]:
        """Do this for each user of a programme once a day: a function of the user's id and the service date.

        Programmes are told apart by their names; one that does not exist yet is created when the app starts.
        """
        if function is None:
            return partial(self._daily.declare, programme)
        return self._daily.declare(programme, function)


async def enroll_user(store: Store, wanted: Enrollment, *, now: datetime, settings: Settings) -> None:
    """Enrol a user, with a window as long as the programme or the settings say."""
    programme = await store.programmes.programme(wanted.key.programme)
    minutes = programme.window_minutes or settings.window_minutes
    decide = partial(enroll, now=now, window=timedelta(minutes=minutes))
    await store.daily.enroll([wanted], decide)
