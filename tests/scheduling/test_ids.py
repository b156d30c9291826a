"""Ids are unique, and grow with time."""

from threading import Thread

import pytest

from cadenza.adapters import ids
from cadenza.adapters.ids import TimeOrderedIds


def test_ids_sort_in_the_order_in_which_they_were_given() -> None:
    given = TimeOrderedIds()
    made = [given.new() for _ in range(20_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert {len(one) for one in made} == {32}


def test_more_ids_than_a_millisecond_has_places_still_differ_and_sort(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ids, "PLACES", 3)
    monkeypatch.setattr(ids, "time_ns", lambda: 5_000_000)
    given = TimeOrderedIds()
    made = [given.new() for _ in range(20)]
    assert made == sorted(set(made))


def test_a_clock_that_steps_back_does_not_bring_old_ids_back(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = iter([9_000_000, 3_000_000, 3_000_000, 9_000_000])
    monkeypatch.setattr(ids, "time_ns", lambda: next(moments))
    given = TimeOrderedIds()
    made = [given.new() for _ in range(4)]
    assert made == sorted(set(made))


def test_threads_never_get_the_same_id() -> None:
    given = TimeOrderedIds()
    made: list[list[str]] = [[] for _ in range(8)]

    def ask(mine: list[str]) -> None:
        mine.extend(given.new() for _ in range(5_000))

    threads = [Thread(target=ask, args=(mine,)) for mine in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({one for mine in made for one in mine}) == 40_000


def test_two_processes_do_not_share_their_part_by_chance() -> None:
    assert TimeOrderedIds().new()[16:] != TimeOrderedIds().new()[16:]
