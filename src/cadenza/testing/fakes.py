"""A dispatcher that does what a test says."""

from collections.abc import Awaitable, Callable

from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus

Behaviour = Callable[[Claim], Awaitable[Outcome] | Outcome]


class FakeDispatcher:
    """Succeeds, unless an endpoint's name was given another behaviour; remembers what it ran."""

    def __init__(self, *, duration_ms: int = 0) -> None:
        self.executed: list[Claim] = []
        self._success = Outcome(RunStatus.SUCCESS, duration_ms)
        self._behaviours: dict[str, Behaviour] = {}

    def on(self, name: str, behaviour: Behaviour) -> None:
        """From now on, endpoints of this name behave like this."""
        self._behaviours[name] = behaviour

    def fails(self, name: str, error: str = "it failed") -> None:
        """From now on, endpoints of this name fail."""
        self.on(name, lambda _: Outcome(RunStatus.FAILURE, error=error))

    def succeeds(self, name: str) -> None:
        """From now on, endpoints of this name succeed again."""
        self._behaviours.pop(name, None)

    async def execute(self, claim: Claim) -> Outcome:
        """Do as told."""
        self.executed.append(claim)
        behaviour = self._behaviours.get(claim.endpoint.name)
        if behaviour is None:
            return self._success
        outcome = behaviour(claim)
        return await outcome if isinstance(outcome, Awaitable) else outcome

    def names(self) -> list[str]:
        """The names of what ran, in order."""
        return [claim.endpoint.name for claim in self.executed]
