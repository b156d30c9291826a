"""A caller is cached for a few seconds, and never longer than its key is valid."""

from datetime import timedelta

from cadenza.domain.access.key import ApiKey, Scope
from cadenza.operations.access.caller_cache import MOST_CALLERS, CallerCache, caller_of
from cadenza.testing.clock import NEW_YEAR

SECOND = timedelta(seconds=1)


def a_key(key_id: str = "abc", **fields: object) -> ApiKey:
    given = {"tenant_id": "north", "name": "key", "scopes": frozenset({Scope.READ}), "created_at": NEW_YEAR}
    return ApiKey(id=key_id, **(given | fields))  # type: ignore[arg-type]


def test_a_caller_is_known_for_five_seconds() -> None:
    cache, key = CallerCache(), a_key()
    assert cache.get("token", NEW_YEAR) is None
    cache.add_key("token", key, now=NEW_YEAR, version=cache.version)
    assert cache.get("token", NEW_YEAR + 4.9 * SECOND) == caller_of(key)
    assert cache.get("token", NEW_YEAR + 5 * SECOND) is None
    assert cache.get("Token", NEW_YEAR) is None


def test_a_key_that_ends_sooner_is_forgotten_sooner() -> None:
    cache = CallerCache()
    key = a_key(expires_at=NEW_YEAR + SECOND)
    cache.add_key("token", key, now=NEW_YEAR, version=cache.version)
    assert cache.get("token", NEW_YEAR + 0.9 * SECOND) == caller_of(key)
    assert cache.get("token", NEW_YEAR + SECOND) is None


def test_a_key_that_is_taken_back_is_forgotten_and_no_other() -> None:
    cache = CallerCache()
    for name in ("one", "two"):
        cache.add_key(f"token of {name}", a_key(name), now=NEW_YEAR, version=cache.version)
    cache.drop_key("one")
    assert cache.get("token of one", NEW_YEAR) is None
    assert cache.get("token of two", NEW_YEAR) is not None


def test_what_was_read_before_a_key_was_taken_back_is_not_remembered() -> None:
    cache = CallerCache()
    version = cache.version
    cache.drop_key("abc")
    cache.add_key("token", a_key(), now=NEW_YEAR, version=version)
    assert cache.get("token", NEW_YEAR) is None


def test_only_so_many_are_known() -> None:
    cache = CallerCache()
    for number in range(MOST_CALLERS + 1):
        cache.add_key(str(number), a_key(str(number)), now=NEW_YEAR, version=cache.version)
    assert cache.get("0", NEW_YEAR) is None
    assert cache.get(str(MOST_CALLERS), NEW_YEAR) is not None
