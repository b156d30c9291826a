"""What must be true of the busy host under the product's own rules."""

from cadenza.domain.scheduling.hint import HintKind
from cadenza.sim.checks import (
    CheckResult,
    CheckRules,
    all_of_length,
    beginning_within,
    between,
    every_minute_seen,
    minimum_interval_kept,
    one_verdict_per_slot,
    runs_on_time,
)
from cadenza.sim.recording import Recording
from cadenza.sim.system_resources.scenario import CPU, DISCORD, TIGHT_S, WIDE_S, WORLD
from cadenza.sim.world import MINUTE_S, elapsed_s

SECOND_LOOK_S = 30
CALM_WITHIN_S = 3 * MINUTE_S
OLDEST_SAMPLE_S = 300
HIGH_FROM_S, HIGH_UNTIL_S = WORLD.span_s("high")


def cpu_tightens(recording: Recording) -> CheckResult:
    """Within a minute of the high the processor is looked at every 30 s, until it is over."""
    return all_of_length(between(recording.gaps(CPU), HIGH_FROM_S + MINUTE_S, HIGH_UNTIL_S), TIGHT_S)


def cpu_looks_again(recording: Recording) -> CheckResult:
    """The first high sample is confirmed sooner than the tightened pace would."""
    gaps = beginning_within(recording.gaps(CPU), HIGH_FROM_S, HIGH_UNTIL_S)
    if not gaps:
        return CheckResult(passed=False, detail="never ran twice in the high")
    detail = f"first high sample at {gaps[0].start} s, looked again at {gaps[0].end} s"
    return CheckResult(gaps[0].length < SECOND_LOOK_S, detail)


def no_tight_hint_after(recording: Recording) -> CheckResult:
    """Nobody asks for the tight pace once the high is over."""
    written = [
        elapsed_s(hint.written_at)
        for hint in recording.history.hints.get(CPU, ())
        if hint.kind is HintKind.INTERVAL and hint.interval_ms == TIGHT_S * 1_000
    ]
    late = [second for second in written if second >= HIGH_UNTIL_S]
    detail = f"hints at {TIGHT_S} s written at {', '.join(f'{second} s' for second in sorted(written))}"
    return CheckResult(bool(written) and not late, detail)


def cpu_relaxes(recording: Recording) -> CheckResult:
    """Within three minutes of the end the processor is looked at every 180 s."""
    return all_of_length(
        beginning_within(recording.gaps(CPU), HIGH_UNTIL_S + CALM_WITHIN_S, 2 * HIGH_UNTIL_S), WIDE_S
    )


def discord_alerts_once(recording: Recording) -> CheckResult:
    """One message for the one incident, while it lasts."""
    times = recording.times(DISCORD)
    detail = f"messages at {', '.join(f'{second} s' for second in times) or 'no time'}"
    return CheckResult(
        len(times) == 1 and all(HIGH_FROM_S <= second < HIGH_UNTIL_S for second in times), detail
    )


def discord_paused_otherwise(recording: Recording) -> CheckResult:
    """The gate is closed in all minutes before the incident, and in all from a minute after it."""
    calm = [
        snapshot
        for snapshot in recording.snapshots
        if not HIGH_FROM_S <= snapshot.minute * MINUTE_S <= HIGH_UNTIL_S
    ]
    open_minutes = [snapshot.minute for snapshot in calm if snapshot.row["discordPaused"] is not True]
    detail = f"paused in {len(calm) - len(open_minutes)} of {len(calm)} minutes before and after the incident"
    return CheckResult(bool(calm) and not open_minutes, detail)


CHECKS: CheckRules = {
    "cpu-tightens-in-high": cpu_tightens,
    "cpu-looks-again-at-first-high": cpu_looks_again,
    "cpu-no-tight-hint-after-high": no_tight_hint_after,
    "cpu-relaxes-after-high": cpu_relaxes,
    "discord-alerts-once-per-incident": discord_alerts_once,
    "discord-paused-before-and-after": discord_paused_otherwise,
    "minimum-interval-kept": minimum_interval_kept,
    "one-verdict-per-slot": one_verdict_per_slot,
    "runs-on-time": runs_on_time,
    "every-minute-seen": every_minute_seen(OLDEST_SAMPLE_S),
}
