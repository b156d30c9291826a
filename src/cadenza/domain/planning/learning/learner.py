"""A look comes in: what it teaches of its endpoint, and of all that share its budget."""

from collections.abc import Mapping
from typing import NamedTuple

from cadenza.domain.planning.learning import change_signals as signs
from cadenza.domain.planning.learning import recent_rate as ladder
from cadenza.domain.planning.learning import stress as figures
from cadenza.domain.planning.learning.change_signals import Knot, Record, Strengths
from cadenza.domain.planning.learning.long_term_rate import Belief, behind, shown
from cadenza.domain.planning.learning.state import Hinted, Known, Look, Pool

HALF_LIFE_S, HALF_LIFE_BEATS = 2 * 86_400.0, 500.0
"""After how long, at least, half of what was seen of the long run still counts."""
LONGEST_BEATS = 1_000.0
LEAST_GAP = 1e-3
STRESSED = 0.5


class Beat(NamedTuple):
    """The measure of an endpoint: one baseline interval, and what it may spend in it."""

    seconds: float
    allowance: float = 1.0
    """Runs per beat."""
    shadow: bool = False
    """Its proposals are not followed, so that it is they that are charged, and not its runs."""


def learned(known: Known, look: Look, *, pool: Pool, beat: Beat) -> tuple[Known, Pool]:
    """What is known after a look.

    1. The first look only tells where things stand.
    2. While the endpoint is failing, the unknown is its recovery.
    3. Else it is the next change: of the long run, of now, of the hour, and by each sign.
    4. The figures say whether it is stressed, and a change excites it.
    5. The purse is charged, and what was won is counted; not for a look that was held up, as it would
       have come at that moment either way.
    """
    if known.at_s is None:
        return _first(known, look, pool=pool, beat=beat)
    beats = min(max(look.at_s - known.at_s, 0.0) / beat.seconds, LONGEST_BEATS)
    kept = 0.5 ** (beats / max(HALF_LIFE_S / beat.seconds, HALF_LIFE_BEATS))
    if known.failing:
        after, pool = _recovering(known, look, pool=pool, beats=beats, kept=kept)
    else:
        after, pool = _changing(known, look, pool=pool, beats=beats, kept=kept, beat_s=beat.seconds)
    after = _noticed(after, look, beats)
    if look.held:
        return after, pool
    if look.changed:
        gap, announced = known.proposed if beat.shadow else beats, known.stress < STRESSED <= after.stress
        pool = pool._replace(patience=pool.patience.seen(gap, announced=announced))
    return _charged(after, look, pool=pool, beat=beat, beats=beats)


def _charged(known: Known, look: Look, *, pool: Pool, beat: Beat, beats: float) -> tuple[Known, Pool]:
    """A look in the shadow counts as those that were proposed instead."""
    mine = known.proposed if beat.shadow else max(beats, LEAST_GAP)
    plain = max(beats, LEAST_GAP) if beat.shadow else 1.0
    allowance = beat.allowance * pool.hours.share(look.at_s)
    spent = beats / mine if beat.shadow else 1.0
    changed, beat_s = look.changed, beat.seconds
    return known._replace(
        tally=known.tally.looked(beats, learned=mine, plain=plain, beat_s=beat_s, changed=changed)
    ), pool._replace(
        purse=pool.purse.ran(look.at_s, beats, beat_s=beat_s, spent=spent, allowance=allowance),
        tally=pool.tally.looked(beats, learned=mine, plain=plain, beat_s=beat_s, changed=changed),
    )


def echoed(known: Known, at_s: float, *, beat_s: float) -> Known:
    """After a sibling has changed."""
    beats = max(at_s - (known.at_s or at_s), 0.0) / beat_s
    return known._replace(siblings=min(known.siblings + 1 / max(signs.faded(1.0, beats), 1e-3), 1e3))


def hinted(known: Known, source: str, *, until_s: float) -> Known:
    """After somebody else has written a hint."""
    return known._replace(hinted=Hinted(source, until_s))


def _first(known: Known, look: Look, *, pool: Pool, beat: Beat) -> tuple[Known, Pool]:
    levels = figures.settled({}, look.figures, beats=1.0, stress=0.0)
    purse = pool.purse.ran(look.at_s, 1.0, beat_s=beat.seconds, spent=1.0, allowance=1.0)
    first = known._replace(at_s=look.at_s, failing=look.failing, levels=levels)
    return first, pool._replace(purse=purse)


def _recovering(known: Known, look: Look, *, pool: Pool, beats: float, kept: float) -> tuple[Known, Pool]:
    belief = pool.recovery.prior().after(known.recovery)
    recovery = known.recovery.plus(shown(belief, beats, changed=look.changed), kept=kept)
    census = pool.recovery.counted(belief, beats, changed=look.changed)
    return known._replace(recovery=recovery), pool._replace(recovery=census)


def _changing(
    known: Known, look: Look, *, pool: Pool, beats: float, kept: float, beat_s: float
) -> tuple[Known, Pool]:
    belief = pool.long_run.prior().after(known.long_run)
    strengths = known.strengths(look.at_s - beats * beat_s / 2, beat_s)
    hour = pool.hours.times(look.at_s)
    usual, climb = pool.usual, known.climb.waited(beats)
    loud = loudest(strengths, pool, long_run=belief.mean)
    if loud <= climb.mean(usual.shares, usual.weights):
        climb, usual = ladder.looked(climb, usual, beats=beats * hour, spent=beats, changed=look.changed)
    came = behind(max(loud, belief.mean) * beats) if look.changed else 0.0
    due = belief.mean * beats
    seen = Knot(came, due * hour, beats * hour)
    after = known._replace(
        climb=climb,
        long_run=known.long_run.plus(shown(belief, beats, changed=look.changed), kept=kept),
    )
    return after, pool._replace(
        usual=usual,
        long_run=pool.long_run.counted(belief, beats, changed=look.changed),
        signs=_recorded(pool.signs, strengths, seen),
        hours=pool.hours.counted(look.at_s, came=came, due=due),
    )


def loudest(strengths: Strengths, pool: Pool, *, long_run: float) -> float:
    """The rate that the loudest sign means; 0 if none has proven itself.

    While a sign speaks, the rate is its business, and the ladder learns nothing from the look.
    """
    return max(
        [signs.meant(pool.record(sign), strength, long_run=long_run) for sign, strength in strengths.items()],
        default=0.0,
    )


def _recorded(records: Mapping[str, Record], strengths: Strengths, seen: Knot) -> Mapping[str, Record]:
    after = dict(records)
    for sign, strength in strengths.items():
        after[sign] = signs.recorded(after.get(sign, signs.NO_RECORD), strength, seen=seen)
    if len(after) > signs.MOST_SIGNS:
        del after[min(after, key=lambda sign: sum(knot.due for knot in after[sign]))]
    return after


def _noticed(known: Known, look: Look, beats: float) -> Known:
    stress = figures.heard(figures.calmed(known.stress, beats), known.levels, look.figures)
    return known._replace(
        at_s=look.at_s,
        failing=look.failing,
        stress=stress,
        itself=signs.faded(known.itself, beats) + float(look.changed),
        siblings=signs.faded(known.siblings, beats),
        levels=figures.settled(known.levels, look.figures, beats=beats, stress=stress),
    )


def belief_of(known: Known, pool: Pool) -> Belief:
    """How often it changes in the long run; of one that fails, how soon it recovers."""
    if known.failing:
        return pool.recovery.prior().after(known.recovery)
    return pool.long_run.prior().after(known.long_run)
