"""Sessions: found by their digests, ended once, and forgotten when they have run out."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import NotFound
from cadenza.ports.access import Session, SessionKind
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.access.keys import a_key
from cadenza.testing.contracts.harness import Contract

HOUR = timedelta(hours=1)
DIGEST = bytes(range(32))


class SessionContract(Contract):
    """`open_session`, `session` and `end_session`."""

    @pytest.mark.parametrize(
        "kept",
        [
            Session(DIGEST, SessionKind.LINK, "north", frozenset(), NEW_YEAR, NEW_YEAR + HOUR),
            Session(
                DIGEST,
                SessionKind.SESSION,
                "north",
                frozenset({Scope.READ, Scope.ADMIN}),
                NEW_YEAR.replace(microsecond=123_456),
                NEW_YEAR + timedelta(days=14),
                "key",
            ),
        ],
        ids=["least", "full"],
    )
    async def test_a_session_comes_back_as_it_was(self, store: Store, kept: Session) -> None:
        if kept.key_id is not None:
            await store.keys.add_key(a_key(kept.key_id, "north"))
        await store.sessions.open_session(kept)
        assert await store.sessions.session(DIGEST) == kept
        assert await store.sessions.session(DIGEST[::-1]) is None

    async def test_a_session_belongs_to_its_key_and_ends_with_it(self, store: Store) -> None:
        opened = a_session(DIGEST)._replace(key_id="key")
        with pytest.raises(NotFound):
            await store.sessions.open_session(opened)
        await store.keys.add_key(a_key("key", "north"))
        await store.sessions.open_session(opened)
        await store.keys.remove_key("north", "key")
        assert await store.sessions.session(DIGEST) is None

    async def test_a_session_is_ended_once_and_whoever_ends_it_is_told_what_it_was(
        self, peers: Sequence[Store]
    ) -> None:
        await peers[0].sessions.open_session(a_session(DIGEST))
        told = await asyncio.gather(
            *(store.sessions.end_session(DIGEST) for store in peers for _ in range(3))
        )
        assert [one for one in told if one is not None] == [a_session(DIGEST)]
        assert await peers[0].sessions.session(DIGEST) is None

    async def test_a_new_session_takes_the_place_of_those_that_ran_out(self, store: Store) -> None:
        await store.sessions.open_session(a_session(b"old", hours=1))
        await store.sessions.open_session(a_session(b"live", hours=3))
        assert await store.sessions.session(b"old") is not None
        later = a_session(b"new", hours=5)._replace(created_at=NEW_YEAR + HOUR)
        await store.sessions.open_session(later)
        assert [await store.sessions.session(digest) for digest in (b"old", b"live", b"new")] == [
            None,
            a_session(b"live", hours=3),
            later,
        ]


def a_session(digest: bytes, hours: int = 1) -> Session:
    ends = NEW_YEAR + hours * HOUR
    return Session(digest, SessionKind.SESSION, "north", frozenset({Scope.READ}), NEW_YEAR, ends)
