"""What a rule does about what it sees: examples, and a story told by a second, simpler model."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planning.rules.test_rule import a_rule

from cadenza.domain.planning.rules.incidents import (
    UNTOUCHED,
    Decision,
    Memory,
    Sight,
    decide,
    recalled,
    written,
)
from cadenza.domain.planning.rules.rule import Clear, Escalation, Pace, Rest, Rule, Step, Wake
from cadenza.testing.clock import NEW_YEAR

THEN, RELAX, FIRST, SECOND = Pace(interval_ms=1_000), Clear(), Wake(endpoint="a"), Rest(for_ms=5)
STEPS = (Escalation(60_000, FIRST), Escalation(120_000, SECOND))


def at(second: float) -> datetime:
    return NEW_YEAR + timedelta(seconds=second)


def look(rule: Rule, memory: Memory, second: float, *, holds: bool | None, **seen: Any) -> Decision:
    done = seen.pop("done", ())
    return decide(rule, Sight(at(second), holds, **seen), memory, done=lambda step: step in done)


class Story:
    """A rule, looked at again and again."""

    def __init__(self, **fields: Any) -> None:
        self.rule = a_rule(**({"then": THEN} | fields))
        self.memory = UNTOUCHED
        self.last = Decision((), UNTOUCHED)

    def look(self, second: float, *, holds: bool | None, **seen: Any) -> list[Step]:
        self.last = look(self.rule, self.memory, second, holds=holds, **seen)
        self.memory = self.last.memory
        return list(self.last.steps)

    @property
    def next_look(self) -> float | None:
        moment = self.last.look_again_at
        return None if moment is None else (moment - NEW_YEAR).total_seconds()


def test_while_it_holds_it_fires_and_when_it_is_over_it_relaxes_once() -> None:
    story = Story(relax=RELAX)
    assert story.look(0, holds=False) == []
    assert story.look(1, holds=True) == [THEN]
    assert story.look(2, holds=True) == [THEN]
    assert story.look(3, holds=False) == [RELAX]
    assert story.look(4, holds=False) == []


def test_what_is_so_already_is_not_done_again_and_does_not_count_as_fired() -> None:
    story = Story(relax=RELAX, cooldown_ms=60_000)
    assert story.look(0, holds=True, done=[THEN]) == []
    assert story.memory == Memory(began_at=at(0))
    assert story.look(1, holds=True) == [THEN]
    assert story.look(2, holds=False, done=[RELAX]) == []


def test_once_per_incident_is_once_in_each() -> None:
    story = Story(once_per_incident=True)
    assert [story.look(second, holds=True) for second in range(3)] == [[THEN], [], []]
    assert story.look(3, holds=False) == []
    assert story.look(4, holds=True) == [THEN]


def test_a_cooldown_counts_from_the_last_firing_across_incidents() -> None:
    story = Story(cooldown_ms=10_000)
    assert story.look(0, holds=True) == [THEN]
    assert story.look(1, holds=False) == []
    assert story.look(9.999, holds=True) == []
    assert story.next_look == 10
    assert story.look(10, holds=True) == [THEN]
    assert story.next_look == 20


def test_an_escalation_fires_each_step_once_in_its_order() -> None:
    story = Story(once_per_incident=True, escalate=STEPS)
    assert story.look(0, holds=True) == [THEN]
    assert story.next_look == 60
    assert story.look(59.999, holds=True) == []
    assert story.look(60, holds=True) == [FIRST]
    assert story.next_look == 120
    assert story.look(61, holds=True) == []
    assert story.look(200, holds=True) == [SECOND]
    assert story.look(300, holds=True) == []
    assert story.next_look is None


def test_steps_that_were_missed_come_together_in_their_order() -> None:
    story = Story(escalate=STEPS)
    assert story.look(0, holds=True) == [THEN]
    assert story.look(500, holds=True) == [THEN, FIRST, SECOND]


def test_the_next_incident_escalates_anew_from_its_own_beginning() -> None:
    story = Story(once_per_incident=True, escalate=STEPS)
    story.look(0, holds=True)
    assert story.look(130, holds=True) == [FIRST, SECOND]
    story.look(131, holds=False)
    assert story.look(200, holds=True) == [THEN]
    assert story.look(259, holds=True) == []
    assert story.look(260, holds=True) == [FIRST]


def test_a_step_that_is_so_already_is_passed_over_for_good() -> None:
    story = Story(once_per_incident=True, escalate=STEPS)
    story.look(0, holds=True)
    assert story.look(60, holds=True, done=[FIRST]) == []
    assert story.look(61, holds=True) == []


def test_what_cannot_be_told_begins_nothing() -> None:
    story = Story(relax=RELAX, escalate=STEPS)
    assert story.look(0, holds=None, trouble="why") == []
    assert story.memory == Memory(trouble="why")
    assert story.look(100, holds=None, trouble="why") == []
    assert story.next_look is None


def test_what_cannot_be_told_after_all_is_over_waits_for_nothing() -> None:
    story = Story(cooldown_ms=60_000)
    story.look(0, holds=True)
    story.look(1, holds=False)
    assert story.look(2, holds=None, trouble="why") == []
    assert story.next_look is None


def test_what_cannot_be_told_is_no_recovery_and_yet_escalates() -> None:
    story = Story(relax=RELAX, escalate=STEPS)
    story.look(0, holds=True)
    assert story.look(30, holds=None, trouble="no answer") == []
    assert story.look(60, holds=None, trouble="no answer") == [FIRST]
    assert story.look(61, holds=True) == [THEN]
    assert story.memory.trouble is None
    assert story.memory.began_at == at(0)
    assert story.look(62, holds=False) == [RELAX]


def test_without_a_way_to_relax_it_is_just_over() -> None:
    story = Story()
    story.look(0, holds=True)
    assert story.look(1, holds=False) == []
    assert story.memory == Memory(fired_at=at(0))
    assert story.next_look is None


def test_who_has_nothing_to_wait_for_does_not_look_again() -> None:
    story = Story(once_per_incident=True, cooldown_ms=60_000)
    story.look(0, holds=True)
    assert story.next_look is None
    story.look(1, holds=False)
    story.look(2, holds=True)
    assert story.next_look == 60


def test_fewer_steps_than_were_done_are_no_harm() -> None:
    story = Story(once_per_incident=True, escalate=STEPS)
    story.look(0, holds=True)
    story.look(500, holds=True)
    story.rule = a_rule(then=THEN, once_per_incident=True, escalate=STEPS[:1])
    assert story.look(501, holds=True) == []
    assert story.memory.escalated == 2


@pytest.mark.parametrize(
    "memory",
    [
        UNTOUCHED,
        Memory(at(1), at(2), fired=True, escalated=3, trouble="why"),
        Memory(fired_at=at(2.5)),
    ],
)
def test_a_memory_comes_back_from_its_note(memory: Memory) -> None:
    assert recalled(written({"rule": memory, "other": UNTOUCHED})) == {"rule": memory, "other": UNTOUCHED}


def test_notes_of_another_time_are_read_as_far_as_they_are_known() -> None:
    assert recalled(None) == {}
    assert recalled({"rule": {"fired": True, "news": 1}}) == {"rule": Memory(fired=True)}


class Glance(NamedTuple):
    """One look in a made-up story."""

    after_s: int
    holds: bool | None
    done: bool


GLANCES = st.lists(
    st.builds(Glance, st.integers(0, 90), st.sampled_from([True, True, False, None]), st.booleans()),
    max_size=30,
)
RULES = st.builds(
    lambda cooldown, once, escalate: a_rule(
        then=THEN, relax=RELAX, cooldown_ms=cooldown * 1_000, once_per_incident=once, escalate=escalate
    ),
    st.sampled_from([0, 30, 120]),
    st.booleans(),
    st.sampled_from([(), STEPS]),
)


class Told(NamedTuple):
    """What happened in a story."""

    second: int
    holds: bool | None
    done: bool
    steps: tuple[Step, ...]
    look_again_at: datetime | None


def told(rule: Rule, glances: list[Glance]) -> list[Told]:
    memory, second, story = UNTOUCHED, 0, []
    for glance in glances:
        second += glance.after_s
        decision = look(rule, memory, second, holds=glance.holds, done=[THEN] if glance.done else [])
        memory = recalled(written({"r": decision.memory}))["r"]
        story.append(Told(second, glance.holds, glance.done, decision.steps, decision.look_again_at))
    return story


def incidents(story: list[Told]) -> list[list[Told]]:
    """What was seen from each beginning to its end, the end included."""
    found: list[list[Told]] = []
    lasting = False
    for one in story:
        if lasting:
            found[-1].append(one)
        elif one.holds:
            found.append([one])
        lasting = (lasting or bool(one.holds)) and one.holds is not False
    return found


@given(RULES, GLANCES)
def test_firings_keep_their_cooldown_and_happen_only_while_it_holds(
    rule: Rule, glances: list[Glance]
) -> None:
    story = told(rule, glances)
    fired = [one for one in story if THEN in one.steps]
    assert all(one.holds for one in fired)
    gaps = [later.second - earlier.second for earlier, later in pairwise(fired)]
    assert all(gap * 1_000 >= rule.cooldown_ms for gap in gaps)


@given(RULES, GLANCES)
def test_a_firing_is_never_left_out(rule: Rule, glances: list[Glance]) -> None:
    last: int | None = None
    story = told(rule, glances)
    for incident in incidents(story):
        fired = 0
        for one in incident:
            free = last is None or (one.second - last) * 1_000 >= rule.cooldown_ms
            expected = one.holds and not one.done and free and not (rule.once_per_incident and fired)
            assert (THEN in one.steps) == bool(expected)
            if THEN in one.steps:
                fired, last = fired + 1, one.second


@given(RULES, GLANCES)
def test_each_incident_escalates_once_in_order_and_on_time_and_relaxes_at_its_end(
    rule: Rule, glances: list[Glance]
) -> None:
    story = told(rule, glances)
    for incident in incidents(story):
        began = incident[0].second
        steps = [(one.second, step) for one in incident for step in one.steps if step in (FIRST, SECOND)]
        lasted = max((one.second for one in incident if one.holds is not False), default=began) - began
        due = [one.then for one in rule.escalate if one.after_ms <= lasted * 1_000]
        assert [step for _, step in steps] == due
        for second, step in steps:
            after = next(one.after_ms for one in rule.escalate if one.then is step)
            assert (second - began) * 1_000 >= after
        relaxed = [one for one in incident if RELAX in one.steps]
        assert relaxed == [one for one in incident if one.holds is False]
    inside = sum(len(incident) for incident in incidents(story))
    assert sum(bool(one.steps) for one in story) <= inside


@given(RULES, GLANCES)
def test_the_next_look_is_ahead_and_before_anything_is_missed(rule: Rule, glances: list[Glance]) -> None:
    story = told(rule, glances)
    for incident in incidents(story):
        began = incident[0].second
        for one in incident:
            ahead = [
                began + step.after_ms / 1_000
                for step in rule.escalate
                if began + step.after_ms / 1_000 > one.second and one.holds is not False
            ]
            if ahead:
                assert one.look_again_at is not None
                assert at(one.second) < one.look_again_at <= at(min(ahead))
    assert all(one.look_again_at is None or one.look_again_at > at(one.second) for one in story)
