"""The walk of a due run: the modules of the engine that are handed its claim."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from types import FrameType

from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock

from cadenza.domain.scheduling.run import Claim, Completion, RunStatus
from cadenza.domain.scheduling.settle import SettledRun

WALK = ("loop", "claim", "start", "held_claims", "execute", "settle")
"""In this order; ARCHITECTURE.md tells them in the same."""
BESIDE = {"events"}
"""It reports what the others did."""
MOMENTS = {"call", "return"}
INSIDE_A_FUNCTION = 0x1
"""Python's flag for code that is no module and no class body."""


def holds_a_run(value: object) -> bool:
    if isinstance(value, Claim | Completion | SettledRun):
        return True
    return isinstance(value, list | tuple | dict) and any(map(holds_a_run, list(value)[:1]))


@contextmanager
def modules_handed_a_run() -> Iterator[set[str]]:
    """The names of the engine's modules whose functions hold a claim, a completion or a settled run."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, answer: object) -> None:
        parts = PurePath(frame.f_code.co_filename).parts
        in_engine = "engine" in parts and frame.f_code.co_flags & INSIDE_A_FUNCTION
        if in_engine and event in MOMENTS and any(map(holds_a_run, [answer, *frame.f_locals.values()])):
            seen.add(parts[-1].removesuffix(".py"))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(before)


async def test_a_due_run_goes_through_six_modules_of_the_engine() -> None:
    fixture = on_manual_clock(claim_ahead_ms=500)
    await fixture.add(in_ms=1_000)
    with modules_handed_a_run() as seen:
        async with RunningWorker(fixture):
            await fixture.clock.advance(2_000)
    assert (await fixture.only_run()).status is RunStatus.SUCCESS
    assert seen - BESIDE == set(WALK)
