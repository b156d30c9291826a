"""How long something has been unavailable, and when that is reported."""

PERSISTS_S = 10
"""An outage persists when attempts have failed for so many seconds, with no success between them."""


class Outage:
    """The failures in a row of one part, reported once when they persist and once when they are over."""

    def __init__(self) -> None:
        self._since_s: float | None = None
        self._reported = False

    def failed(self, now_s: float) -> float | None:
        """An attempt failed: for how many seconds attempts have failed, if that is to be reported now."""
        if self._since_s is None:
            self._since_s = now_s
        lasted_s = now_s - self._since_s
        if self._reported or lasted_s < PERSISTS_S:
            return None
        self._reported = True
        return lasted_s

    def succeeded(self, now_s: float) -> float | None:
        """An attempt succeeded: how many seconds the outage lasted, if it was reported."""
        since_s, reported = self._since_s, self._reported
        self._since_s, self._reported = None, False
        return now_s - since_s if reported and since_s is not None else None
