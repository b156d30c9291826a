"""What was learned is written down, and read back as it was."""

import json
from random import Random
from typing import Any

import pytest

from cadenza.adapters.planners.learning.cache import LearnedState
from cadenza.domain.planning.learning.learner import Period, learn, with_foreign_hint, with_sibling_change
from cadenza.domain.planning.learning.proposal import Bounds, decide
from cadenza.domain.planning.learning.serialization import (
    FIRST_FIELDS,
    model_from_note,
    shared_from_note,
    to_note,
)
from cadenza.domain.planning.learning.state import EndpointModel, Observation, SharedModel

PERIOD = Period(60.0)
LONGEST_NOTE = 8_000


def learned_models(observations: int = 300, seed: int = 1) -> tuple[EndpointModel, SharedModel]:
    """Of everything that can be known, something."""
    chance, model, shared, at_s = Random(seed), EndpointModel(), SharedModel(), 1.7e9
    for number in range(observations):
        at_s += chance.uniform(10, 200)
        changed, failing = chance.random() < 0.2, chance.random() < 0.1
        observation = Observation(
            at_s, changed, failing, {f"figure {place}": chance.gauss(5, 1) for place in range(25)}
        )
        model, shared = learn(model, observation, shared=shared, period=PERIOD)
        model, shared, _ = decide(model, shared, period=PERIOD, at_s=at_s, bounds=Bounds())
        if number % 7 == 0:
            model = with_foreign_hint(
                with_sibling_change(model, at_s, period_s=60.0), f"planner:{number % 40}", until_s=at_s + 600
            )
    return model, shared


def through_a_store(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def nearly(value: Any) -> Any:
    """Comparable where the last digits are not kept."""
    return through_a_store(to_note(value))


def test_what_is_known_survives_its_note() -> None:
    model, shared = learned_models()
    assert nearly(model_from_note(through_a_store(to_note(model)))) == nearly(model)
    assert nearly(shared_from_note(through_a_store(to_note(shared)))) == nearly(shared)


def test_a_shared_note_of_an_earlier_release_keeps_all_that_it_has() -> None:
    _, shared = learned_models()
    newest: Any = shared
    for fields in (FIRST_FIELDS, FIRST_FIELDS + 1):
        found = shared_from_note(through_a_store(to_note(newest[:fields])))
        assert nearly(found) == nearly([*newest[:fields], *SharedModel()[fields:]])


def test_the_same_is_decided_after_a_restart() -> None:
    model, shared = learned_models()
    again = (
        model_from_note(through_a_store(to_note(model))),
        shared_from_note(through_a_store(to_note(shared))),
    )
    observation = Observation(1.7e9 + 1e6, changed=True, metrics={"figure 1": 9.0})
    periods = []
    for model_before, shared_before in ((model, shared), again):
        after, shared_after = learn(model_before, observation, shared=shared_before, period=PERIOD)
        periods.append(
            decide(
                after, shared_after, period=PERIOD, at_s=observation.at_s, bounds=Bounds()
            ).proposal.periods
        )
    assert periods[0] == pytest.approx(periods[1], rel=1e-6)


def test_a_note_stays_small_however_much_was_seen() -> None:
    model, shared = learned_models(2_000)
    assert len(json.dumps(LearnedState(model=model, fingerprint="x" * 32).to_note())) < LONGEST_NOTE
    assert len(json.dumps(to_note(shared))) < 4 * LONGEST_NOTE


def test_a_memory_survives_its_note() -> None:
    state = LearnedState(learned_models()[0], 60.0, "shown", 1.7e9)
    again = LearnedState.from_note(through_a_store(state.to_note()))
    assert nearly(again.model) == nearly(state.model)
    assert again[1:] == state[1:]


@pytest.mark.parametrize(
    "note",
    [None, [], {}, "words", 7, [2, [], 60, None, None, None, 0], [1, [1, 2], 60.0, None, None, None, 0.0]],
    ids=["none", "empty", "object", "text", "number", "version", "shape"],
)
def test_a_note_that_cannot_be_read_is_as_good_as_none(note: Any) -> None:
    assert LearnedState.from_note(note) == LearnedState()
