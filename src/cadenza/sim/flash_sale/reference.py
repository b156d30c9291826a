"""What was published about the flash sale: its counts, and its own eighteen checks."""

from collections.abc import Container

from cadenza.sim.checks import CheckResult, CheckRule, CheckRules
from cadenza.sim.prototype_run import Reference
from cadenza.sim.recording import Recording

REFERENCE = Reference(
    runs={
        "traffic_monitor": 201,
        "order_processor_health": 43,
        "inventory_sync_check": 67,
        "slow_page_analyzer": 27,
        "database_query_trace": 27,
        "cache_warm_up": 24,
        "scale_checkout_workers": 27,
        "slack_operations": 24,
        "slack_customer_support": 27,
        "emergency_oncall_page": 0,
    },
    sources={"baseline-interval": 224, "ai-interval": 189, "clamped-min": 54},
)

TIGHT_MINUTES = (*range(5, 9), *range(13, 21))
RECOVERY_MINUTES = range(21, 40)
TIGHT_S, RELAXED_S = 30, 50


def at_least(least: int, *names: str) -> CheckRule:
    """These endpoints have that many runs together."""

    def check(recording: Recording) -> CheckResult:
        count = recording.count(*names)
        return CheckResult(count >= least, f"{count} runs, at least {least} expected")

    return check


def at_most(most: int, name: str) -> CheckRule:
    """One endpoint has no more runs than that."""

    def check(recording: Recording) -> CheckResult:
        count = recording.count(name)
        return CheckResult(count <= most, f"{count} runs, at most {most} expected")

    return check


def each_at_least(least: int, *names: str) -> CheckRule:
    """Each of these endpoints has that many runs."""

    def check(recording: Recording) -> CheckResult:
        counts = {name: recording.count(name) for name in names}
        detail = ", ".join(f"{name} {count}" for name, count in counts.items())
        return CheckResult(min(counts.values()) >= least, detail)

    return check


def next_check_tightens(recording: Recording) -> CheckResult:
    """Somewhere in surge or critical the traffic is looked at within half a minute."""
    spans = _next_checks(recording, TIGHT_MINUTES)
    return CheckResult(min(spans) <= TIGHT_S, f"from {min(spans)} s to {max(spans)} s")


def next_check_relaxes(recording: Recording) -> CheckResult:
    """Somewhere in recovery the traffic is left alone for nearly a minute."""
    spans = _next_checks(recording, RECOVERY_MINUTES)
    return CheckResult(max(spans) >= RELAXED_S, f"from {min(spans)} s to {max(spans)} s")


def total_at_least(least: int) -> CheckRule:
    """There are that many runs in all."""

    def check(recording: Recording) -> CheckResult:
        return CheckResult(
            len(recording.runs) >= least, f"{len(recording.runs)} runs, at least {least} expected"
        )

    return check


def snapshots(number: int) -> CheckRule:
    """There are that many snapshots."""

    def check(recording: Recording) -> CheckResult:
        found = len(recording.snapshots)
        return CheckResult(found == number, f"{found} snapshots, {number} expected")

    return check


def operations_with_support(recording: Recording) -> CheckResult:
    """Operations are alerted if customer support is."""
    operations, support = recording.count("slack_operations"), recording.count("slack_customer_support")
    return CheckResult(operations > 0 or support == 0, f"operations {operations}, support {support}")


def health_outruns_investigation(recording: Recording) -> CheckResult:
    """Watching goes on more often than investigating."""
    tiers = recording.tiers()
    detail = f"health {tiers['health']}, investigation {tiers['investigation']}"
    return CheckResult(tiers["health"] >= tiers["investigation"], detail)


def _next_checks(recording: Recording, minutes: Container[int]) -> list[int]:
    fingerprint = [
        snapshot.row["nextCheck"] for snapshot in recording.snapshots if snapshot.minute in minutes
    ]
    return [span for span in fingerprint if isinstance(span, int)]


CHECKS: CheckRules = {
    "traffic-runs": at_least(50, "traffic_monitor"),
    "next-check-tightens": next_check_tightens,
    "next-check-relaxes": next_check_relaxes,
    "orders-run": at_least(20, "order_processor_health"),
    "inventory-runs": at_least(20, "inventory_sync_check"),
    "slow-page-investigated": at_least(1, "slow_page_analyzer"),
    "database-investigated": at_least(1, "database_query_trace"),
    "investigators-run": each_at_least(5, "slow_page_analyzer", "database_query_trace"),
    "cache-warmed": at_least(1, "cache_warm_up"),
    "workers-scaled": at_least(1, "scale_checkout_workers"),
    "recovery-acted": at_least(1, "cache_warm_up", "scale_checkout_workers"),
    "operations-alerted": at_least(1, "slack_operations"),
    "support-alerted": at_least(1, "slack_customer_support"),
    "oncall-at-most-twice": at_most(2, "emergency_oncall_page"),
    "operations-with-support": operations_with_support,
    "hundred-runs": total_at_least(100),
    "health-outruns-investigation": health_outruns_investigation,
    "forty-snapshots": snapshots(40),
}
