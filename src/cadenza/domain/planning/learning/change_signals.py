"""Signals that a change is near, and how well each has predicted changes so far."""

from collections.abc import Mapping
from math import exp, sqrt
from typing import NamedTuple

EXCITATION_PERIODS = 6.0
"""How long a change makes further changes likelier: of its own endpoint, and of its siblings."""
PRIOR_CHANGES = 3.0
"""How many changes it takes until a signal is believed more than doubted."""
SIGNIFICANT_RATIO = 1.5
"""A signal counts when its rate exceeds the long-run rate, and the rate without it, by this factor."""
MOST_CHANGES = 1_000.0
LEAST_STRENGTH = 1e-4
"""A weaker signal is never significant: its ratio is that of no signal, whatever a stronger one's is."""
BINS = 5
MOST_SIGNALS = 12

STRESS_SIGNAL, OWN_CHANGES, SIBLING_CHANGES = "figures", "itself", "siblings"
SignalStrengths = Mapping[str, float]
"""How strong each signal is, from 0 to 1."""


class SignalBin(NamedTuple):
    """Observations at about one strength: changes, changes expected at the long-run rate, and periods."""

    changes: float = 0.0
    expected: float = 0.0
    periods: float = 0.0

    @property
    def rate_ratio(self) -> float:
        """The observed rate by the long-run rate; 1 until there is evidence."""
        return (self.changes + PRIOR_CHANGES) / (self.expected + PRIOR_CHANGES)

    def plus(self, share: float, observed: "SignalBin") -> "SignalBin":
        """With a share of another observation; when the bin is full, half of the older is forgotten."""
        decay = 1.0 if self.expected + self.changes < MOST_CHANGES else 0.5
        return SignalBin(
            self.changes * decay + share * observed.changes,
            self.expected * decay + share * observed.expected,
            self.periods * decay + share * observed.periods,
        )


SignalRecord = tuple[SignalBin, ...]
"""The track record of one signal: a bin for each quarter of its strength."""
EMPTY_RECORD: SignalRecord = (SignalBin(),) * BINS
SignalRecords = Mapping[str, SignalRecord]


def signal_rate(record: SignalRecord, strength: float, *, long_run: float) -> float:
    """The rate of changes at this strength of a signal; 0 if that is not significantly higher.

    It is the geometric mean of the rate by the ratio to the long run and of the rate observed directly.
    """
    if strength < LEAST_STRENGTH:
        return 0.0
    lower, fraction = _bin_position(strength)
    below, above = record[lower], record[lower + 1]
    ratio = below.rate_ratio * (1 - fraction) + above.rate_ratio * fraction
    if ratio <= SIGNIFICANT_RATIO or ratio <= SIGNIFICANT_RATIO * record[0].rate_ratio:
        return 0.0
    changes = below.changes * (1 - fraction) + above.changes * fraction
    periods = below.periods * (1 - fraction) + above.periods * fraction
    return sqrt(ratio * long_run * changes / periods) if periods > 0 else ratio * long_run


class SignalRates(NamedTuple):
    """The rates that signals predict."""

    figures: float
    """The rate by the figures alone; 0 if they are not significant."""
    strongest: float
    """The highest rate that any signal predicts; 0 if none is significant."""
    expected: float
    """What is expected by the figures and in the long run: other signals count for what they add."""


def signal_rates(records: SignalRecords, strengths: SignalStrengths, *, long_run: float) -> SignalRates:
    """The rates that signals predict.

    1. The figures come first: while they foretell changes, an endpoint's own changes and its
       siblings' say little more.
    2. The others are measured against what is expected without them.
    """
    figures = signal_rate(
        records.get(STRESS_SIGNAL, EMPTY_RECORD), strengths[STRESS_SIGNAL], long_run=long_run
    )
    expected, strongest = max(figures, long_run), figures
    for signal, strength in strengths.items():
        if signal != STRESS_SIGNAL:
            record = records.get(signal, EMPTY_RECORD)
            strongest = max(strongest, signal_rate(record, strength, long_run=expected))
    return SignalRates(figures, strongest, expected)


def updated_records(
    records: SignalRecords, strengths: SignalStrengths, *, observed: SignalBin, expected: float
) -> SignalRecords:
    """The records after a run: of the figures, and of the others for what they add to what was expected."""
    after = dict(records)
    further = SignalBin(observed.changes, max(observed.expected, expected), observed.periods)
    for signal, strength in strengths.items():
        seen = observed if signal == STRESS_SIGNAL else further
        after[signal] = updated_record(after.get(signal, EMPTY_RECORD), strength, observed=seen)
    if len(after) > MOST_SIGNALS:
        del after[min(after, key=lambda signal: sum(one.expected for one in after[signal]))]
    return after


def updated_record(record: SignalRecord, strength: float, *, observed: SignalBin) -> SignalRecord:
    """The record with one more observation at this strength."""
    lower, fraction = _bin_position(strength)
    bins = list(record)
    bins[lower] = bins[lower].plus(1 - fraction, observed)
    bins[lower + 1] = bins[lower + 1].plus(fraction, observed)
    return tuple(bins)


def _bin_position(strength: float) -> tuple[int, float]:
    """Between which bins a strength lies: the lower one, and the fraction of the way to the next."""
    scaled = strength * (BINS - 1)
    lower = int(scaled)
    return (lower, scaled - lower) if lower < BINS - 1 else (BINS - 2, 1.0)


def excitation_strength(excitation: float) -> float:
    """The excitation by any number of changes, as a strength from 0 to 1."""
    return excitation / (1 + excitation)


def decayed(excitation: float, periods: float) -> float:
    """The excitation that is left after some periods."""
    return excitation * exp(-periods / EXCITATION_PERIODS)
