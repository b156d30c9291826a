"""How often something changes now."""

from math import exp, isclose
from operator import mul
from random import Random

from hypothesis import given
from hypothesis import strategies as some

from cadenza.domain.planning.learning.recent_rate import (
    GRID_SIZE,
    MOST_LOG_ODDS,
    PERSISTENCE_PERIODS,
    JobRate,
    PopulationRates,
    RecentRate,
    updated_rates,
)

OBSERVATIONS = some.lists(some.tuples(some.floats(0.05, 10.0), some.booleans()), max_size=30)


def after(observations: list[tuple[float, bool]]) -> tuple[RecentRate, PopulationRates]:
    recent_rate, population = RecentRate(), PopulationRates()
    for periods, changed in observations:
        recent_rate, population = updated_rates(
            recent_rate.after_wait(periods), population, periods=periods, spent=periods, changed=changed
        )
    return recent_rate, population


def rate(recent_rate: RecentRate, population: PopulationRates) -> float:
    return recent_rate.mean(population.shares, population.weights)


def played(rates: list[list[float]], seed: int = 1) -> tuple[list[RecentRate], PopulationRates]:
    """One run a period of endpoints whose rates go through lists."""
    chance, rates_now, population = Random(seed), [RecentRate()] * len(rates), PopulationRates()
    for turn in range(len(rates[0])):
        for number, course in enumerate(rates):
            changed = chance.random() > exp(-course[turn])
            waited = rates_now[number].after_wait(1.0)
            rates_now[number], population = updated_rates(
                waited, population, periods=1.0, spent=1.0, changed=changed
            )
    return rates_now, population


@given(OBSERVATIONS)
def test_supports_stay_finite_and_shares_are_shares(observations: list[tuple[float, bool]]) -> None:
    recent_rate, population = after(observations)
    assert isclose(sum(population.shares), 1.0)
    assert isclose(sum(population.weights), 1.0)
    assert all(0 <= one < 1e12 for support in recent_rate.supports for one in support)


@given(OBSERVATIONS, some.floats(0.1, 5.0))
def test_a_change_raises_the_rate_and_quiet_lowers_it(
    observations: list[tuple[float, bool]], periods: float
) -> None:
    recent_rate, population = after(observations)
    found = rate(recent_rate, population)
    for changed in (True, False):
        moved, _ = updated_rates(recent_rate, population, periods=periods, spent=periods, changed=changed)
        assert (rate(moved, population) >= found * (1 - 1e-9)) == changed or isclose(
            rate(moved, population), found
        )


@given(OBSERVATIONS)
def test_without_looks_an_endpoint_becomes_any_other(observations: list[tuple[float, bool]]) -> None:
    recent_rate, population = after(observations)
    assert isclose(
        rate(recent_rate.after_wait(1e6), population), rate(RecentRate(), population), rel_tol=1e-6
    )


def test_a_staying_falls_behind_no_further_than_it_can_come_back_from() -> None:
    slow, fast = ((1.0, *[0.0] * (GRID_SIZE - 1)), (*[0.0] * (GRID_SIZE - 1), 1.0))
    population, recent_rate = PopulationRates(), RecentRate((slow, fast, fast))
    for _ in range(100):
        _, population = updated_rates(recent_rate, population, periods=1.0, spent=1.0, changed=True)
    assert population.evidence == (-MOST_LOG_ODDS, 0.0, 0.0)
    _, closer = updated_rates(
        RecentRate((fast, slow, slow)), population, periods=1.0, spent=1.0, changed=True
    )
    assert closer.evidence[0] > -MOST_LOG_ODDS


def test_rates_are_found_and_told_apart() -> None:
    rates_now, population = played([[0.2] * 600, [0.02] * 600])
    busy, calm = (rate(recent_rate, population) for recent_rate in rates_now)
    assert 0.13 < busy < 0.3
    assert 0.008 < calm < 0.04


def test_how_long_a_rate_lasts_is_learned() -> None:
    steady = played([[0.01] * 800, [0.5] * 800, [0.05] * 800])[1]
    fickle = played([([0.5] * 40 + [0.002] * 40) * 10, ([0.002] * 40 + [0.5] * 40) * 10])[1]
    expected = [sum(map(mul, population.weights, PERSISTENCE_PERIODS)) for population in (steady, fickle)]
    assert expected[0] > 1_500
    assert expected[1] < 100


SHARES = PopulationRates().shares


def job_rate(job: JobRate, at_s: float = 0.0) -> float:
    return job.mean(SHARES, at_s, period_s=60.0)


def a_job(observations: list[tuple[float, bool]]) -> JobRate:
    job, at_s = JobRate(), 0.0
    for periods, changed in observations:
        at_s += periods * 10
        job = job.after_run(SHARES, at_s, period_s=60.0, periods=periods, changed=changed)
    return job


@given(OBSERVATIONS, some.floats(0.1, 5.0))
def test_a_change_raises_the_rate_of_the_job_and_quiet_lowers_it(
    observations: list[tuple[float, bool]], periods: float
) -> None:
    job = a_job(observations)
    before = job_rate(job, job.at_s)
    for changed in (True, False):
        after = job.after_run(SHARES, job.at_s, period_s=60.0, periods=periods, changed=changed)
        found = job_rate(after, after.at_s)
        assert (found >= before * (1 - 1e-3)) if changed else (found <= before * (1 + 1e-3))


@given(OBSERVATIONS, some.floats(0.0, 1e5))
def test_without_runs_a_job_becomes_any_other(observations: list[tuple[float, bool]], seconds: float) -> None:
    job, usual = a_job(observations), job_rate(JobRate())
    now, later = job_rate(job, job.at_s), job_rate(job, job.at_s + seconds)
    assert min(now, usual) * (1 - 1e-9) <= later <= max(now, usual) * (1 + 1e-9)
    assert isclose(job_rate(job, job.at_s + 1e9), usual, rel_tol=1e-6)


@given(OBSERVATIONS, some.floats(0.0, 100.0))
def test_a_rate_is_forecast_ahead_as_if_the_time_had_passed(
    observations: list[tuple[float, bool]], ahead: float
) -> None:
    recent_rate, population = after(observations)
    shares, weights = population.shares, population.weights
    waited = recent_rate.after_wait(ahead).mean(shares, weights)
    assert isclose(recent_rate.mean(shares, weights, ahead=ahead), waited, rel_tol=1e-6)
