"""What a rule decides: examples, and properties checked against a second, simpler model."""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planning.rules.test_rule import a_rule

from cadenza.domain.planning.rules.incidents import (
    NO_INCIDENT,
    Evaluation,
    IncidentState,
    RuleDecision,
    decide,
    states_from_note,
    states_to_note,
)
from cadenza.domain.planning.rules.rule import (
    ClearStep,
    Escalation,
    PauseStep,
    ProposeIntervalStep,
    Rule,
    Step,
    WakeStep,
)
from cadenza.testing.clock import NEW_YEAR

THEN, RELAX, FIRST, SECOND = (
    ProposeIntervalStep(interval_ms=1_000),
    ClearStep(),
    WakeStep(endpoint="a"),
    PauseStep(for_ms=5),
)
STEPS = (Escalation(60_000, FIRST), Escalation(120_000, SECOND))


def at(second: float) -> datetime:
    return NEW_YEAR + timedelta(seconds=second)


def decide_at(
    rule: Rule, state: IncidentState, second: float, *, holds: bool | None, **fields: Any
) -> RuleDecision:
    no_effect, outranked = fields.pop("no_effect", ()), fields.pop("outranked", ())
    return decide(
        rule,
        state,
        Evaluation(holds, **fields),
        now=at(second),
        has_no_effect=lambda step: step in no_effect,
        is_outranked=lambda step: step in outranked,
    )


def test_what_is_outranked_is_called_once_and_fires_when_that_is_over() -> None:
    rule = a_rule(then=THEN, once_per_incident=True)
    first = decide_at(rule, NO_INCIDENT, 0, holds=True, outranked=(THEN,))
    assert (first.steps, first.state.fired, first.state.fired_at) == ((THEN,), False, None)
    second = decide_at(rule, first.state, 1, holds=True, outranked=(THEN,))
    assert (second.steps, second.state) == ((), first.state)
    third = decide_at(rule, second.state, 2, holds=True)
    assert (third.steps, third.state.fired, third.state.outranked) == ((THEN,), True, False)
    over = decide_at(rule, second.state, 2, holds=False)
    assert over.state == NO_INCIDENT


class RuleHistory:
    """A rule that is decided on again and again."""

    def __init__(self, **fields: Any) -> None:
        self.rule = a_rule(**({"then": THEN} | fields))
        self.state = NO_INCIDENT
        self.last = RuleDecision((), NO_INCIDENT)

    def decide_at(self, second: float, *, holds: bool | None, **fields: Any) -> list[Step]:
        self.last = decide_at(self.rule, self.state, second, holds=holds, **fields)
        self.state = self.last.state
        return list(self.last.steps)

    @property
    def look_again_s(self) -> float | None:
        moment = self.last.look_again_at
        return None if moment is None else (moment - NEW_YEAR).total_seconds()


def test_while_it_holds_it_fires_and_when_it_is_over_it_relaxes_once() -> None:
    history = RuleHistory(relax=RELAX)
    assert history.decide_at(0, holds=False) == []
    assert history.decide_at(1, holds=True) == [THEN]
    assert history.decide_at(2, holds=True) == [THEN]
    assert history.decide_at(3, holds=False) == [RELAX]
    assert history.decide_at(4, holds=False) == []


def test_what_is_so_already_is_not_done_again_and_does_not_count_as_fired() -> None:
    history = RuleHistory(relax=RELAX, cooldown_ms=60_000)
    assert history.decide_at(0, holds=True, no_effect=[THEN]) == []
    assert history.state == IncidentState(began_at=at(0))
    assert history.decide_at(1, holds=True) == [THEN]
    assert history.decide_at(2, holds=False, no_effect=[RELAX]) == []


def test_once_per_incident_is_once_in_each() -> None:
    history = RuleHistory(once_per_incident=True)
    assert [history.decide_at(second, holds=True) for second in range(3)] == [[THEN], [], []]
    assert history.decide_at(3, holds=False) == []
    assert history.decide_at(4, holds=True) == [THEN]


