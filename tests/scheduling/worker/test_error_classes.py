"""One error class for the timeouts of every kind of target, and the dispatcher's own for other failures."""

import pytest
from tests.scheduling.worker.worker_fixtures import WorkerFixture

from cadenza.domain.agents.users import Agent, User
from cadenza.domain.job_failure import ErrorClass
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.run import Outcome, RunStatus
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget, PromptTarget, Target
from cadenza.testing.clock import NEW_YEAR

TARGETS = [HttpTarget("https://example.com"), CallableTarget("work"), PromptTarget("agent", "user", "hi")]


def ended(fixture: WorkerFixture) -> list[tuple[object, object]]:
    jobs = [event.metadata for event in fixture.telemetry.events if event.name == "sched.job.stop"]
    return [(job["result"], job.get("error_class")) for job in jobs]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: type(target).__name__)
async def test_a_timeout_is_unknown_whatever_ran(target: Target) -> None:
    fixture = WorkerFixture()
    await fixture.store.port.users.put_user(User(id="user"))
    await fixture.store.port.agents.put_agent(Agent(id="agent", name="agent"))
    await fixture.add(target=target, baseline=Once(NEW_YEAR))
    fixture.dispatcher.on("endpoint", lambda _: Outcome(RunStatus.TIMEOUT, error_class=ErrorClass.REQ))
    await fixture.tick()
    assert ended(fixture) == [("timeout", "unknown")]


@pytest.mark.parametrize("error_class", ErrorClass)
async def test_a_failure_has_the_class_that_its_dispatcher_saw(error_class: ErrorClass) -> None:
    fixture = WorkerFixture()
    await fixture.add()
    fixture.dispatcher.on("endpoint", lambda _: Outcome(RunStatus.FAILURE, error_class=error_class))
    await fixture.tick()
    assert ended(fixture) == [("error", error_class.value)]
