"""What watching costs in turns, and which changes are told; `benchmarks.prompts` has large worlds."""

import json
from pathlib import Path
from random import Random

import pytest
from benchmarks.policies import Seen, SelfPaced
from benchmarks.prompt_looks import (
    PromptLooks,
    Report,
    ReportTotals,
    StateSpan,
    WatchedThing,
    WatchList,
    told_at,
    watched_thing,
)
from benchmarks.prompts import main
from benchmarks.worlds import DAY, Timing

from cadenza.domain.agents.probe import Novelty

MINUTES = 60.0


def fast(_: float, __: Random) -> float:
    """Every look takes the same time."""
    return 50.0


def a_thing(*changes: tuple[float, str], days: float = 1.0) -> WatchedThing:
    """It is `a` at first; changes are in minutes."""
    course = [(0.0, "a"), *((at * MINUTES, state) for at, state in changes)]
    return watched_thing(course, days * DAY, fast)


def test_a_change_is_relevant_if_it_lasts_and_leads_elsewhere_than_before() -> None:
    thing = a_thing((60, "b"), (62, "a"), (120, "c"), (121, "d"), (200, "d"), (300, "e"), (302, "d"))
    relevant = [(span.since / MINUTES, span.until / MINUTES, span.state) for span in thing.relevant()]
    assert relevant == [(0, 121, "a"), (121, 1440, "d")]
    assert [(span.since / MINUTES, span.state) for span in thing.brief()] == [
        (60, "b"),
        (120, "c"),
        (300, "e"),
    ]


@pytest.mark.parametrize(
    ("reports", "told"),
    [
        ([Report(130, "b")], 130),
        ([Report(110, "x"), Report(150, "b")], 150),
        ([Report(80, "b")], 100),
        ([Report(40, "b")], None),
        ([Report(80, "b"), Report(90, "a")], None),
        ([Report(210, "b")], None),
    ],
)
def test_a_change_is_told_while_it_lasts_or_by_what_came_just_before(
    reports: list[Report], told: float | None
) -> None:
    assert told_at(StateSpan(100, 200, "b"), reports, known_from=50) == told


def test_delays_count_until_a_change_was_told_and_otherwise_until_the_next_look() -> None:
    thing = a_thing((60, "b"), (70, "a"), (90, "c"), (91, "a"), (200, "d"), (206, "a"))
    watched = WatchList((thing,), DAY)
    looks = PromptLooks(watched, Timing(), seed=1)
    found = [looks.look(0, at * MINUTES).changed for at in (0, 62, 90.5, 100, 199, 207)]
    assert found == [False, True, True, True, False, False]
    totals = ReportTotals()
    totals.add(watched, looks)
    figures = totals.figures(probed=True)
    assert (figures.turns, figures.probes, figures.relevant, figures.brief) == (3, 6, 4, 1)
    assert (figures.mean_s, figures.p95_s) == (10 * MINUTES, 30 * MINUTES)
    assert (figures.reported, figures.brief_reported) == (0.5, 1.0)


def test_a_model_that_paces_itself_doubles_its_wait_and_halves_it_after_a_change() -> None:
    policy = SelfPaced(1, Timing(300.0, (60.0, 3_600.0)))
    changed = [False, False, False, False, False, True, True]
    waits = [policy.look(0, Seen(0.0, one, failing=False, latency_ms=50.0)) for one in changed]
    assert waits == [600, 1_200, 2_400, 3_600, 3_600, 1_800, 900]


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The command with a small world."""
    small = ("--worlds", "sigma 2", "--endpoints", "8", "--days", "0.5", "--processes", "1")
    monkeypatch.setattr("sys.argv", ["prompts", *small, *words])
    return main()


def test_the_probe_meets_its_goals_and_the_command_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{3_677 * hour},busy,{('up', 'down')[hour % 2]},200,50" for hour in range(24)]
    rows += [f"0,quiet {number},up,200,50" for number in range(3)]
    (tmp_path / "services.csv").write_text("\n".join(["t,site,status,code,ms", *rows]))
    assert run(monkeypatch, "--histories", str(tmp_path), "--laps", "1", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert (list(printed["found"]), printed["missed"]) == (["sigma 2", "history services"], [])
    methods = printed["found"]["sigma 2"]
    assert methods["fixed"]["turns"] > 5 * methods["probe"]["turns"]
    assert methods["self_paced"]["reported"] < methods["probe"]["reported"]
    assert methods["fixed"]["mean_s"] > methods["probe"]["mean_s"]


def test_a_rule_that_finds_nothing_new_misses_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.prompt_looks.novelty", lambda *_, **__: Novelty(is_new=False))
    assert run(monkeypatch) == 1
    assert "missed: sigma 2: reported" in capsys.readouterr().out


@pytest.mark.parametrize("words", [("--histories", "nowhere"), ("--most", "7200")])
def test_what_cannot_be_played_is_refused(monkeypatch: pytest.MonkeyPatch, words: tuple[str, str]) -> None:
    with pytest.raises(SystemExit) as refused:
        run(monkeypatch, *words)
    assert refused.value.code == 2
