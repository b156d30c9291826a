"""API keys: found by id whatever their tenant, listed and removed only for their own tenant."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from cadenza.domain.access.key import ApiKey, Scope
from cadenza.domain.agents.users import User, UserKey
from cadenza.domain.errors import Conflict, NotFound
from cadenza.ports.access import StoredKey
from cadenza.ports.catalog import Page
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Contract

HOUR = timedelta(hours=1)
NOTICED_WITHIN_S = 3
DIGEST = bytes(range(256))


class KeyContract(Contract):
    """`add_key`, `stored_key`, `existing_keys`, `keys`, `remove_key` and `removals`."""

    @pytest.mark.parametrize(
        "key",
        [
            ApiKey(id="plain", tenant_id="north", name="plain", created_at=NEW_YEAR),
            ApiKey(
                id="full",
                tenant_id="north",
                name="build, äöü \N{SNOWMAN}",
                scopes=frozenset({Scope.READ, Scope.ADMIN}),
                created_at=NEW_YEAR.replace(microsecond=123_456),
                expires_at=NEW_YEAR + timedelta(days=90),
            ),
        ],
        ids=["least", "full"],
    )
    async def test_a_key_comes_back_as_it_was_with_its_digest(self, store: Store, key: ApiKey) -> None:
        await store.keys.add_key(StoredKey(key, DIGEST))
        assert await store.keys.stored_key(key.id) == StoredKey(key, DIGEST)
        assert await store.keys.keys("north") == [key]

    async def test_a_key_is_found_without_saying_whose_it_is(self, store: Store) -> None:
        for tenant_id in ("north", "south"):
            await store.keys.add_key(a_key(f"of-{tenant_id}", tenant_id))
        assert await store.keys.stored_key("of-south") == a_key("of-south", "south")

    async def test_an_id_that_nobody_has_finds_no_key(self, store: Store) -> None:
        assert await store.keys.stored_key("nothing") is None

    @pytest.mark.parametrize("tenant_id", ["north", "south"])
    async def test_an_id_of_a_key_is_taken_once_by_whomever(self, store: Store, tenant_id: str) -> None:
        await store.keys.add_key(a_key("key", "north"))
        with pytest.raises(Conflict):
            await store.keys.add_key(StoredKey(a_key("key", tenant_id).key, b"another"))
        assert await store.keys.stored_key("key") == a_key("key", "north")

    async def test_keys_are_listed_in_the_order_of_their_ids_page_by_page(self, store: Store) -> None:
        for key_id in ("d", "B", "a", "c"):
            await store.keys.add_key(a_key(key_id, "north"))
        await store.keys.add_key(a_key("b", "south"))
        assert [key.id for key in await store.keys.keys("north")] == ["B", "a", "c", "d"]
        assert [key.id for key in await store.keys.keys("north", Page(2))] == ["B", "a"]
        assert [key.id for key in await store.keys.keys("north", Page(2, after="a"))] == ["c", "d"]
        assert await store.keys.keys("nobody") == []

    async def test_a_removed_key_lets_nobody_in(self, store: Store) -> None:
        await store.keys.add_key(a_key("key", "north"))
        await store.keys.remove_key("north", "key")
        assert await store.keys.stored_key("key") is None
        assert await store.keys.keys("north") == []
        with pytest.raises(NotFound):
            await store.keys.remove_key("north", "key")

    async def test_of_many_keys_those_are_told_that_nobody_has_taken_back(self, store: Store) -> None:
        theirs = [
            a_key("a", "north"),
            a_key("b", "south"),
            of_user("c", ends=HOUR),
            a_key("not asked", "north"),
        ]
        await add_users(store)
        for kept in [*theirs, a_key("gone", "north")]:
            await store.keys.add_key(kept)
        await store.keys.remove_key("north", "gone")
        told = await store.keys.existing_keys(["c", "a", "gone", "b", "never", "a"])
        assert sorted(told, key=lambda key: key.id) == [kept.key for kept in theirs[:3]]
        assert await store.keys.existing_keys([]) == []

    async def test_a_key_that_was_removed_by_one_store_opens_nothing_in_another(
        self, peers: Sequence[Store]
    ) -> None:
        await add_users(peers[0])
        for stored in (a_key("key", "north"), of_user("token", ends=HOUR), a_key("kept", "north")):
            await peers[0].keys.add_key(stored)
        async with noticed_by(peers, "key"):
            await peers[0].keys.remove_key("north", "key")
        async with noticed_by(peers, "token"):
            await peers[0].users.remove_user(UserKey("north", "ada"))
        for peer in peers:
            assert await peer.keys.stored_key("kept") is not None

    async def test_the_tokens_that_were_made_with_a_key_end_with_it(self, peers: Sequence[Store]) -> None:
        await add_users(peers[0])
        made = [of_user("token", ends=HOUR, by="maker"), of_user("other", ends=HOUR, by="kept")]
        for stored in (a_key("maker", "north"), a_key("kept", "north"), *made):
            await peers[0].keys.add_key(stored)
        assert await peers[0].keys.stored_key("token") == made[0]
        async with noticed_by(peers, "token"):
            await peers[0].keys.remove_key("north", "maker")
        for peer in peers:
            assert await peer.keys.stored_key("other") == made[1]

    async def test_a_key_that_was_removed_makes_no_token(self, store: Store) -> None:
        await add_users(store)
        with pytest.raises(NotFound, match="Key gone not found"):
            await store.keys.add_key(of_user("token", ends=HOUR, by="gone"))
        assert await store.keys.stored_key("token") is None

    async def test_a_key_is_removed_by_its_own_tenant_alone(self, store: Store) -> None:
        await store.keys.add_key(a_key("key", "north"))
        with pytest.raises(NotFound):
            await store.keys.remove_key("south", "key")
        assert await store.keys.stored_key("key") is not None

    async def test_a_key_of_a_user_that_was_removed_is_refused(self, store: Store) -> None:
        with pytest.raises(NotFound, match="User ada not found"):
            await store.keys.add_key(of_user("token", ends=HOUR))
        assert await store.keys.stored_key("token") is None

    async def test_a_key_of_a_user_opens_and_is_not_listed(self, store: Store) -> None:
        await add_users(store)
        await store.keys.add_key(of_user("token", ends=HOUR))
        assert await store.keys.stored_key("token") == of_user("token", ends=HOUR)
        assert await store.keys.keys("north") == []

    async def test_a_new_key_of_a_user_takes_the_place_of_those_that_ran_out(self, store: Store) -> None:
        await add_users(store)
        await store.keys.add_key(of_user("old", ends=HOUR))
        await store.keys.add_key(of_user("live", ends=3 * HOUR))
        await store.keys.add_key(of_user("foreign", ends=HOUR, tenant_id="south"))
        await store.keys.add_key(a_key("tenants-own", "north"))
        await store.keys.add_key(of_user("new", made=HOUR, ends=2 * HOUR))
        left = {
            name
            for name in ("old", "live", "foreign", "tenants-own", "new")
            if await store.keys.stored_key(name)
        }
        assert left == {"live", "foreign", "tenants-own", "new"}


@asynccontextmanager
async def noticed_by(peers: Sequence[Store], key_id: str) -> AsyncIterator[None]:
    """All stores find a key before, and none finds it after it was removed within, and counts that."""
    for peer in peers:
        assert await peer.keys.stored_key(key_id) is not None
    before = [await peer.keys.removals() for peer in peers]
    yield
    async with asyncio.timeout(NOTICED_WITHIN_S):
        for peer, seen in zip(peers, before, strict=True):
            while await peer.keys.stored_key(key_id) is not None:  # noqa: ASYNC110 - A store tells nobody.
                await asyncio.sleep(0.001)
            while await peer.keys.removals() == seen:  # noqa: ASYNC110 - The same.
                await asyncio.sleep(0.001)


async def add_users(store: Store) -> None:
    """The users whom keys of users speak for."""
    for tenant_id in ("north", "south"):
        await store.users.put_user(User(tenant_id=tenant_id, id="ada"))


def a_key(key_id: str, tenant_id: str) -> StoredKey:
    return StoredKey(ApiKey(id=key_id, tenant_id=tenant_id, name=key_id, created_at=NEW_YEAR), DIGEST)


def of_user(
    key_id: str,
    *,
    ends: timedelta,
    made: timedelta = timedelta(),
    tenant_id: str = "north",
    by: str | None = None,
) -> StoredKey:
    """A key that speaks for one user."""
    at = NEW_YEAR + made
    key = ApiKey(
        id=key_id,
        tenant_id=tenant_id,
        name=key_id,
        created_at=at,
        expires_at=NEW_YEAR + ends,
        user_id="ada",
        made_by=by,
    )
    return StoredKey(key, DIGEST)
