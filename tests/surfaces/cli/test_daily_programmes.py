"""Daily programmes on the command line, and users with time zones."""

from pathlib import Path

import pytest
from tests.surfaces.cli.cli_fixtures import CliRunner

EVENING = ("daily", "programmes", "put", "evening")


def test_a_programme_is_put_shown_listed_and_deleted(local: CliRunner) -> None:
    made = local.json(*EVENING, "--target", "https://example.com/evening", "--weekdays", "mon-wed,sat")
    assert (made["target"]["url"], made["weekdays"]) == (
        "https://example.com/evening",
        ["mon", "tue", "wed", "sat"],
    )
    assert local.json("daily", "programmes", "show", "evening") == made
    shown = local.ok("daily", "programmes", "show", "evening")
    assert "mon, tue, wed, sat" in shown
    assert "http https://example.com/evening" in shown
    listed = local.ok("daily", "programmes", "list")
    assert "evening" in listed
    assert "as the settings say" in listed
    assert "Deleted the programme evening." in local.ok("daily", "programmes", "delete", "evening")
    assert local.refused("daily", "programmes", "show", "evening")[0] == 3
    assert local.refused("daily", "programmes", "delete", "daily")[0] == 3


def test_all_options_of_a_programme_are_taken(local: CliRunner, tmp_path: Path) -> None:
    (tmp_path / "evening.json").write_text('{"name": "In a file", "window_minutes": 20, "share_percent": 10}')
    options = ("--window-minutes", "30", "--retry-delay-minutes", "5", "--job-timeout-ms", "90000")
    made = local.json(
        *EVENING, "--file", "evening.json", *options, "--keep-conversations", "--weekdays", "fri-mon"
    )
    assert (made["name"], made["window_minutes"], made["share_percent"]) == ("In a file", 30, 10)
    assert (made["retry_delay_minutes"], made["job_timeout_ms"]) == (5, 90_000)
    assert (made["resets_conversation"], made["weekdays"]) == (False, ["mon", "fri", "sat", "sun"])
    assert local.refused(*EVENING, "--only-new")[0] == 4


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--weekdays", "monday"), "--weekdays must be days such as mon,wed or mon-fri"),
        (("--weekdays", "mon-"), "--weekdays must be days"),
        (("--window-minutes", "0"), "--window-minutes must be"),
        (("--share-percent", "200"), "--share-percent must be"),
        (("--target", "evening"), "--target"),
    ],
)
def test_a_wrong_option_is_named(local: CliRunner, options: tuple[str, ...], why: str) -> None:
    code, err = local.refused(*EVENING, *options)
    assert (code, why in err) == (2, True), err


def test_a_user_has_due_times_in_zones_and_programmes(local: CliRunner) -> None:
    local.ok(*EVENING)
    local.ok("daily", "put", "ada", "--due", "07:30")
    user = local.json(
        "daily", "put", "ada", "--due", "19:00", "--timezone", "Asia/Tokyo", "--programme", "evening"
    )
    assert (user["timezone"], user["next_cutoff"][11:16]) == ("Asia/Tokyo", "10:00")
    shown = local.ok("daily", "show", "ada", "--programme", "evening")
    assert "19:00 Asia/Tokyo" in shown
    assert "07:30 UTC" in local.ok("daily", "show", "ada")
    assert [one["due_time"] for one in local.json("daily", "users", "--programme", "evening")["items"]] == [
        "19:00"
    ]
    for command in ("windows", "history", "misses"):
        local.ok("daily", command, "--programme", "evening")
        assert local.refused("daily", command, "--programme", "night")[0] == 3
    assert local.json("daily", "days", "2030-01-31", "--programme", "evening")["items"] == []
    code, err = local.refused("daily", "programmes", "delete", "evening")
    assert (code, "Users are enrolled" in err) == (4, True)
    local.ok("daily", "delete", "ada", "--programme", "evening")
    local.ok("daily", "programmes", "delete", "evening")
    code, err = local.refused("daily", "put", "ada", "--due", "07:30", "--timezone", "Mars/Base")
    assert (code, "--timezone must be a time zone" in err) == (2, True), err


def test_a_file_may_have_a_column_of_zones(local: CliRunner, tmp_path: Path) -> None:
    local.ok(*EVENING)
    lines = (
        "user_id,due_time,timezone",
        "ada,07:30,Europe/Berlin",
        "bob,08:00",
        "cid,08:00,",
        '{"user_id": "eve", "due_time": "23:59", "timezone": "Asia/Tokyo"}',
    )
    (tmp_path / "users.csv").write_text("\n".join(lines))
    assert local.json("daily", "import", "users.csv", "--programme", "evening") == {"lines": 4}
    found = local.json("daily", "users", "--programme", "evening")["items"]
    assert [(one["user_id"], one["timezone"]) for one in found] == [
        ("ada", "Europe/Berlin"),
        ("bob", "UTC"),
        ("cid", "UTC"),
        ("eve", "Asia/Tokyo"),
    ]
    assert local.json("daily", "users")["items"] == []
    (tmp_path / "users.csv").write_text("ada,07:30,Europe/Berlim\n")
    code, err = local.refused("daily", "import", "users.csv")
    assert (code, "line 1: " in err, "is not a time zone" in err) == (2, True, True)
