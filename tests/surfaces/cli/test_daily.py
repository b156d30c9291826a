"""Daily users on the command line, and whole files of them."""

import json
import tracemalloc
from pathlib import Path

import pytest
from tests.surfaces.cli.cli_fixtures import CliRunner

from cadenza.domain.errors import InvalidRequest
from cadenza.surfaces.cli.commands.daily.file_import import import_users, open_lines


def write(folder: Path, text: str) -> str:
    (folder / "users.csv").write_text(text)
    return "users.csv"


def test_the_window_is_as_long_as_the_settings_say(local: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CADENZA_WINDOW_MINUTES", "90")
    user = local.json("daily", "put", "ada", "--due", "07:30")
    assert (user["next_opens_at"][11:16], user["next_cutoff"][11:16]) == ("06:00", "07:30")
    monkeypatch.setenv("CADENZA_WINDOW_MINUTES", "30")
    same = local.json("daily", "show", "ada")["user"]
    assert (same["next_opens_at"], same["next_cutoff"]) == (user["next_opens_at"], user["next_cutoff"])
    assert local.json("daily", "put", "bob", "--due", "07:30")["next_opens_at"][11:16] == "07:00"
    monkeypatch.setenv("CADENZA_TICK_MS", "600000")
    monkeypatch.setenv("CADENZA_WINDOW_MINUTES", "9")
    code, err = local.refused("daily", "show", "ada")
    assert (code, "CADENZA_WINDOW_MINUTES must be no shorter than CADENZA_TICK_MS" in err) == (2, True)


def test_a_file_of_both_kinds_is_taken_and_can_be_taken_again(local: CliRunner, tmp_path: Path) -> None:
    text = 'user_id,due_time\nada,07:30\n\n"bob", 08:00\n{"user_id": "eve", "due_time": "23:59"}\n'
    name = write(tmp_path, "\ufeff" + text)
    for _ in range(2):
        assert local.json("daily", "import", name) == {"lines": 3}
    found = local.json("daily", "users", "--all")["items"]
    assert [(one["user_id"], one["due_time"]) for one in found] == [
        ("ada", "07:30"),
        ("bob", "08:00"),
        ("eve", "23:59"),
    ]
    assert local.json("daily", "list") == local.json("daily", "users")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("ada", "it has 1 columns"),
        ("ada,07:30,x", "'x' is not a time zone"),
        ("ada,07:30,UTC,x", "it has 4 columns"),
        ("ada,24:00", "due_time must be HH:MM, such as 07:30"),
        ("a b,07:30", "user_id must be"),
        (",07:30", "user_id must be"),
        ('{"user_id": "ada"}', "it must be"),
        ('{"user_id": "ada", "due_time": 7}', "due_time must be HH:MM"),
        ('{"user_id"', "it is not JSON"),
        ('"ada,07:30', "it is not CSV"),
        pytest.param("x" * 5_000, "it is longer", id="a very long line"),
        ("\udcff,07:30", "it is not UTF-8"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_taken(
    local: CliRunner, tmp_path: Path, line: str, why: str
) -> None:
    good = "".join(f"user-{number},07:30\n" for number in range(1_500))
    (tmp_path / "users.csv").write_bytes(f"{good}{line}\nlast,07:30\n".encode(errors="surrogateescape"))
    code, err = local.refused("daily", "import", "users.csv")
    assert code == 2
    assert "line 1501: " in err
    assert why in err
    assert local.json("daily", "users") == {"items": [], "next_cursor": None}


def test_the_first_wrong_lines_are_told_and_how_many_more_there_are(local: CliRunner, tmp_path: Path) -> None:
    _, err = local.refused("daily", "import", write(tmp_path, "x\n" * 50))
    assert (err.count("line "), "42 more invalid lines" in err) == (8, True)


def test_a_file_that_is_not_there_is_a_sentence(local: CliRunner) -> None:
    assert local.refused("daily", "import", "nothing.csv")[0] == 2


def test_standard_input_is_taken_too(local: CliRunner) -> None:
    assert local.target.said("daily", "import", "-", given="ada,07:30\n") == {"lines": 1}


def test_a_user_and_a_day_are_shown(local: CliRunner) -> None:
    local.ok("daily", "put", "ada", "--due", "07:30")
    assert "07:30 UTC" in local.ok("daily", "show", "ada")
    assert "0 success, 0 cutoff_reached" in local.ok("daily", "days", "2030-01-31")
    assert local.json("daily", "show", "ada")["days"] == {"items": [], "next_cursor": None, "gaps": []}
    code, err = local.refused("daily", "put", "ada", "--due", "7h")
    assert code == 2
    assert "HH:MM, such as 07:30" in err
    local.ok("daily", "delete", "ada", "--with-days")
    assert local.refused("daily", "show", "ada")[0] == 3


class Counting:
    """A client that only counts."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    async def ask(self, operation: str, arguments: object) -> object:
        assert operation == "put_daily_users"
        assert isinstance(arguments, dict)
        self.batches.append(len(arguments["users"]))
        return {}


async def test_a_large_file_takes_no_more_memory_than_a_small_one(tmp_path: Path) -> None:
    path = tmp_path / "users.jsonl"
    with path.open("w") as file:
        for number in range(30_000):
            file.write(json.dumps({"user_id": f"user-{number}", "due_time": "07:30"}) + "\n")
    client = Counting()
    tracemalloc.start()
    try:
        with open_lines(str(path)) as lines:
            assert await import_users(client, lines) == {"lines": 30_000}
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert client.batches == [1_000] * 30
    assert most < path.stat().st_size * 1.5
    assert most < 2_000_000


async def test_nothing_is_asked_before_every_line_was_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("ada,07:30\n" * 2_000 + "wrong\n")
    client = Counting()
    with open_lines(str(path)) as lines, pytest.raises(InvalidRequest):
        await import_users(client, lines)
    assert client.batches == []
