"""Wrong use and missing things: one sentence, and the right exit code."""

import pytest
from tests.surfaces.cli.cli_fixtures import CliRunner, CliTarget
from tests.surfaces.sentence_rules import broken_rules

USED = "endpoints create --job used --id used-1 --name u --url https://example.com/x --every 1m"
WRONG = [
    "jobs show",
    "jobs create",
    "endpoints create --job used --name x --every 1m",
    "endpoints create --name x --every 1m --url https://example.com",
    "endpoints create --job used --name x --url https://example.com",
    "endpoints create --job used --name x --url https://example.com --every 1m --cron @daily",
    "endpoints create --job used --name x --url https://example.com --function f --every 1m",
    "endpoints create --job used --name x --url https://example.com --every soon",
    "endpoints create --job used --name x --url https://example.com --at tomorrow",
    "endpoints create --job used --name x --url https://example.com --at 2090-01-31T12:00:00",
    "endpoints create --job used --name x --url https://example.com --every 1m --timezone UTC",
    "endpoints create --job used --name x --url https://example.com --every 1m --label team",
    "endpoints create --job used --name x --url https://example.com --every 1m --header =x",
    "endpoints create --job used --name x --url https://example.com --every 1m --attempts 2.5",
    "endpoints create --job used --name x --url https://example.com --cron nonsense",
    "endpoints create --job used --name x --url https://example.com --every 1m --min 5m --max 1m",
    "endpoints create --job used --file nowhere.json",
    "endpoints pause --until 2h",
    "endpoints pause used-1 --job used --until 2h",
    "endpoints resume",
    "endpoints next used-1",
    "endpoints next used-1 --in 5m --at 2090-01-31T12:00:00Z",
    "endpoints tighten used-1",
    "endpoints tighten used-1 --every 0s",
    "runs list --since yesterday",
    "runs list --follow --until 1h",
    "runs list --follow --limit 5",
    "runs list --follow --all",
    "runs list --follow --cursor xx",
    "runs show ???",
    "keys create --name x --scope everything",
    "keys create --name x --expires 2001-01-31T12:00:00Z",
    "usage --months 0",
    "apply -f nowhere.yaml",
    "secrets put ../x",
    "nope",
    "jobs lst",
    "jobs list --limt 3",
    "jobs list --limit many",
    "jobs list --limit 1 --limit 2",
    "jobs list --limit",
    "--server",
    "jobs list --cursor xx",
    "jobs list --json=perhaps",
    "jobs show a b c",
    "runs list --status odd",
    "runs list --cursor xx",
    "bench --seconds soon",
    "rules create --job used --name x --when endpoint.failurs>1 --then clear",
    "rules create --job used --name x --when response.ok --then clear:",
]


@pytest.fixture(scope="session")
def used(server: CliTarget) -> CliTarget:
    for words in ("jobs create --name used --id used", USED):
        assert server.process(*words.split()).returncode == 0
    return server


@pytest.mark.parametrize("words", WRONG)
def test_wrong_use_costs_a_sentence_and_exits_with_2(remote: CliRunner, used: CliTarget, words: str) -> None:
    code, sentence = remote.refused(*words.split())
    assert code == 2
    assert broken_rules(sentence.removesuffix("\n")) == []


@pytest.mark.parametrize(
    "words",
    [
        *(f"endpoints {verb} nowhere" for verb in ("show", "delete", "run-now", "reset-failures", "test")),
        "endpoints resume nowhere",
        *(f"jobs {verb} nowhere" for verb in ("show", "delete", "pause", "resume", "update")),
        "endpoints list --job nowhere",
        "endpoints update nowhere --every 1m",
        "endpoints tighten nowhere --every 1m",
        "endpoints next nowhere --in 1m",
        "endpoints pause nowhere --until 1h",
        "explain nowhere",
        "health nowhere",
        "hints list nowhere",
        "hints clear nowhere",
        "runs list --endpoint nowhere",
        "runs show nowhere",
        "keys delete nowhere",
        "secrets delete nowhere",
    ],
)
def test_what_is_not_there_exits_with_3(remote: CliRunner, words: str) -> None:
    assert remote.refused(*words.split())[0] == 3


def test_what_is_far_too_long_is_not_repeated_whole(remote: CliRunner) -> None:
    code, sentence = remote.refused("jobs", "list", f"--limit={'9x' * 50_000}")
    assert code == 2
    assert "9x9x" in sentence
    assert len(sentence) < 11_000
