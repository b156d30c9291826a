"""What must be true of the busy host under the product's own rules."""

from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.plan import Source
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
from cadenza.sim.system_resources.scenario import CPU, DISCORD, ENDPOINTS, TIGHT_S, WORLD
from cadenza.sim.world import MINUTE_S, elapsed_s

SECOND_LOOK_S = 30
LEAST_AI_RUNS = 20
MOST_ONE_SHOTS = 2
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
    """From the first calm sample on the processor is looked at as its baseline says."""
    return all_of_length(
        beginning_within(recording.gaps(CPU), HIGH_UNTIL_S, 2 * HIGH_UNTIL_S), ENDPOINTS[0].baseline_s
    )


def discord_alerts_once(recording: Recording) -> CheckResult:
    """One message for the one incident, while it lasts, and it is a one-shot."""
    alerts = [(elapsed_s(run.at), run.cause) for run in recording.runs if run.endpoint == DISCORD]
    detail = f"messages: {', '.join(f'{second} s ({cause})' for second, cause in alerts) or 'none'}"
    passed = len(alerts) == 1 and all(
        HIGH_FROM_S <= second < HIGH_UNTIL_S and cause is Source.AI_ONESHOT for second, cause in alerts
    )
    return CheckResult(passed, detail)


def cpu_ai_during_high(recording: Recording) -> CheckResult:
    """`expect(cpuAiDuringHigh).toBeGreaterThanOrEqual(20)`."""
    count = _answers(recording, CPU, Source.AI_INTERVAL, HIGH_FROM_S, HIGH_UNTIL_S)
    return CheckResult(count >= LEAST_AI_RUNS, f"{count} answers ai-interval while high, at least 20 wanted")


def cpu_ai_after_high(recording: Recording) -> CheckResult:
    """`expect(cpuAiAfterHigh).toBe(0)`."""
    count = _answers(recording, CPU, Source.AI_INTERVAL, HIGH_UNTIL_S, elapsed_s(recording.ended_at) + 1)
    calm = [second for second in recording.times(CPU) if second >= HIGH_UNTIL_S]
    return CheckResult(bool(calm) and count == 0, f"{count} answers ai-interval in {len(calm)} runs after")


def discord_one_shots(recording: Recording) -> CheckResult:
    """`expect(discordOneShots).toBeLessThanOrEqual(2)`, and there is one."""
    runs = [run for run in recording.runs if run.endpoint == DISCORD]
    count = sum((run.cause or run.source) is Source.AI_ONESHOT for run in runs)
    detail = f"{count} of {len(runs)} runs are one-shots, from 1 to {MOST_ONE_SHOTS} wanted"
    return CheckResult(1 <= count <= MOST_ONE_SHOTS, detail)


def always_paused_except_alert(recording: Recording) -> CheckResult:
    """`expect(alwaysPausedExceptAlert).toBe(true)`: open for less than a minute, around an alert."""
    records = reversed(recording.history.hints.get(DISCORD, ()))
    opened, open_s, longest = None, 0, 0
    for hint in records:
        if hint.kind is HintKind.RESUME:
            opened = elapsed_s(hint.written_at)
        elif hint.kind is HintKind.PAUSE and opened is not None:
            longest = max(longest, elapsed_s(hint.written_at) - opened)
            open_s, opened = open_s + elapsed_s(hint.written_at) - opened, None
    unpaused = [one.minute for one in recording.snapshots if one.row["discordPaused"] is not True]
    closed = opened is None and 0 < longest < MINUTE_S and not unpaused
    detail = f"open for {open_s} s in all, {longest} s at most; not paused in {len(unpaused)} of 40 snapshots"
    return CheckResult(closed, detail)


def _answers(recording: Recording, name: str, source: Source, since: int, until: int) -> int:
    """How many of the governor's answers after an endpoint's runs name a source, between two seconds."""
    runs = [run for run in recording.runs if run.endpoint == name and since <= elapsed_s(run.at) < until]
    return sum(run.source is source for run in runs)


SEED_ASSERTIONS: CheckRules = {
    "cpu-ai-interval-while-high": cpu_ai_during_high,
    "cpu-no-ai-interval-after-high": cpu_ai_after_high,
    "discord-one-shots-at-most-two": discord_one_shots,
    "discord-paused-except-around-alert": always_paused_except_alert,
}
"""The four assertions of the scenario's own specification, which the published rules never were held to."""
CHECKS: CheckRules = {
    **SEED_ASSERTIONS,
    "cpu-tightens-in-high": cpu_tightens,
    "cpu-looks-again-at-first-high": cpu_looks_again,
    "cpu-no-tight-hint-after-high": no_tight_hint_after,
    "cpu-relaxes-after-high": cpu_relaxes,
    "discord-alerts-once-per-incident": discord_alerts_once,
    "minimum-interval-kept": minimum_interval_kept,
    "one-verdict-per-slot": one_verdict_per_slot,
    "runs-on-time": runs_on_time,
    "every-minute-seen": every_minute_seen(OLDEST_SAMPLE_S),
}
