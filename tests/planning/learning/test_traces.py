"""Recorded uptime histories: read as they are, and judged with the right figures."""

import json
from pathlib import Path

import pytest
from benchmarks.histories import busiest, history_of, read_events, read_histories
from benchmarks.policies import Fixed
from benchmarks.traces import HistoryLooks, compare, lap, main
from benchmarks.worlds import DAY, Timing

FIRST = 1_700_000_000
HALF_HOUR = 1_800
MINUTE = Timing(60.0, (30.0, 3_600.0))


def a_file(folder: Path, *rows: tuple[float, str, str]) -> Path:
    """A file of events, given in seconds since the first; not in order, as they may come."""
    path = folder / "services.csv"
    lines = [f"{FIRST + at:.0f},{site},{status},200,50" for at, site, status in reversed(rows)]
    path.write_text("\n".join(["t,site,status,code,ms", *lines]))
    return path


def outages(folder: Path, *, sites: int = 4, count: int = 20) -> Path:
    """The first site breaks every hour for half an hour; the others stay as they are."""
    rows = [(0.0, f"site {number}", "up") for number in range(sites)]
    for number in range(count):
        rows += [(3_600 * (number + 1), "site 0", "down"), (3_600 * (number + 1.5), "site 0", "up")]
    rows += [(3_600.0 * (count + 2), f"site {number}", "up") for number in range(sites)]
    return a_file(folder, *rows)


def test_a_history_has_the_status_of_every_site_at_every_moment(tmp_path: Path) -> None:
    rows = ((0, "a", "up"), (10, "b", "degraded"), (20, "a", "down"), (30, "a", "down"), (40, "a", "up"))
    history = history_of("services", read_events(a_file(tmp_path, *rows)))
    site, other = history.sites[0], history.sites[1]
    found = [site.statuses[site.place(at)] for at in (0, 19, 20, 35, 40, 99)]
    assert found == ["up", "up", "down", "down", "up", "up"]
    assert list(site.changes) == [20, 40]
    assert (other.statuses[other.place(0)], len(other.changes)) == ("degraded", 0)
    assert (history.changes, history.until) == (2, 40)


def test_the_busiest_days_are_played_and_sites_enter_them_as_they_were(tmp_path: Path) -> None:
    busy = [(5 * DAY + 600 * number, "a", ("down", "up")[number % 2]) for number in range(6)]
    rows = ((0, "a", "up"), (DAY, "gone", "up"), (2 * DAY, "b", "down"), *busy, (9 * DAY, "b", "up"))
    events = read_events(a_file(tmp_path, *rows))
    span = busiest(events, 2.0)
    assert [moment - FIRST for moment in span] == [4 * DAY, 6 * DAY]
    history = history_of("services", events, span=span)
    assert [(site.name, len(site.changes), site.statuses[0]) for site in history.sites] == [
        ("a", 6, "up"),
        ("b", 0, "down"),
    ]
    assert read_histories(tmp_path, days=None)["services"].changes == 7


def test_a_look_shows_a_change_only_if_it_was_not_undone(tmp_path: Path) -> None:
    rows = (
        (0, "a", "up"),
        (1_000, "a", "down"),
        (1_010, "a", "up"),
        (2_000, "a", "down"),
        (9_000, "a", "up"),
    )
    looks = HistoryLooks(history_of("services", read_events(a_file(tmp_path, *rows))), MINUTE, seed=1)
    seen = []
    for begin, at in ((0.0, 0.0), (0.0, 990.0), (990.0, 1_020.0), (1_020.0, 2_025.0)):
        looks.passed(0, begin, end=at)
        seen.append((looks.look(0, at).changed, looks.look(0, at).failing))
    assert seen == [(False, False), (False, False), (False, False), (True, True)]
    assert looks.delays == [20, 10, 25]
    assert looks.unseen == 2


def test_a_fixed_pace_sees_changes_after_half_its_interval_on_average(tmp_path: Path) -> None:
    history = history_of("services", read_events(outages(tmp_path, sites=1, count=200)))
    found = lap(history, [Fixed(601.7)] * 2, MINUTE)
    assert found.looks == pytest.approx(history.until / 601.7, rel=0.01)
    assert found.mean_s == pytest.approx(601.7 / 2, rel=0.1)
    assert found.p95_s == pytest.approx(601.7 * 0.95, rel=0.03)
    assert found.violations == 0


def test_all_policies_are_compared_at_equal_looks(tmp_path: Path) -> None:
    history = history_of("services", read_events(outages(tmp_path)))
    found = compare(history, Timing(300.0, (30.0, 3_600.0)), laps=1)
    policies = found["policies"]
    assert list(policies) == ["fixed", "backoff", "aimd", "rules", "square root", "learning"]
    assert (found["sites"], found["changes"]) == (4, 40)
    for name, figures in policies.items():
        assert figures["looks"] == pytest.approx(policies["learning"]["looks"], rel=0.05), name
        assert figures["violations"] == 0
        assert figures["to_fixed"]["mean"] == pytest.approx(figures["mean_s"] / policies["fixed"]["mean_s"])
    assert policies["learning"]["to_fixed"]["mean"] < 0.9
    assert policies["square root"]["to_fixed"]["mean"] < 0.9


def test_the_command_prints_the_figures_of_every_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    outages(tmp_path, sites=2, count=2)
    monkeypatch.setattr("sys.argv", ["traces", str(tmp_path), "--laps", "1", "--json"])
    main()
    found = json.loads(capsys.readouterr().out)
    assert found["services"]["changes"] == 4
    monkeypatch.setattr("sys.argv", ["traces", str(tmp_path), "--laps", "1", "--whole", "--baseline", "600"])
    main()
    assert "services: 2 sites, 4 changes in 0.2 days (fewer than 10 changes" in capsys.readouterr().out


def test_a_folder_without_histories_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["traces", str(tmp_path)])
    with pytest.raises(SystemExit) as refused:
        main()
    assert refused.value.code == 2
    assert "there is no history (*.csv) in" in capsys.readouterr().err