def test_a_cooldown_counts_from_the_last_firing_across_incidents() -> None:
    history = RuleHistory(cooldown_ms=10_000)
    assert history.decide_at(0, holds=True) == [THEN]
    assert history.decide_at(1, holds=False) == []
    assert history.decide_at(9.999, holds=True) == []
    assert history.look_again_s == 10
    assert history.decide_at(10, holds=True) == [THEN]
    assert history.look_again_s == 20


def test_an_escalation_fires_each_step_once_in_its_order() -> None:
    history = RuleHistory(once_per_incident=True, escalate=STEPS)
    assert history.decide_at(0, holds=True) == [THEN]
    assert history.look_again_s == 60
    assert history.decide_at(59.999, holds=True) == []
    assert history.decide_at(60, holds=True) == [FIRST]
    assert history.look_again_s == 120
    assert history.decide_at(61, holds=True) == []
    assert history.decide_at(200, holds=True) == [SECOND]
    assert history.decide_at(300, holds=True) == []
    assert history.look_again_s is None


def test_steps_that_were_missed_come_together_in_their_order() -> None:
    history = RuleHistory(escalate=STEPS)
    assert history.decide_at(0, holds=True) == [THEN]
    assert history.decide_at(500, holds=True) == [THEN, FIRST, SECOND]


def test_the_next_incident_escalates_anew_from_its_own_beginning() -> None:
    history = RuleHistory(once_per_incident=True, escalate=STEPS)
    history.decide_at(0, holds=True)
    assert history.decide_at(130, holds=True) == [FIRST, SECOND]
    history.decide_at(131, holds=False)
    assert history.decide_at(200, holds=True) == [THEN]
    assert history.decide_at(259, holds=True) == []
    assert history.decide_at(260, holds=True) == [FIRST]


def test_a_step_that_is_so_already_is_passed_over_for_good() -> None:
    history = RuleHistory(once_per_incident=True, escalate=STEPS)
    history.decide_at(0, holds=True)
    assert history.decide_at(60, holds=True, no_effect=[FIRST]) == []
    assert history.decide_at(61, holds=True) == []


def test_what_cannot_be_told_begins_nothing() -> None:
    history = RuleHistory(relax=RELAX, escalate=STEPS)
    assert history.decide_at(0, holds=None, trouble="why") == []
    assert history.state == IncidentState(trouble="why")
    assert history.decide_at(100, holds=None, trouble="why") == []
    assert history.look_again_s is None


def test_what_cannot_be_told_after_all_is_over_waits_for_nothing() -> None:
    history = RuleHistory(cooldown_ms=60_000)
    history.decide_at(0, holds=True)
    history.decide_at(1, holds=False)
    assert history.decide_at(2, holds=None, trouble="why") == []
    assert history.look_again_s is None


def test_what_cannot_be_told_is_no_recovery_and_yet_escalates() -> None:
    history = RuleHistory(relax=RELAX, escalate=STEPS)
    history.decide_at(0, holds=True)
    assert history.decide_at(30, holds=None, trouble="no answer") == []
    assert history.decide_at(60, holds=None, trouble="no answer") == [FIRST]
    assert history.decide_at(61, holds=True) == [THEN]
    assert history.state.trouble is None
    assert history.state.began_at == at(0)
    assert history.decide_at(62, holds=False) == [RELAX]


def test_without_a_way_to_relax_it_is_just_over() -> None:
    history = RuleHistory()
    history.decide_at(0, holds=True)
    assert history.decide_at(1, holds=False) == []
    assert history.state == IncidentState(fired_at=at(0))
    assert history.look_again_s is None


def test_who_has_nothing_to_wait_for_does_not_look_again() -> None:
    history = RuleHistory(once_per_incident=True, cooldown_ms=60_000)
    history.decide_at(0, holds=True)
    assert history.look_again_s is None
    history.decide_at(1, holds=False)
    history.decide_at(2, holds=True)
    assert history.look_again_s == 60


def test_fewer_steps_than_were_done_are_no_harm() -> None:
    history = RuleHistory(once_per_incident=True, escalate=STEPS)
    history.decide_at(0, holds=True)
    history.decide_at(500, holds=True)
    history.rule = a_rule(then=THEN, once_per_incident=True, escalate=STEPS[:1])
    assert history.decide_at(501, holds=True) == []
    assert history.state.escalated == 2


