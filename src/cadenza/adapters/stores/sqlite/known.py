"""Endpoints as they were left here, so that they need not be read again."""

from collections.abc import Iterable
from threading import Lock

from cadenza.adapters.stores.sqlite.settle import Held
from cadenza.domain.scheduling.endpoint import Endpoint

MOST = 16_384


class Known:
    """What this store has settled, by the run that it settled last.

    A row that carries the same run and version is as it was left: another
    worker would have given it another run, and whoever steers changes the version.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._left: dict[str, tuple[int, Endpoint]] = {}
        self._lock = Lock()

    def keep(self, held: Iterable[Held]) -> None:
        """Remember what was committed; when it is too much, the oldest is forgotten."""
        with self._lock:
            self._left.update((claim.run_id, (claim.version, settled.endpoint)) for claim, settled in held)
            if len(self._left) > self._most:
                for run_id in list(self._left)[: -self._most]:
                    del self._left[run_id]

    def take(self, rows: Iterable[tuple[int, int, str]]) -> list[Endpoint | None]:
        """The endpoints of rows with place, version and last run; None for what must be read."""
        with self._lock:
            found = [(self._left.pop(run_id, None), version) for _, version, run_id in rows]
        return [left[1] if left is not None and left[0] == version else None for left, version in found]
