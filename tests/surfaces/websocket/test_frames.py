"""Frames and bounds: whatever is sent is either understood or refused in words."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cadenza.domain.agents.delivery import CanvasCommand, Delivery, SocketMessage, Subtitle
from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.surfaces.http.problems import Refusal
from cadenza.surfaces.websocket import frames, limits
from cadenza.surfaces.websocket.limits import Pace

WORDS = st.sampled_from(
    ["type", "hello", "message", "ack", "token", "seq", "last_seq", "acks", "agent_id", "text", "id"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(), inner, max_size=5),
    max_leaves=12,
)
NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)


@given(st.text() | st.binary() | VALUES.map(json.dumps), st.integers(1, 200))
@example('{"type": "ack", "seq": 1e400}', 200)
@example('{"type": "ack", "seq": 18446744073709551616}', 200)
@example('{"type": "message", "agent_id": "a", "text": "\\u0000"}', 200)
def test_a_frame_is_understood_or_refused(frame: str | bytes, largest: int) -> None:
    try:
        heard = frames.read(frame, largest)
    except (InvalidRequest, Refusal) as problem:
        told = json.loads(frames.error(problem, request_id="r"))
        assert told["problem"]["detail"]
        assert 400 <= told["problem"]["status"] < 500
    else:
        assert isinstance(frame, str)
        assert len(frame.encode()) <= largest
        assert json.loads(frame)["type"] == heard.type


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (Subtitle("héllo\n"), {"type": "subtitle", "text": "héllo\n"}),
        (CanvasCommand({"draw": [1, None]}), {"type": "canvas_command", "command": {"draw": [1, None]}}),
    ],
    ids=["subtitle", "canvas"],
)
def test_a_message_stands_on_the_wire_as_it_is_documented(
    message: SocketMessage, words: dict[str, Any]
) -> None:
    owed = Delivery("i.1", "north", "ada", 18, "helper", message, NOW, "sched-a7b3c")
    assert json.loads(frames.delivered(owed)) == words | {
        "id": "i.1",
        "seq": 18,
        "agent_id": "helper",
        "schedule_id": "sched-a7b3c",
        "at": "2030-01-31T12:00:00Z",
    }


def test_a_problem_names_the_message_that_it_is_about() -> None:
    told = json.loads(frames.error(NotFound("Agent x not found."), request_id="r", about="m1"))
    assert (told["type"], told["message_id"]) == ("error", "m1")
    assert told["problem"]["type"] == "/problems/not-found"
    assert "message_id" not in json.loads(frames.error(NotFound("No."), request_id="r"))


@given(st.integers(1, 50), st.lists(st.floats(0, 3), max_size=300))
def test_nobody_gets_more_frames_through_than_their_pace_allows(per_s: int, pauses: list[float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        now = 0.0
        patch.setattr(limits, "get_running_loop", lambda: SimpleNamespace(time=lambda: now))
        pace, taken = Pace(per_s), 0
        for pause in pauses:
            now += pause
            may = (2 + now) * per_s - taken >= 1 - 1e-6
            took = pace.allows_one()
            assert may or not took
            assert took or pause < 1 / per_s, "who keeps the pace is never refused"
            taken += took
