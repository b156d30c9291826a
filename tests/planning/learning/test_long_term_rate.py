"""How often something changes in the long run."""

from math import exp, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cadenza.domain.planning.learning.long_term_rate import (
    PRIOR_PERIODS,
    Evidence,
    GammaRate,
    RatePrior,
    changes_per_seen_one,
    evidence_of,
)

SHAPES, SPANS = some.floats(0.3, 30.0), some.floats(1.0, 500.0)
GAPS = some.floats(0.05, 20.0)


def exactly(estimate: GammaRate, gap: float) -> tuple[float, float]:
    """Mean and variance of the posterior after a change within a gap, summed up on a fine grid."""
    top = (estimate.shape + 12 * estimate.shape**0.5 + 12) / estimate.periods
    rates = [(step + 0.5) * top / 20_000 for step in range(20_000)]
    weights = [
        rate ** (estimate.shape - 1) * exp(-estimate.periods * rate) * (1 - exp(-rate * gap))
        for rate in rates
    ]
    whole = sum(weights)
    mean = sum(rate * weight for rate, weight in zip(rates, weights, strict=True)) / whole
    square = sum(rate**2 * weight for rate, weight in zip(rates, weights, strict=True)) / whole
    return mean, square - mean**2


@pytest.mark.parametrize(("shape", "periods", "gap"), [(1.0, 10.0, 1.0), (0.5, 20.0, 5.0), (8.0, 40.0, 0.2)])
def test_a_change_moves_the_estimate_as_far_as_the_exact_posterior(
    shape: float, periods: float, gap: float
) -> None:
    before = GammaRate(shape, periods)
    posterior = before.posterior(evidence_of(before, gap, changed=True))
    mean, variance = exactly(before, gap)
    assert isclose(posterior.mean, mean, rel_tol=0.01)
    assert isclose(posterior.deviation**2, variance, rel_tol=0.03)


@given(SHAPES, SPANS, GAPS)
def test_periods_without_a_change_are_exposure_and_nothing_else(
    shape: float, periods: float, gap: float
) -> None:
    assert evidence_of(GammaRate(shape, periods), gap, changed=False) == Evidence(0.0, gap)


@given(SHAPES, SPANS, GAPS)
def test_a_change_never_lowers_the_rate_and_quiet_never_raises_it(
    shape: float, periods: float, gap: float
) -> None:
    before = GammaRate(shape, periods)
    assert before.posterior(evidence_of(before, gap, changed=True)).mean >= before.mean * (1 - 1e-9)
    assert before.posterior(evidence_of(before, gap, changed=False)).mean < before.mean


def test_evidence_fades_and_the_prior_comes_back() -> None:
    prior, seen = GammaRate(1.0, 100.0), Evidence(50.0, 100.0)
    for _ in range(20):
        seen = seen.plus(Evidence(), decay=0.5)
    assert isclose(prior.posterior(seen).mean, prior.mean, rel_tol=1e-2)


@given(some.floats(0.0, 50.0))
def test_at_least_one_change_hides_behind_one_that_is_seen(likely: float) -> None:
    assert changes_per_seen_one(likely) >= max(1.0, likely) - 1e-9
    assert changes_per_seen_one(likely) <= 1 + likely


def test_endpoints_that_are_alike_lend_each_other_a_firm_prior_and_unlike_ones_a_loose_one() -> None:
    def prior_of(rates: tuple[float, ...]) -> RatePrior:
        found = RatePrior.initial(0.05)
        for _ in range(2_000):
            for rate in rates:
                found = found.updated(GammaRate(100.0, 100.0 / rate), 1.0, changed=False)
        return found

    alike, unlike = prior_of((0.05, 0.05)), prior_of((0.001, 0.1))
    assert alike.gamma().shape > 5 * unlike.gamma().shape


def test_a_prior_is_sensible_from_the_first_look() -> None:
    gamma = RatePrior.initial(0.05).gamma()
    assert isclose(gamma.mean, 0.05)
    assert gamma.periods < PRIOR_PERIODS
