from collections.abc import Callable
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
from cadenza.sim.system_resources.checks import CHECKS
from cadenza.sim.system_resources.scenario import CPU, DISCORD, Host, system_resources

Break = Callable[[pytest.MonkeyPatch], Scenario[Any]]


@pytest.fixture
async def recording() -> Recording:
    return await run_product(system_resources())


async def nervous(endpoint: SteeredEndpoint[Host]) -> None:
    """Asks for the tight pace whatever it sees."""
    await endpoint.propose_interval(host.TIGHT_S * 1_000, ttl_minutes=60)


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
    "cpu-tightens-in-high": with_constant("TIGHT_S", 60),
    "cpu-looks-again-at-first-high": with_constant("SOON_MS", 40_000),
    "cpu-no-tight-hint-after-high": lambda _: with_policy(system_resources(), CPU, nervous),
    "cpu-relaxes-after-high": with_constant("CALM_SAMPLES", 1_000),
    "discord-alerts-once-per-incident": lambda _: with_endpoint(
        system_resources(), DISCORD, pauses_itself=True
    ),
    "discord-paused-before-and-after": with_constant("LOW", 0),
    "minimum-interval-kept": broken_rule(ignore_the_guard),
    "one-verdict-per-slot": broken_rule(forget_verdicts),
    "runs-on-time": broken_rule(claim_too_late),
    "every-minute-seen": lambda _: with_endpoint(system_resources(), CPU, baseline_s=900),
}


def test_the_golden_numbers(recording: Recording) -> None:
    assert recording.counts() == {CPU: 43, DISCORD: 1}
    assert recording.sources() == {"ai-interval": 41, "baseline-interval": 3}


async def test_the_published_rules_tell_people_over_and_over() -> None:
    published = await run_prototype(system_resources())
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


async def test_the_published_mode_has_no_checks_and_no_counts_to_compare() -> None:
    report = await simulate("system-resources", as_published=True)
    assert report.checks == ()
    assert report.parity.equal is None
    assert report.passed


def test_each_check_is_broken_once() -> None:
    assert set(BREAKS) == set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
async def test_a_check_fails_when_its_rule_is_broken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = (await verdicts(system_resources(), CHECKS))[name]
    broken = (await verdicts(BREAKS[name](monkeypatch), CHECKS))[name]
    assert sound.passed
    assert not broken.passed


def test_the_alert_comes_with_the_lapse_of_its_short_pause(recording: Recording) -> None:
    assert recording.times(DISCORD) == [315]
    assert recording.times(CPU)[:4] == [0, 300, 320, 350]
