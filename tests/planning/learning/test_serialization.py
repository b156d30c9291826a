"""What was learned is written down, and read back as it was."""

import json
from random import Random
from typing import Any

import pytest

from cadenza.adapters.planners.learning.cache import Hand, Memory
from cadenza.domain.planning.learning.learner import Beat, echoed, hinted, learned
from cadenza.domain.planning.learning.proposal import Bounds, decided
from cadenza.domain.planning.learning.serialization import known_of, pool_of, written
from cadenza.domain.planning.learning.state import Known, Look, Pool

BEAT = Beat(60.0)
LONGEST_NOTE = 8_000


def lived(looks: int = 300, seed: int = 1) -> tuple[Known, Pool]:
    """Of everything that can be known, something."""
    chance, known, pool, at_s = Random(seed), Known(), Pool(), 1.7e9
    for number in range(looks):
        at_s += chance.uniform(10, 200)
        changed, failing = chance.random() < 0.2, chance.random() < 0.1
        look = Look(at_s, changed, failing, {f"figure {place}": chance.gauss(5, 1) for place in range(25)})
        known, pool = learned(known, look, pool=pool, beat=BEAT)
        known, pool, _ = decided(known, pool, beat=BEAT, at_s=at_s, bounds=Bounds())
        if number % 7 == 0:
            known = hinted(echoed(known, at_s, beat_s=60.0), f"planner:{number % 40}", until_s=at_s + 600)
    return known, pool


def through_a_store(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def nearly(value: Any) -> Any:
    """Comparable where the last digits are not kept."""
    return through_a_store(written(value))


def test_what_is_known_survives_its_note() -> None:
    known, pool = lived()
    assert nearly(known_of(through_a_store(written(known)))) == nearly(known)
    assert nearly(pool_of(through_a_store(written(pool)))) == nearly(pool)


def test_the_same_is_decided_after_a_restart() -> None:
    known, pool = lived()
    again = known_of(through_a_store(written(known))), pool_of(through_a_store(written(pool)))
    look = Look(1.7e9 + 1e6, changed=True, figures={"figure 1": 9.0})
    beats = []
    for before, shared in ((known, pool), again):
        after, both = learned(before, look, pool=shared, beat=BEAT)
        beats.append(decided(after, both, beat=BEAT, at_s=look.at_s, bounds=Bounds()).proposal.beats)
    assert beats[0] == pytest.approx(beats[1], rel=1e-6)


def test_a_note_stays_small_however_much_was_seen() -> None:
    known, pool = lived(2_000)
    assert len(json.dumps(Memory(known=known, shown="x" * 32).note())) < LONGEST_NOTE
    assert len(json.dumps(written(pool))) < 4 * LONGEST_NOTE


def test_a_memory_survives_its_note() -> None:
    memory = Memory(lived()[0], 60.0, "shown", Hand(1_000, 1.7e9), None, 1.7e9)
    again = Memory.of(through_a_store(memory.note()))
    assert nearly(again.known) == nearly(memory.known)
    assert again[1:] == memory[1:]


@pytest.mark.parametrize(
    "note",
    [None, [], {}, "words", 7, [2, [], 60, None, None, None, 0], [1, [1, 2], 60.0, None, None, None, 0.0]],
    ids=["none", "empty", "object", "text", "number", "version", "shape"],
)
def test_a_note_that_cannot_be_read_is_as_good_as_none(note: Any) -> None:
    assert Memory.of(note) == Memory()
