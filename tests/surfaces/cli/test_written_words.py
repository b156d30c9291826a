"""Refusals name what was written: the option for the field, and the command for the operation."""

import shlex
from collections.abc import Iterator, Mapping
from io import StringIO
from typing import Any

import pytest
from tests.surfaces.cli.cli_fixtures import CliRunner
from tests.surfaces.cli.recording_launchers import Recorder
from tests.surfaces.cli.test_help import ELSEWHERE, LEAVES, PROGRAM, SERVE, example

from cadenza.domain.errors import InvalidRequest
from cadenza.operations.operation import AnyOperation
from cadenza.operations.table import BY_NAME
from cadenza.surfaces.cli.app import run
from cadenza.surfaces.cli.written_words import options_of

NOT_OF_OPERATIONS = SERVE | ELSEWHERE | {"sim", "backup", "restore", "move"}
ASKING = {
    words: app
    for words, app in LEAVES.items()
    if words[0] not in NOT_OF_OPERATIONS and words not in {("daily",), ("apply",), ("daily", "import")}
}
"""Commands whose fields come from the command line and not from a file."""
OF_THE_COMMAND_LINE = {"json", "server", "key", "tenant", "file", "follow", "all", "rank"}
IN_OTHER_WORDS = {
    "create_schedule": {"schedule_type"},
    "backfill": {"concurrency"},
    "create_endpoint": {"planning"},
    "update_endpoint": {"planning"},
    "preview_steering": {"tool", "runs"},
    "put_secret": {"value"},
    "pause_until": {"untilIso"},
    "list_rows": {"endpoint_id"},
    "list_alerts": {"limit"},
    "list_rules": {"endpoint_id"},
    "get_timeline": {"limit"},
    "get_overview": {"ahead_minutes"},
    "send_message": {"idempotency_key"},
    "answer_agent_turn": {"calls"},
    "list_audit": {"limit", "cursor"},
    "silence_condition": {"minutes"},
    "create_alert_route": {"enabled"},
}
"""Fields that a command fills by itself, or leaves as usual."""


class RefusingClient(Recorder):
    """Finds whatever it is asked for, and refuses a field of what is done with it."""

    field: str = ""
    last: str = ""

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        self.last = operation
        if self.field and self.field.split(".")[0] in fields_of(BY_NAME[operation]):
            raise InvalidRequest(f"{self.field} is wrong.", self.field)
        if operation.startswith(("get_", "list_")) and operation not in {"get_day", "list_user_days"}:
            return {"id": "found", "name": "found", "labels": {}, "items": [], "next_cursor": None}
        raise InvalidRequest("enough")


def fields_of(operation: AnyOperation) -> set[str]:
    return set(operation.schema.get("properties", {}))


