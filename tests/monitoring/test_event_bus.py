"""Events reach whoever is attached; whoever fails is detached, and costs nobody else."""

from cadenza.adapters.telemetry.event_bus import EventBus
from cadenza.ports.telemetry import Measurements, Metadata
from cadenza.testing import FakeLog, FakeTelemetry


class Failing:
    """A handler with a bug."""

    def __init__(self, events: EventBus | None = None) -> None:
        self.calls, self._events = 0, events

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        self.calls += 1
        if self._events is not None and self.calls == 1:
            self._events.emit("again", {}, {})
        raise ValueError("a bug")


def test_a_handler_gets_the_events_that_it_asked_for() -> None:
    events, all_of_them, some = EventBus(FakeLog()), FakeTelemetry(), FakeTelemetry()
    events.attach("all", all_of_them)
    events.attach("some", some, {"b"})
    for event in ("a", "b", "c"):
        events.emit(event, {"x": 1}, {"y": "z"})
    assert [event.name for event in all_of_them.events] == ["a", "b", "c"]
    assert some.events == [("b", {"x": 1}, {"y": "z"})]


def test_a_handler_that_throws_is_detached_and_reported_once() -> None:
    log = FakeLog()
    events, failing, good = EventBus(log), Failing(), FakeTelemetry()
    events.attach("failing", failing)
    events.attach("good", good)
    for _ in range(5):
        events.emit("tick", {}, {})
    assert failing.calls == 1
    assert len(good.events) == 5
    ((level, event, facts),) = log.lines
    assert (level, event) == ("warning", "a telemetry handler failed and is detached")
    assert facts == {"handler": "failing", "emitted": "tick", "problem": "ValueError: a bug"}


def test_a_handler_that_emits_while_it_fails_is_reported_once() -> None:
    log = FakeLog()
    events = EventBus(log)
    events.attach("failing", Failing(events))
    events.emit("tick", {}, {})
    assert len(log.lines) == 1
    assert list(events.attached) == []


def test_a_handler_may_attach_and_detach_while_events_come() -> None:
    events, late = EventBus(FakeLog()), FakeTelemetry()

    class Changing:
        def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
            events.detach("changing")
            events.attach("late", late)

    events.attach("changing", Changing())
    events.emit("first", {}, {})
    events.emit("second", {}, {})
    assert [event.name for event in late.events] == ["second"]


def test_a_handler_of_the_same_name_is_replaced() -> None:
    events, first, second = EventBus(FakeLog()), FakeTelemetry(), FakeTelemetry()
    events.attach("one", first)
    events.attach("one", second)
    events.emit("tick", {}, {})
    assert (len(first.events), len(second.events)) == (0, 1)
