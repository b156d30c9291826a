"""Sessions in a dictionary."""

from cadenza.ports.access import Session


class MemorySessions:
    """Sessions by the digests of their secrets; no method awaits anything, so each is one commit."""

    def __init__(self) -> None:
        super().__init__()
        self._sessions: dict[bytes, Session] = {}

    async def open_session(self, session: Session) -> None:
        over = [one.digest for one in self._sessions.values() if one.expires_at <= session.created_at]
        for digest in over:
            del self._sessions[digest]
        self._sessions[session.digest] = session

    async def session(self, digest: bytes) -> Session | None:
        return self._sessions.get(digest)

    async def end_session(self, digest: bytes) -> Session | None:
        return self._sessions.pop(digest, None)