def written(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The options of a command with the fields that they fill."""
    for option in options_of(PROGRAM, words):
        for field in option.fields:
            if field not in OF_THE_COMMAND_LINE:
                yield option.name, field


def line_of(words: tuple[str, ...]) -> list[str]:
    line = example(ASKING[words])
    return line if "--json" in line else [*line, "--json"]


def operation_of(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> AnyOperation:
    monkeypatch.setattr("sys.stdin", StringIO("a value\n"))
    client = RefusingClient()
    run(client.launchers(), line_of(words))
    return BY_NAME[client.last]


def has_field(operation: AnyOperation, path: str) -> bool:
    """Whether the schema of an operation has a field, or may have it below an object of any kind."""
    definitions, here = operation.schema.get("$defs", {}), [operation.schema]
    for name in path.split("."):
        branches = [branch for one in here for branch in _branches(one, definitions)]
        here = [one["properties"][name] for one in branches if name in one.get("properties", {})]
        if not here:
            return any(one.get("additionalProperties") is True for one in branches)
    return True


def _branches(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "$ref" in schema:
        yield from _branches(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
    for one in schema.get("anyOf", schema.get("oneOf", ())):
        yield from _branches(one, definitions)
    yield schema


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
def test_a_refusal_of_every_field_names_the_option_that_fills_it(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    operation = operation_of(words, monkeypatch)
    for option, field in written(words):
        if not has_field(operation, field):
            continue
        client = RefusingClient()
        client.field = field
        capsys.readouterr()
        monkeypatch.setattr("sys.stdin", StringIO("a value\n"))
        assert run(client.launchers(), line_of(words)) == 2
        assert capsys.readouterr().err == f"cadenza: {option} is wrong.\n", field


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
def test_every_field_of_a_command_has_an_option(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    operation = operation_of(words, monkeypatch)
    filled = {field.split(".")[0] for _, field in written(words)}
    assert fields_of(operation) - filled <= IN_OTHER_WORDS.get(operation.name, set())


REFUSED = {
    "users token ada --for 99999d": "--for must be a span from 1 second to 1 day.",
    "users put a!": (
        "USER must be 1 to 128 letters, digits, dots, colons, hyphens and underscores, the first a letter or"
        " digit."
    ),
    "keys create --name k --scope root": "--scope must be read, steer, write or admin.",
    "runs list --status lost": "--status must be success, failure, timeout, cancelled, abandoned or skipped.",
    "endpoints list --label web": "--label must be a label with at most 130 characters, such as team=web.",
    "endpoints tighten t --every 20s --for 99999d": "--for must be a span longer than 0 and up to 1 year.",
    "endpoints tighten t --every 20s --for 0s": "--for must be a span longer than 0 and up to 1 year.",
    "endpoints run-now t --rank rule": (
        "Unknown option --rank; options are --tenant, --key, --json, --server."
    ),
    "rules create --job j --name r --endpoint t --when true --then 'propose_interval intervall=5m'": (
        "--then: interval is missing; --then: intervall is unknown here; known are interval, ttl, endpoint,"
        " tool, reason."
    ),
    "endpoints tighten t --every 99999d": "--every must be a span from 1 ms to 10 years.",
    "endpoints preview t --every 99999d": "--every must be a span from 1 ms to 10 years.",
    "endpoints preview t --until 2001-01-01T00:00:00Z": (
        "--until: A pause must end in the future, not at 2001-01-01T00:00:00Z."
    ),
    "endpoints update t --attempts 0": "--attempts must be a whole number from 1 to 100.",
    "endpoints update t --min 2h --max 1h": "--min must not exceed --max.",
    "endpoints update t --timeout 9999d": "--timeout must be a span from 1 ms to 10 years.",
    "endpoints update t --url example.com": (
        "--url must be a URL with at most 2,048 characters, such as https://example.com/health."
    ),
    "endpoints update t --cron x": (
        "--cron: A cron expression has five fields (minute, hour, day of month, month, day of"
        " week); 'x' has 1."
    ),
    "rules create --job j --name n --when response.ok --then jump": (
        "--then: tool must be propose_interval, propose_next_time, pause_until, wake or clear."
    ),
    "rules create --job j --name n --when response.ok --then 'propose_interval interval=99999d'": (
        "--then: interval must be a span from 1ms to 10 years."
    ),
    "schedules create --user ada --agent helper --name n --prompt p --at never": (
        "--at must be an ISO date and time, such as 2030-01-31T09:00:00+01:00."
    ),
    "schedules create --user ada --agent helper --name n --prompt p": (
        "A one-shot schedule needs a moment: either --at, such as 2030-01-31T09:00:00+01:00, or --in."
    ),
    "schedules create --user ada --agent helper --name n --prompt p --in 1500ms": (
        "--in must be a duration of whole seconds, not '1500ms'."
    ),
    "rules create --job j --name n --when response.ok --then wake --escalate '99999d wake'": (
        "--escalate: after must be a span from 1 ms to 10 years."
    ),
    "endpoints timeline t --since 2030-01-02T00:00:00Z --until 2030-01-01T00:00:00Z": (
        "--since must be earlier than --until."
    ),
    "runs redrive --since 2030-01-02T00:00:00Z --until 2030-01-01T00:00:00Z --endpoint t": (
        "--since must be earlier than --until."
    ),
    "runs redrive --since 24h --job j --label a=b": "Give one of --endpoint, --job and --label.",
    "endpoints backfill t --since 1h --until 2h": (
        "--since must lie before --until, in the past, and not before 1970."
    ),
    "--server": "--server needs a value.",
    "overview --minutes 0": "--minutes must be a whole number of minutes from 1 to 300.",
    "daily windows x": "DATE must be a date such as 2030-01-31.",
    'calendars put x --weekly "mon-fri 08:00-25:99"': (
        '--weekly must be such as "mon-fri 08:00-18:00", or "sat,sun 10:00-24:00".'
    ),
    "calendars put x --holidays germany": ("--holidays: country must be two capital letters, such as DE."),
    "daily put ada --due noon": "--due must be HH:MM, such as 07:30.",
    "endpoints create --job agenda --name n --url https://example.com --every 1m": (
        "The job agenda holds the schedules of users: only `cadenza schedules create`,"
        " `cadenza schedules update` and `cadenza schedules delete` change it."
    ),
}


FIRST = (
    "jobs create --name j --id j",
    "endpoints create --job j --id t --name t --url https://example.com --every 1m",
    "users put ada --timezone UTC",
    "agents put helper --name Helper",
    "schedules create --user ada --agent helper --name n --prompt p --in 1h",
)


def test_refusals_say_what_was_written_on_the_database_and_on_a_server(cli: CliRunner) -> None:
    for line in FIRST:
        cli.run(*line.split())
    told = {line: cli.refused(*shlex.split(line))[1] for line in REFUSED}
    assert told == {line: f"cadenza: {sentence}\n" for line, sentence in REFUSED.items()}
