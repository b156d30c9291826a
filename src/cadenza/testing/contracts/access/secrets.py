"""Secrets: kept sealed, told by name, revealed to their tenant alone."""

from base64 import b64encode
from datetime import datetime, timedelta

import pytest

from cadenza.adapters.access.secret_keys import ConfiguredKeys
from cadenza.adapters.access.stored_secrets import SecretCounts, StoredSecrets
from cadenza.domain.errors import InvalidRequest, NotFound, Unavailable
from cadenza.ports.catalog import Page
from cadenza.ports.secrets import SealedStore, SecretEntry, SecretKey
from cadenza.testing.clock import NEW_YEAR

OLD, NEW = (f"{name}:{b64encode(bytes([place] * 32)).decode()}" for place, name in enumerate(("old", "new")))
TOKEN = SecretKey("default", "TOKEN")
LATER = NEW_YEAR + timedelta(days=1, microseconds=1)
VALUE = 'p@ss "wörd" \N{SNOWMAN}\0'


class SecretContract:
    """All promises of a store of sealed secrets; a subclass gives the fixture `sealed`, empty."""

    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def secrets(self, sealed: SealedStore) -> StoredSecrets:
        return StoredSecrets(sealed, ConfiguredKeys(OLD), cached_s=0)

    async def test_what_was_put_is_revealed_as_it_was(self, secrets: StoredSecrets) -> None:
        await secrets.put(TOKEN, VALUE, now=NEW_YEAR)
        assert await secrets.reveal("default", "secret:TOKEN") == VALUE

    async def test_the_value_is_nowhere_in_the_store(
        self, secrets: StoredSecrets, sealed: SealedStore
    ) -> None:
        await secrets.put(TOKEN, "hunter2", now=NEW_YEAR)
        found = await sealed.find([TOKEN])
        assert found.keys() == {TOKEN}
        assert "hunter2" not in found[TOKEN]
        assert b64encode(b"hunter2").decode()[:9] not in found[TOKEN]

    async def test_putting_again_replaces_the_value_and_keeps_its_birthday(
        self, secrets: StoredSecrets
    ) -> None:
        await secrets.put(TOKEN, "first", now=NEW_YEAR)
        await secrets.put(TOKEN, "second", now=LATER)
        assert await secrets.reveal("default", "secret:TOKEN") == "second"
        assert await secrets.names("default") == [SecretEntry("TOKEN", NEW_YEAR, LATER)]

    async def test_a_secret_belongs_to_its_tenant(self, secrets: StoredSecrets) -> None:
        await secrets.put(TOKEN, "mine", now=NEW_YEAR)
        await secrets.put(SecretKey("stranger", "TOKEN"), "theirs", now=NEW_YEAR)
        assert await secrets.reveal("default", "secret:TOKEN") == "mine"
        assert await secrets.reveal("stranger", "secret:TOKEN") == "theirs"
        with pytest.raises(NotFound):
            await secrets.reveal("nobody", "secret:TOKEN")
        await secrets.delete(TOKEN)
        assert await secrets.reveal("stranger", "secret:TOKEN") == "theirs"

    async def test_what_was_deleted_is_not_there(self, secrets: StoredSecrets) -> None:
        await secrets.put(TOKEN, "value", now=NEW_YEAR)
        await secrets.delete(TOKEN)
        with pytest.raises(NotFound):
            await secrets.reveal("default", "secret:TOKEN")
        with pytest.raises(NotFound):
            await secrets.delete(TOKEN)
        assert await secrets.names("default") == []

    async def test_names_are_listed_page_by_page_in_their_order(self, secrets: StoredSecrets) -> None:
        for name in ("b", "a", "_", "Z", "c.d-e"):
            await secrets.put(SecretKey("default", name), "value", now=NEW_YEAR)
        await secrets.put(SecretKey("stranger", "aa"), "value", now=NEW_YEAR)
        assert names(await secrets.names("default")) == ["Z", "_", "a", "b", "c.d-e"]
        assert names(await secrets.names("default", Page(2))) == ["Z", "_"]
        assert names(await secrets.names("default", Page(2, after="_"))) == ["a", "b"]
        assert await secrets.names("nobody") == []

    async def test_many_are_found_in_one_go(self, sealed: SealedStore) -> None:
        keys = [SecretKey(tenant, name) for tenant in ("a", "b") for name in ("one", "two")]
        for key in keys[:3]:
            await sealed.put(key, "-".join(key), now=NEW_YEAR)
        assert await sealed.find(keys) == {key: "-".join(key) for key in keys[:3]}
        assert await sealed.find([]) == {}

    async def test_a_row_that_was_moved_stays_closed(
        self, secrets: StoredSecrets, sealed: SealedStore
    ) -> None:
        await secrets.put(TOKEN, "mine", now=NEW_YEAR)
        row = (await sealed.find([TOKEN]))[TOKEN]
        for elsewhere in (SecretKey("stranger", "TOKEN"), SecretKey("default", "OTHER")):
            await sealed.put(elsewhere, row, now=NEW_YEAR)
            with pytest.raises(Unavailable, match="moved from its place"):
                await secrets.reveal(elsewhere.tenant_id, f"secret:{elsewhere.name}")

    async def test_a_key_that_does_not_fit_is_said_so(
        self, secrets: StoredSecrets, sealed: SealedStore
    ) -> None:
        await secrets.put(TOKEN, "value", now=NEW_YEAR)
        other = StoredSecrets(sealed, ConfiguredKeys(NEW))
        with pytest.raises(Unavailable, match="sealed with the key 'old'"):
            await other.reveal("default", "secret:TOKEN")
        assert await other.count_by_key() == SecretCounts(closed=1)
        assert await other.reseal() == 0

    async def test_keys_are_changed_without_a_gap(self, secrets: StoredSecrets, sealed: SealedStore) -> None:
        for number in range(3):
            await secrets.put(SecretKey("default", f"T{number}"), f"value {number}", now=NEW_YEAR)
        both = StoredSecrets(sealed, ConfiguredKeys(NEW, OLD), cached_s=0)
        await both.put(SecretKey("stranger", "T"), "new", now=LATER)
        assert await both.count_by_key() == SecretCounts(current=1, stale=3)
        assert await both.reseal() == 3
        assert await both.reseal() == 0
        new = StoredSecrets(sealed, ConfiguredKeys(NEW), cached_s=0)
        assert await new.count_by_key() == SecretCounts(current=4)
        assert [await new.reveal("default", f"secret:T{number}") for number in range(3)] == [
            f"value {number}" for number in range(3)
        ]
        assert {entry.updated_at for entry in await new.names("default")} == {NEW_YEAR}

    async def test_sealing_anew_does_not_undo_what_was_put_meanwhile(self, sealed: SealedStore) -> None:
        await sealed.put(TOKEN, "newer", now=NEW_YEAR)
        assert not await sealed.replace(TOKEN, "sealed anew", instead_of="older")
        assert not await sealed.replace(SecretKey("default", "NONE"), "sealed anew", instead_of="older")
        assert await sealed.replace(TOKEN, "newer anew", instead_of="newer")
        assert await sealed.find([TOKEN]) == {TOKEN: "newer anew"}

    async def test_all_keys_are_walked_through_in_their_order(self, sealed: SealedStore) -> None:
        keys = [SecretKey(tenant, name) for tenant in ("a", "b") for name in ("x", "y", "z")]
        for key in reversed(keys):
            await sealed.put(key, "sealed", now=NEW_YEAR)
        assert await sealed.keys(limit=4) == keys[:4]
        assert await sealed.keys(limit=4, after=keys[3]) == keys[4:]

    @pytest.mark.parametrize("name", ["", "a b", "-a", "a" * 129, "ä", "a}", "a\n", "a/b", "a:b"])
    async def test_a_name_that_no_reference_could_name_is_refused(
        self, secrets: StoredSecrets, name: str
    ) -> None:
        with pytest.raises(InvalidRequest):
            await secrets.put(SecretKey("default", name), "value", now=NEW_YEAR)

    @pytest.mark.parametrize("value", ["", "a" * 65_537, "a\udcff"], ids=["empty", "long", "no text"])
    async def test_a_value_that_no_request_could_carry_is_refused(
        self, secrets: StoredSecrets, value: str
    ) -> None:
        with pytest.raises(InvalidRequest) as refused:
            await secrets.put(TOKEN, value, now=NEW_YEAR)
        assert not value or value not in str(refused.value)
        assert await secrets.names("default") == []

    async def test_moments_come_back_to_the_microsecond(self, secrets: StoredSecrets) -> None:
        now: datetime = NEW_YEAR.replace(microsecond=123_457)
        await secrets.put(TOKEN, "value", now=now)
        assert await secrets.names("default") == [SecretEntry("TOKEN", now, now)]


def names(entries: list[SecretEntry]) -> list[str]:
    return [entry.name for entry in entries]
