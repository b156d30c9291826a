"""Replies and rates in dictionaries."""

from collections import defaultdict
from datetime import datetime
from threading import RLock

from cadenza.adapters.access.rate_limiter import oldest_kept
from cadenza.domain.agents.users import UserKey
from cadenza.ports.access import Reply, own_keys


class MemoryReplies:
    """Answers that are kept, and rates."""

    _lock: RLock

    def __init__(self) -> None:
        super().__init__()
        self._replies: dict[tuple[str, str], Reply] = {}
        self._drawn: dict[int, dict[str, int]] = {}

    async def begin_reply(
        self, tenant_id: str, key: str, reply: Reply, *, stale_before: datetime
    ) -> Reply | None:
        with self._lock:
            there = self._replies.get((tenant_id, key))
            if there is not None and (there.status is not None or there.began_at >= stale_before):
                return there
            self._replies[tenant_id, key] = reply
            return None

    async def end_reply(self, tenant_id: str, key: str, reply: Reply) -> None:
        with self._lock:
            self._replies[tenant_id, key] = reply

    async def drop_reply(self, tenant_id: str, key: str) -> None:
        with self._lock:
            self._replies.pop((tenant_id, key), None)

    async def forget_replies(self, before: datetime) -> int:
        with self._lock:
            old = [place for place, reply in self._replies.items() if reply.began_at < before]
            for place in old:
                del self._replies[place]
            return len(old)

    def _forget_replies_of(self, user: UserKey) -> None:
        theirs = own_keys(user.id)
        for place in list(self._replies):
            if place[0] == user.tenant_id and place[1].startswith(theirs):
                del self._replies[place]

    async def draw(self, subject: str, *, window: int, amount: int) -> int:
        with self._lock:
            if window not in self._drawn:
                self._drawn[window] = defaultdict(int)
                for old in [one for one in self._drawn if one < oldest_kept(window)]:
                    del self._drawn[old]
            self._drawn[window][subject] += amount
            return self._drawn[window][subject]
