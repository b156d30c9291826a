"""The reasoning of the learning planner as text, with its numbers."""

from cadenza.domain.planning.learning.gains import Gains
from cadenza.domain.planning.learning.learner import Period
from cadenza.domain.planning.learning.proposal import Proposal
from cadenza.domain.planning.learning.state import EndpointModel, SharedModel

HOUR_S = 3_600.0
MINUTE_S = 60.0
LEAST_CHANGES = 0.5


def explanation(model: EndpointModel, shared: SharedModel, *, proposal: Proposal, period: Period) -> str:
    """Why this interval: the rate and its uncertainty, the signals, and the gains so far."""
    sentences = [
        _interval(proposal, period),
        _rate(model, proposal, period),
        _signals(model, proposal, period),
        _alternatives(proposal, period),
        _gains_text(model.gains, "Here", period),
        _gains_text(shared.gains, "In all", period),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def short_reason(proposal: Proposal, period: Period) -> str:
    """The reason of a hint, in one line."""
    per_hour = proposal.forecast.rate * HOUR_S / period.seconds
    return f"{per_hour:.2g} changes an hour are expected; a run must be worth {proposal.price:.2g}"


def duration_text(seconds: float) -> str:
    """A duration with its unit."""
    if seconds < MINUTE_S:
        return f"{seconds:.3g} s"
    if seconds < HOUR_S:
        return f"{seconds / MINUTE_S:.3g} min"
    return f"{seconds / HOUR_S:.3g} h"


def _interval(proposal: Proposal, period: Period) -> str:
    wait_s, baseline_s = proposal.periods * period.seconds, period.seconds
    runs = "would run" if period.shadow else "runs"
    return (
        f"It {runs} again after {duration_text(wait_s)}, where the baseline is {duration_text(baseline_s)}:"
        f" a change is then seen after {duration_text(wait_s / 2)} on average,"
        f" instead of {duration_text(baseline_s / 2)}."
    )


def _rate(model: EndpointModel, proposal: Proposal, period: Period) -> str:
    per_hour = HOUR_S / period.seconds
    estimate, expected = proposal.forecast.long_run, proposal.forecast
    what = "It recovers" if model.failing else "It changes"
    return (
        f"{what} {estimate.mean * per_hour:.2g} ± {estimate.deviation * per_hour:.1g} times an hour"
        f" in the long run, and {expected.rate * per_hour:.2g} times now;"
        f" the price of a run is {proposal.price:.2g}, that of a late change {proposal.late.cost:.2g},"
        f" and no interval exceeds {duration_text(proposal.bounds.most * period.seconds)}."
    )


def _signals(model: EndpointModel, proposal: Proposal, period: Period) -> str:
    if model.failing:
        return ""
    meaning = f"they mean {proposal.forecast.signal * HOUR_S / period.seconds:.2g} changes an hour"
    strengths = model.strengths(model.at_s or 0.0, period.seconds)
    named = {"figures": "stress", "itself": "its own changes", "siblings": "its siblings' changes"}
    job = proposal.forecast.job
    parts = [f"{named.get(signal, signal)} {strength:.0%}" for signal, strength in strengths.items()]
    means = meaning if proposal.forecast.signal else "they mean nothing more"
    signals = f"Signals: {', '.join(parts)}; {means}; the hour counts"
    if job is None:
        return f"{signals} {proposal.forecast.hour_ratio:.2g} times."
    per_hour, belief = job.rate * HOUR_S / period.seconds, job.comparison.weight
    return (
        f"{signals} {proposal.forecast.hour_ratio:.2g} times,"
        f" and its job, with {per_hour:.2g} changes an hour, {belief:.0%}."
    )


def _alternatives(proposal: Proposal, period: Period) -> str:
    """What the interval would be without each part of the forecast."""
    expected = proposal.forecast
    without = {
        "without signals": proposal.at_rate(expected._replace(signal=0.0).rate),
        "without its job": proposal.at_rate(expected._replace(job=None).rate),
        "without the hour": proposal.at_rate(expected._replace(hour_ratio=1.0).rate),
        "without the forecast's own record": proposal.at_rate(expected.uncorrected),
        "by the long run alone": proposal.at_rate(expected.long_run.mean),
        "without caution": proposal.without_caution(),
    }
    parts = [f"{duration_text(periods * period.seconds)} {word}" for word, periods in without.items()]
    return f"It would be {', '.join(parts)}."


def _gains_text(gains: Gains, where: str, period: Period) -> str:
    if gains.changes < LEAST_CHANGES:
        return ""
    seen = "would have been seen" if period.shadow else "were seen"
    otherwise = "were" if period.shadow else "would have been"
    share, baseline_s = gains.share_of_runs, gains.baseline_mean_delay_s
    return (
        f"{where}, {gains.changes:.0f} changes {seen} after {duration_text(gains.mean_delay_s)} on average"
        f" with {share:.2f} of the runs; without learning they {otherwise} after {duration_text(baseline_s)},"
        f" and after {duration_text(baseline_s / share)} with as many runs."
    )