@pytest.mark.parametrize(
    "state",
    [
        NO_INCIDENT,
        IncidentState(at(1), at(2), fired=True, escalated=3, trouble="why"),
        IncidentState(fired_at=at(2.5)),
    ],
)
def test_a_state_comes_back_from_its_note(state: IncidentState) -> None:
    assert states_from_note(states_to_note({"rule": state, "other": NO_INCIDENT})) == {
        "rule": state,
        "other": NO_INCIDENT,
    }


def test_notes_of_another_time_are_read_as_far_as_they_are_known() -> None:
    assert states_from_note(None) == {}
    assert states_from_note({"rule": {"fired": True, "news": 1}}) == {"rule": IncidentState(fired=True)}


class GeneratedEvaluation(NamedTuple):
    """One generated evaluation."""

    after_s: int
    holds: bool | None
    has_no_effect: bool


EVALUATIONS = st.lists(
    st.builds(
        GeneratedEvaluation, st.integers(0, 90), st.sampled_from([True, True, False, None]), st.booleans()
    ),
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


class DecisionRecord(NamedTuple):
    """One decision of a generated sequence."""

    second: int
    holds: bool | None
    has_no_effect: bool
    steps: tuple[Step, ...]
    look_again_at: datetime | None


def decisions(rule: Rule, evaluations: list[GeneratedEvaluation]) -> list[DecisionRecord]:
    state, second, history = NO_INCIDENT, 0, []
    for evaluation in evaluations:
        second += evaluation.after_s
        decision = decide_at(
            rule, state, second, holds=evaluation.holds, no_effect=[THEN] if evaluation.has_no_effect else []
        )
        state = states_from_note(states_to_note({"r": decision.state}))["r"]
        history.append(
            DecisionRecord(
                second, evaluation.holds, evaluation.has_no_effect, decision.steps, decision.look_again_at
            )
        )
    return history


def incidents(history: list[DecisionRecord]) -> list[list[DecisionRecord]]:
    """The decisions from each incident's beginning to its end, the end included."""
    found: list[list[DecisionRecord]] = []
    lasting = False
    for one in history:
        if lasting:
            found[-1].append(one)
        elif one.holds:
            found.append([one])
        lasting = (lasting or bool(one.holds)) and one.holds is not False
    return found


@given(RULES, EVALUATIONS)
def test_firings_keep_their_cooldown_and_happen_only_while_it_holds(
    rule: Rule, evaluations: list[GeneratedEvaluation]
) -> None:
    history = decisions(rule, evaluations)
    fired = [one for one in history if THEN in one.steps]
    assert all(one.holds for one in fired)
    gaps = [later.second - earlier.second for earlier, later in pairwise(fired)]
    assert all(gap * 1_000 >= rule.cooldown_ms for gap in gaps)


@given(RULES, EVALUATIONS)
def test_a_firing_is_never_left_out(rule: Rule, evaluations: list[GeneratedEvaluation]) -> None:
    last: int | None = None
    history = decisions(rule, evaluations)
    for incident in incidents(history):
        fired = 0
        for one in incident:
            free = last is None or (one.second - last) * 1_000 >= rule.cooldown_ms
            expected = one.holds and not one.has_no_effect and free and not (rule.once_per_incident and fired)
            assert (THEN in one.steps) == bool(expected)
            if THEN in one.steps:
                fired, last = fired + 1, one.second


@given(RULES, EVALUATIONS)
def test_each_incident_escalates_once_in_order_and_on_time_and_relaxes_at_its_end(
    rule: Rule, evaluations: list[GeneratedEvaluation]
) -> None:
    history = decisions(rule, evaluations)
    for incident in incidents(history):
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
    inside = sum(len(incident) for incident in incidents(history))
    assert sum(bool(one.steps) for one in history) <= inside


@given(RULES, EVALUATIONS)
def test_the_next_decision_is_ahead_and_before_anything_is_missed(
    rule: Rule, evaluations: list[GeneratedEvaluation]
) -> None:
    history = decisions(rule, evaluations)
    for incident in incidents(history):
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
    assert all(one.look_again_at is None or one.look_again_at > at(one.second) for one in history)
