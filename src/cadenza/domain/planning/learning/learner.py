"""Updates the models of an endpoint, and of all that share its budget, with one observation."""

from typing import NamedTuple

from cadenza.domain.planning.learning.change_signals import (
    SignalBin,
    decayed,
    signal_rates,
    updated_records,
)
from cadenza.domain.planning.learning.long_term_rate import GammaRate, changes_per_seen_one, evidence_of
from cadenza.domain.planning.learning.recent_rate import updated_rates
from cadenza.domain.planning.learning.state import EndpointModel, ForeignHint, Observation, SharedModel
from cadenza.domain.planning.learning.stress import (
    STRESSED,
    StressedScores,
    decayed_stress,
    levels_after,
    stress_after,
)

HALF_LIFE_S, HALF_LIFE_PERIODS = 2 * 86_400.0, 500.0
"""The half-life of evidence about the long run: the longer of the two."""
LONGEST_PERIODS = 1_000.0
LEAST_GAP = 1e-3


class Period(NamedTuple):
    """The time unit of an endpoint, its baseline interval, and its budget in it."""

    seconds: float
    allowance: float = 1.0
    """Runs per period."""
    shadow: bool = False
    """Its proposals are not followed, so they are charged instead of its runs."""


class Learned(NamedTuple):
    """Both models after a run, and how many changes it probably showed."""

    model: EndpointModel
    shared: SharedModel
    changes: float


def learn(
    model: EndpointModel, observation: Observation, *, shared: SharedModel, period: Period
) -> tuple[EndpointModel, SharedModel]:
    """Both models after an observation.

    1. The first observation only sets the starting point.
    2. While the endpoint is failing, the rate of its recovery is learned.
    3. Otherwise the rate of changes is: in the long run, recently, of its job, by hour, and by
       each signal.
    4. The metrics update its stress, and a change adds excitation.
    5. The run is charged to the price, and the gains are counted; not for a delayed run, which
       would have come at that moment with any schedule.
    """
    if model.at_s is None:
        return _first(model, observation, shared=shared, period=period)
    periods = min(max(observation.at_s - model.at_s, 0.0) / period.seconds, LONGEST_PERIODS)
    decay = 0.5 ** (periods / max(HALF_LIFE_S / period.seconds, HALF_LIFE_PERIODS))
    if model.failing:
        learned = _learn_recovery(model, observation, shared=shared, periods=periods, decay=decay)
    else:
        learned = _learn_changes(
            model, observation, shared=shared, periods=periods, decay=decay, period_s=period.seconds
        )
    after, stressed_scores = _update_signals(
        learned.model, observation, periods=periods, stressed_scores=learned.shared.stressed_scores
    )
    shared = learned.shared
    if stressed_scores is not shared.stressed_scores:
        shared = shared._replace(stressed_scores=stressed_scores)
    if observation.delayed:
        return after, shared
    if observation.changed:
        gap = model.proposed_periods if period.shadow else periods
        announced = model.stress < STRESSED <= after.stress
        caution = shared.caution.after_change(
            gap * period.allowance, count=learned.changes, announced=announced
        )
        shared = shared._replace(caution=caution)
    return _charge(after, observation, shared=shared, period=period, periods=periods)


def _charge(
    model: EndpointModel, observation: Observation, *, shared: SharedModel, period: Period, periods: float
) -> tuple[EndpointModel, SharedModel]:
    """In shadow mode, the runs that were proposed are charged instead of the actual one."""
    learned_gap = model.proposed_periods if period.shadow else max(periods, LEAST_GAP)
    baseline_gap = max(periods, LEAST_GAP) if period.shadow else 1.0
    allowance = period.allowance * shared.budget_share(observation.at_s)
    spent = periods / learned_gap if period.shadow else 1.0
    changed, period_s = observation.changed, period.seconds
    return model._replace(
        gains=model.gains.after_run(
            periods, learned_gap=learned_gap, baseline_gap=baseline_gap, period_s=period_s, changed=changed
        )
    ), shared._replace(
        run_price=shared.run_price.after_run(
            observation.at_s, periods, period_s=period_s, spent=spent, allowance=allowance
        ),
        gains=shared.gains.after_run(
            periods, learned_gap=learned_gap, baseline_gap=baseline_gap, period_s=period_s, changed=changed
        ),
    )


def with_sibling_change(model: EndpointModel, at_s: float, *, period_s: float) -> EndpointModel:
    """The model after a sibling has changed."""
    periods = max(at_s - (model.at_s or at_s), 0.0) / period_s
    excitation = min(model.sibling_excitation + 1 / max(decayed(1.0, periods), 1e-3), 1e3)
    return model._replace(sibling_excitation=excitation)


def with_foreign_hint(model: EndpointModel, source: str, *, until_s: float) -> EndpointModel:
    """The model after another planner or a person has written a hint."""
    return model._replace(foreign_hint=ForeignHint(source, until_s))


