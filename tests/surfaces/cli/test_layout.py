"""Tables on narrow terminals: no word is broken, no value is lost, and statuses have colours."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.surfaces.cli.output.columns import ENDPOINTS, RUNS
from cadenza.surfaces.cli.output.formatting import card, table
from cadenza.surfaces.cli.output.layout import Cell, Heading, Screen, Table, width_of, wrapped
from cadenza.surfaces.cli.output.terminal import show

RUN: dict[str, Any] = {
    "finished_at": "2030-01-31T12:00:00Z",
    "endpoint_id": "checkout-latency",
    "status": "failure",
    "source": "ai-interval",
    "duration_ms": 1_250,
    "late_ms": 3,
    "id": "01997a7c-52c5-7000-8000-3c1d7d2b9c11",
    "error": "the target answered 503 and the body says that the database is away",
    "reason": None,
}
WORDS = st.text(alphabet="abc東 ", max_size=80)
TABLES = st.integers(1, 6).flatmap(
    lambda columns: st.lists(st.lists(WORDS, min_size=columns, max_size=columns), min_size=1, max_size=4)
)


def test_a_run_fits_sixty_columns_and_no_word_is_broken() -> None:
    lines = list(table([RUN], RUNS).lines(Screen(60)))
    assert max(map(width_of, lines)) <= 60
    words = " ".join(lines).split()
    assert {RUN["endpoint_id"], RUN["id"], "failure", "1s250ms", *RUN["error"].split()} <= set(words)


def test_the_last_columns_stand_below_their_row_first() -> None:
    lines = list(table([RUN], RUNS).lines(Screen(60)))
    assert lines[0].split()[:3] == ["finished", "endpoint", "status"]
    assert "    run: " + str(RUN["id"]) in lines


def test_a_wide_output_has_one_line_for_each_row() -> None:
    assert len(list(table([RUN, RUN], RUNS).lines(Screen(10_000)))) == 4


@given(TABLES, st.integers(20, 100))
def test_no_word_is_broken_or_lost_at_any_width(rows: list[list[str]], width: int) -> None:
    headings = [Heading(f"column{number}") for number in range(len(rows[0]))]
    made = Table(headings, [[Cell(cell) for cell in row] for row in rows])
    shown = " ".join(made.lines(Screen(width))).split()
    assert {word for row in rows for cell in row for word in cell.split()} <= set(shown)


@given(WORDS, st.integers(1, 40))
def test_a_line_is_longer_than_the_width_only_for_one_word(text: str, width: int) -> None:
    assert all(width_of(line) <= width or len(line.split()) <= 1 for line in wrapped(text, width))


def test_statuses_have_colours_where_the_screen_has_them() -> None:
    plain, coloured = ("\n".join(table([RUN], RUNS).lines(Screen(200, one))) for one in (False, True))
    assert "\x1b" not in plain
    assert "\x1b[31mfailure\x1b[0m" in coloured


def test_a_status_below_its_row_or_on_a_card_has_its_colour() -> None:
    narrow = "\n".join(table([RUN], RUNS).lines(Screen(30, coloured=True)))
    assert "    status: \x1b[31mfailure\x1b[0m" in narrow
    shown = "\n".join(card({"run": "failure", "status": "failure"}).lines(Screen(60, coloured=True)))
    assert shown.count("\x1b[31mfailure\x1b[0m") == 1


@pytest.mark.parametrize(("no_colour", "seen"), [("", True), ("1", False)])
def test_no_color_is_respected(
    no_colour: str, *, seen: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", no_colour)
    monkeypatch.setenv("TERM", "xterm")
    show(table([RUN], RUNS))
    assert ("\x1b[31mfailure" in capsys.readouterr().out) is seen


def test_a_pipe_gets_no_colours(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    show(table([RUN], RUNS))
    assert "\x1b" not in capsys.readouterr().out


def test_the_columns_of_endpoints_name_a_status() -> None:
    assert [column.title for column in ENDPOINTS if column.status] == ["state"]
