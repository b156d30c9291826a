"""Who came in lately is known for a few seconds, and not a moment longer than their key lasts."""

from datetime import timedelta

from cadenza.domain.access.key import ApiKey, Scope
from cadenza.operations.access.caller_cache import MOST, CallerCache, caller_of
from cadenza.testing.clock import NEW_YEAR

SECOND = timedelta(seconds=1)


def a_key(key_id: str = "abc", **fields: object) -> ApiKey:
    given = {"tenant_id": "north", "name": "key", "scopes": frozenset({Scope.READ}), "created_at": NEW_YEAR}
    return ApiKey(id=key_id, **(given | fields))  # type: ignore[arg-type]


def test_a_caller_is_known_for_five_seconds() -> None:
    door, key = CallerCache(), a_key()
    assert door.known("token", NEW_YEAR) is None
    door.remember("token", key, now=NEW_YEAR, turn=door.turn)
    assert door.known("token", NEW_YEAR + 4.9 * SECOND) == caller_of(key)
    assert door.known("token", NEW_YEAR + 5 * SECOND) is None
    assert door.known("Token", NEW_YEAR) is None


def test_a_key_that_ends_sooner_is_forgotten_sooner() -> None:
    door = CallerCache()
    key = a_key(expires_at=NEW_YEAR + SECOND)
    door.remember("token", key, now=NEW_YEAR, turn=door.turn)
    assert door.known("token", NEW_YEAR + 0.9 * SECOND) == caller_of(key)
    assert door.known("token", NEW_YEAR + SECOND) is None


def test_a_key_that_is_taken_back_is_forgotten_and_no_other() -> None:
    door = CallerCache()
    for name in ("one", "two"):
        door.remember(f"token of {name}", a_key(name), now=NEW_YEAR, turn=door.turn)
    door.forget("one")
    assert door.known("token of one", NEW_YEAR) is None
    assert door.known("token of two", NEW_YEAR) is not None


def test_what_was_read_before_a_key_was_taken_back_is_not_remembered() -> None:
    door = CallerCache()
    turn = door.turn
    door.forget("abc")
    door.remember("token", a_key(), now=NEW_YEAR, turn=turn)
    assert door.known("token", NEW_YEAR) is None


def test_only_so_many_are_known() -> None:
    door = CallerCache()
    for number in range(MOST + 1):
        door.remember(str(number), a_key(str(number)), now=NEW_YEAR, turn=door.turn)
    assert door.known("0", NEW_YEAR) is None
    assert door.known(str(MOST), NEW_YEAR) is not None
