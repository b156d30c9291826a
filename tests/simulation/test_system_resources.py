from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.simulation.scenario_changes import (
    claim_too_late,
    forget_verdicts,
    ignore_the_guard,
    verdicts,
    with_endpoint,
    with_policy,
)

from cadenza.sim.catalogue import run_product, run_prototype, simulate
from cadenza.sim.recording import Recording
from cadenza.sim.scenario import Scenario
from cadenza.sim.steered_endpoint import SteeredEndpoint
from cadenza.sim.system_resources import scenario as host
from cadenza.sim.system_resources.checks import CHECKS, SEED_ASSERTIONS
from cadenza.sim.system_resources.scenario import CPU, DISCORD, Host, system_resources

Break = Callable[[pytest.MonkeyPatch], Scenario[Any]]


@pytest.fixture
async def recording() -> Recording:
    return await run_product(system_resources())


async def nervous(endpoint: SteeredEndpoint[Host]) -> None:
    """Asks for the tight pace whatever it sees."""
    await endpoint.propose_interval(host.TIGHT_S * 1_000, ttl_minutes=60)


async def alert_again(endpoint: SteeredEndpoint[Host]) -> None:
    """Alerts whenever it is asked."""
    await endpoint.resume()
    await endpoint.propose_next_time(host.ALERT_IN_MS, ttl_minutes=2)


def without_own_steering(name: str) -> Break:
    def apply(_: pytest.MonkeyPatch) -> Scenario[Any]:
        scenario = system_resources()
        kept = {other: policy for other, policy in scenario.on_run.items() if other != name}
        return replace(scenario, on_run=kept)

    return apply


def with_constant(name: str, value: int) -> Break:
    def apply(patch: pytest.MonkeyPatch) -> Scenario[Any]:
        patch.setattr(host, name, value)
        return system_resources()

    return apply


def broken_rule(break_it: Callable[[pytest.MonkeyPatch], None]) -> Break:
    def apply(patch: pytest.MonkeyPatch) -> Scenario[Any]:
        break_it(patch)
        return system_resources()

    return apply


BREAKS: dict[str, Break] = {
    "cpu-ai-interval-while-high": with_constant("TIGHT_S", 60),
    "cpu-no-ai-interval-after-high": without_own_steering(CPU),
    "discord-one-shots-at-most-two": with_constant("ALERT_IN_MS", 5_000),
    "discord-paused-except-around-alert": without_own_steering(DISCORD),
    "cpu-tightens-in-high": with_constant("TIGHT_S", 60),
    "cpu-looks-again-at-first-high": with_constant("SOON_MS", 40_000),
    "cpu-no-tight-hint-after-high": lambda _: with_policy(system_resources(), CPU, nervous),
    "cpu-relaxes-after-high": with_constant("LOW", 0),
    "discord-alerts-once-per-incident": lambda _: with_policy(system_resources(), DISCORD, alert_again),
    "minimum-interval-kept": broken_rule(ignore_the_guard),
    "one-verdict-per-slot": broken_rule(forget_verdicts),
    "runs-on-time": broken_rule(claim_too_late),
    "every-minute-seen": lambda _: with_endpoint(system_resources(), CPU, baseline_s=900),
}


def test_the_golden_numbers(recording: Recording) -> None:
    assert recording.counts() == {CPU: 36, DISCORD: 1}
    assert recording.sources() == {"ai-interval": 30, "baseline-interval": 6, "paused": 1}


async def test_the_published_rules_tell_people_over_and_over() -> None:
    published = await run_prototype(system_resources(as_published=True))
    assert published.counts() == {CPU: 83, DISCORD: 22}
    assert published.sources() == {
        "ai-interval": 78,
        "clamped-min": 20,
        "baseline-interval": 6,
        "ai-oneshot": 1,
    }


@pytest.mark.parametrize("step_s", [1, 2, 10])
async def test_the_step_changes_nothing(recording: Recording, step_s: int) -> None:
    other = await run_product(system_resources(), step_s=step_s)
    assert other.counts() == recording.counts()
    assert other.sources() == recording.sources()
    assert other.causes() == recording.causes()
    assert other.order() == recording.order()


async def test_two_simulations_are_equal(recording: Recording) -> None:
    again = await run_product(system_resources())
    assert (again.runs, again.snapshots, again.history) == (
        recording.runs,
        recording.snapshots,
        recording.history,
    )


@pytest.mark.parametrize("step_s", [1, 5, 10])
async def test_all_checks_pass(step_s: int) -> None:
    report = await simulate("system-resources", step_s=step_s)
    assert [check for check in report.checks if not check.passed] == []
    assert report.passed


BROKEN = ["cpu-no-ai-interval-after-high", "discord-paused-except-around-alert"]


@pytest.mark.parametrize("as_published", [False, True])
async def test_the_assertions_that_the_published_rules_break_are_reported_in_both_modes(
    *, as_published: bool
) -> None:
    report = await simulate("system-resources", as_published=as_published)
    assert list(report.parity.broken) == BROKEN
    assert report.parity.sentence.endswith(f"; fails {', '.join(BROKEN)}")
    assert report.parity.equal is None


async def test_the_published_rules_are_measured_by_the_four_assertions_and_not_judged() -> None:
    report = await simulate("system-resources", as_published=True)
    assert [check.name for check in report.checks] == list(SEED_ASSERTIONS)
    assert [check.name for check in report.checks if not check.passed] == BROKEN
    assert report.passed
    assert not report.judged


def test_the_four_assertions_come_first_in_the_corrected_mode() -> None:
    assert list(CHECKS)[:4] == list(SEED_ASSERTIONS)


def test_each_check_is_broken_once() -> None:
    assert set(BREAKS) == set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
async def test_a_check_fails_when_its_rule_is_broken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = (await verdicts(system_resources(), CHECKS))[name]
    broken = (await verdicts(BREAKS[name](monkeypatch), CHECKS))[name]
    assert sound.passed
    assert not broken.passed


def test_the_alert_is_a_one_shot_that_comes_once(recording: Recording) -> None:
    assert recording.times(DISCORD) == [310]
    assert [run.cause for run in recording.runs if run.endpoint == DISCORD] == ["ai-oneshot"]
    assert recording.times(CPU)[:4] == [0, 300, 320, 350]
