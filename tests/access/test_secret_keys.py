"""Keys come from the settings, or from a file that is made once and belongs to its owner."""

import asyncio
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cadenza.adapters.access.secret_encryption import SecretBox
from cadenza.adapters.access.secret_keys import ConfiguredKeys, KeyFile, NoKeys
from cadenza.adapters.access.stored_secrets import StoredSecrets
from cadenza.adapters.stores.memory.access.keys_tenants import MemorySealed
from cadenza.domain.errors import Unavailable
from cadenza.ports.secrets import SecretKey
from cadenza.testing.clock import NEW_YEAR

FEED_KEY = ("tenant", "name")
TOKEN = SecretKey("tenant", "TOKEN")
KEY, OTHER = (b64encode(bytes([number] * 32)).decode() for number in (1, 2))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cadenza.db.key"


def listed(folder: Path) -> dict[str, int]:
    """What is in a folder, and who may do what with it."""
    return {one.name: one.stat().st_mode & 0o777 for one in folder.iterdir()}


async def test_the_first_secret_makes_a_key_that_only_its_owner_reads(path: Path) -> None:
    secrets = StoredSecrets(MemorySealed(), KeyFile(path))
    assert listed(path.parent) == {}
    await secrets.put(TOKEN, "value", now=NEW_YEAR)
    assert listed(path.parent) == {path.name: 0o600}
    assert await secrets.reveal("tenant", "secret:TOKEN") == "value"


async def test_another_process_reads_the_same_key(path: Path) -> None:
    sealed = MemorySealed()
    await StoredSecrets(sealed, KeyFile(path)).put(TOKEN, "value", now=NEW_YEAR)
    assert await StoredSecrets(sealed, KeyFile(path)).reveal("tenant", "secret:TOKEN") == "value"


def test_of_several_that_make_it_at_once_one_wins(path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        boxes = list(threads.map(lambda _: KeyFile(path).sealing_box(first=True), range(8)))
    sealed = boxes[0].seal("text", place=FEED_KEY)
    assert [box.open(sealed, place=FEED_KEY) for box in boxes] == ["text"] * 8


async def test_a_lost_key_is_not_replaced_behind_the_back_of_what_it_sealed(path: Path) -> None:
    secrets = StoredSecrets(MemorySealed(), KeyFile(path))
    await secrets.put(TOKEN, "value", now=NEW_YEAR)
    await asyncio.to_thread(path.unlink)
    for attempt in (
        secrets.put(SecretKey("tenant", "SECOND"), "value", now=NEW_YEAR),
        secrets.reveal("tenant", "secret:TOKEN"),
    ):
        with pytest.raises(Unavailable, match="is gone: bring it back"):
            await attempt
    assert listed(path.parent) == {}


def test_a_changed_file_is_read_again(path: Path) -> None:
    keys = KeyFile(path)
    path.write_text(KEY)
    sealed = keys.opening_box().seal("text", place=FEED_KEY)
    path.write_text(f"{OTHER},\n{KEY}\n")
    assert keys.opening_box().is_stale(sealed)
    assert keys.opening_box().open(sealed, place=FEED_KEY) == "text"


def test_a_file_that_is_no_key_is_a_sentence(path: Path) -> None:
    path.mkdir()
    with pytest.raises(Unavailable, match="cannot be read"):
        KeyFile(path).opening_box()
    path.rmdir()
    for content in (b"", b"not a key", b"\xff\xfe"):
        path.write_bytes(content)
        with pytest.raises(Unavailable) as told:
            KeyFile(path).opening_box()
        assert "not a key" not in told.value.message


def test_a_file_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be made: No such file"):
        KeyFile(tmp_path / "nowhere" / "cadenza.db.key").sealing_box(first=True)


def test_a_file_that_others_can_read_is_noticed(path: Path) -> None:
    assert not KeyFile(path).is_open_to_others
    path.write_text(KEY)
    path.chmod(0o640)
    assert KeyFile(path).is_open_to_others
    path.chmod(0o600)
    assert not KeyFile(path).is_open_to_others


async def test_without_a_key_nothing_is_kept_and_nothing_opens() -> None:
    sealed = MemorySealed()
    secrets = StoredSecrets(sealed, NoKeys())
    with pytest.raises(Unavailable, match="set CADENZA_SECRET_KEY"):
        await secrets.put(TOKEN, "value", now=NEW_YEAR)
    assert await secrets.names("tenant") == []
    await StoredSecrets(sealed, ConfiguredKeys(KEY)).put(TOKEN, "value", now=NEW_YEAR)
    with pytest.raises(Unavailable, match="CADENZA_SECRET_KEY is not set"):
        await secrets.reveal("tenant", "secret:TOKEN")
    assert (await secrets.count_by_key()).closed == 1
    assert await secrets.reseal() == 0


def test_given_keys_seal_with_the_current_one() -> None:
    box = ConfiguredKeys(OTHER, KEY).sealing_box(first=False)
    sealed = box.seal("text", place=FEED_KEY)
    assert SecretBox.from_setting(OTHER).open(sealed, place=FEED_KEY) == "text"
