"""What the learning planner thinks, in numbers."""

from cadenza.domain.planning.learning.gains import Tally
from cadenza.domain.planning.learning.learner import Beat
from cadenza.domain.planning.learning.proposal import Proposal
from cadenza.domain.planning.learning.state import Known, Pool

HOUR_S = 3_600.0
MINUTE_S = 60.0
LIKELY = 0.5


def told(known: Known, pool: Pool, *, proposal: Proposal, beat: Beat) -> str:
    """Why this interval: the rate, its uncertainty, what else counts, and what it is expected to win."""
    sentences = [
        _interval(proposal, beat),
        _rate(known, proposal, beat),
        _signs(known, proposal, beat),
        _what_else(proposal, beat),
        _won(known.tally, "Here", beat),
        _won(pool.tally, "In all", beat),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def reason(proposal: Proposal, beat: Beat) -> str:
    """The same in a few words."""
    per_hour = proposal.forecast.rate * HOUR_S / beat.seconds
    return f"{per_hour:.2g} changes an hour are expected; a look is worth {proposal.price:.2g}"


def span(seconds: float) -> str:
    """A span as people say it."""
    if seconds < MINUTE_S:
        return f"{seconds:.3g} s"
    if seconds < HOUR_S:
        return f"{seconds / MINUTE_S:.3g} min"
    return f"{seconds / HOUR_S:.3g} h"


def _interval(proposal: Proposal, beat: Beat) -> str:
    wait_s = proposal.beats * beat.seconds
    would = "would look" if beat.shadow else "looks"
    return (
        f"It {would} again after {span(wait_s)}, where the baseline is {span(beat.seconds)}:"
        f" a change is then seen after {span(wait_s / 2)} on average, instead of {span(beat.seconds / 2)}."
    )


def _rate(known: Known, proposal: Proposal, beat: Beat) -> str:
    per_hour = HOUR_S / beat.seconds
    belief, expected = proposal.forecast.long_run, proposal.forecast
    what = "It recovers" if known.failing else "It changes"
    return (
        f"{what} {belief.mean * per_hour:.2g} ± {belief.deviation * per_hour:.1g} times an hour in the long"
        f" run, and {expected.rate * per_hour:.2g} times now; the price of a look is {proposal.price:.2g}."
    )


def _signs(known: Known, proposal: Proposal, beat: Beat) -> str:
    if known.failing:
        return ""
    loud = f"they mean {proposal.forecast.sign * HOUR_S / beat.seconds:.2g} changes an hour"
    strengths = known.strengths(known.at_s or 0.0, beat.seconds)
    named = {"figures": "stress", "itself": "its own changes", "siblings": "its siblings' changes"}
    said = [f"{named.get(sign, sign)} {strength:.0%}" for sign, strength in strengths.items()]
    means = loud if proposal.forecast.sign else "they mean nothing more"
    return f"Signs: {', '.join(said)}; {means}; the hour counts {proposal.forecast.hour:.2g} times."


def _what_else(proposal: Proposal, beat: Beat) -> str:
    """What the interval would have been without each."""
    expected = proposal.forecast
    without = {
        "without signs": proposal.at_rate(expected._replace(sign=0.0).rate),
        "without the hour": proposal.at_rate(expected._replace(hour=1.0).rate),
        "by the long run alone": proposal.at_rate(expected.long_run.mean),
    }
    said = [f"{span(beats * beat.seconds)} {word}" for word, beats in without.items()]
    return f"It would be {', '.join(said)}."


def _won(tally: Tally, where: str, beat: Beat) -> str:
    if tally.changes < LIKELY:
        return ""
    seen = "would have been seen" if beat.shadow else "were seen"
    otherwise = "were" if beat.shadow else "would have been"
    share, plain_s = tally.share_of_looks, tally.plain_mean_delay_s
    return (
        f"{where}, {tally.changes:.0f} changes {seen} after {span(tally.mean_delay_s)} on average with"
        f" {share:.2f} of the looks; without learning they {otherwise} after {span(plain_s)},"
        f" and after {span(plain_s / share)} with as many looks."
    )