def _first(
    model: EndpointModel, observation: Observation, *, shared: SharedModel, period: Period
) -> tuple[EndpointModel, SharedModel]:
    levels = levels_after({}, observation.metrics, periods=1.0, stress=0.0)
    run_price = shared.run_price.after_run(
        observation.at_s, 1.0, period_s=period.seconds, spent=1.0, allowance=1.0
    )
    first = model._replace(at_s=observation.at_s, failing=observation.failing, levels=levels)
    return first, shared._replace(run_price=run_price)


def _learn_recovery(
    model: EndpointModel, observation: Observation, *, shared: SharedModel, periods: float, decay: float
) -> Learned:
    estimate = shared.recovery.gamma().posterior(model.recovery)
    changed = observation.changed
    recovery = model.recovery.plus(evidence_of(estimate, periods, changed=changed), decay=decay)
    prior = shared.recovery.updated(estimate, periods, changed=changed)
    return Learned(model._replace(recovery=recovery), shared._replace(recovery=prior), float(changed))


def _learn_changes(
    model: EndpointModel,
    observation: Observation,
    *,
    shared: SharedModel,
    periods: float,
    decay: float,
    period_s: float,
) -> Learned:
    at_s, changed = observation.at_s, observation.changed
    estimate = shared.long_run.gamma().posterior(model.long_run)
    strengths = model.strengths(at_s - periods * period_s / 2, period_s)
    population, recent_rate = shared.population, model.recent_rate.after_wait(periods)
    shares = population.shares
    alone = recent_rate.mean(shares, population.weights)
    job = max(alone, shared.job.mean(shares, at_s - periods * period_s / 2, period_s=period_s))
    signals = signal_rates(shared.signal_records, strengths, long_run=estimate.mean)
    recent, of_hour = shared.jobs.mixed(alone, job), shared.weekly_pattern.rate_ratio(at_s)
    hour_ratio = shared.hours.believed(of_hour)
    forecast = max(recent, signals.strongest)
    hours_periods = periods * hour_ratio
    if signals.strongest <= recent:
        recent_rate, population = updated_rates(
            recent_rate, population, periods=hours_periods, spent=periods, changed=changed
        )
    seen = changes = 0.0
    if changed:
        seen = changes_per_seen_one(shared.calibration.corrected(forecast * hour_ratio) * periods)
        changes = changes_per_seen_one(max(signals.strongest, estimate.mean) * periods)
    expected = estimate.mean * periods
    observed = SignalBin(changes, expected * hour_ratio, hours_periods)
    after = model._replace(
        recent_rate=recent_rate,
        long_run=model.long_run.plus(evidence_of(estimate, periods, changed=changed), decay=decay),
    )
    shared = shared._replace(
        population=population,
        long_run=shared.long_run.updated(estimate, periods, changed=changed),
        signal_records=updated_records(
            shared.signal_records, strengths, observed=observed, expected=signals.expected * hours_periods
        ),
        weekly_pattern=shared.weekly_pattern.updated(at_s, changes=changes, expected=expected),
        calibration=shared.calibration.after_run(forecast * hour_ratio, changes=seen, periods=periods),
        hours=shared.hours.after_run(forecast * periods, forecast * of_hour * periods, changed=changed),
        jobs=shared.jobs.after_run(
            max(alone, signals.strongest) * hours_periods,
            max(job, signals.strongest) * hours_periods,
            changed=changed,
        ),
        # What figures foretell says nothing of the job.
        job=shared.job
        if signals.figures > job
        else shared.job.after_run(shares, at_s, period_s=period_s, periods=hours_periods, changed=changed),
    )
    return Learned(after, shared, seen + _recovered_unseen(model, observation, shared, periods))


def _recovered_unseen(
    model: EndpointModel, observation: Observation, shared: SharedModel, periods: float
) -> float:
    """How many failures, for each one that was seen, began and ended within such a gap."""
    if not (observation.changed and observation.failing):
        return 0.0
    recovery = shared.recovery.gamma().posterior(model.recovery)
    return changes_per_seen_one(recovery.mean * periods) - 1


def _update_signals(
    model: EndpointModel, observation: Observation, *, periods: float, stressed_scores: StressedScores
) -> tuple[EndpointModel, StressedScores]:
    stress, stressed_scores = stress_after(
        decayed_stress(model.stress, periods),
        observation.metrics,
        levels=model.levels,
        stressed_scores=stressed_scores,
    )
    return model._replace(
        at_s=observation.at_s,
        failing=observation.failing,
        stress=stress,
        own_excitation=decayed(model.own_excitation, periods) + float(observation.changed),
        sibling_excitation=decayed(model.sibling_excitation, periods),
        levels=levels_after(model.levels, observation.metrics, periods=periods, stress=stress),
    ), stressed_scores


def rate_estimate(model: EndpointModel, shared: SharedModel) -> GammaRate:
    """The long-run rate of changes; while it fails, the rate of recovery."""
    if model.failing:
        return shared.recovery.gamma().posterior(model.recovery)
    return shared.long_run.gamma().posterior(model.long_run)
