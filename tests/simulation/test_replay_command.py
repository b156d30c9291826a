"""`cadenza sim replay`, from a database to a table."""

import asyncio
import json
from pathlib import Path

import pytest

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.errors import NotFound
from cadenza.roots.command_line import main
from cadenza.roots.replay import read_records
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store
from cadenza.surfaces.cli.launchers import ReplayRequest
from cadenza.testing import FakeIds
from cadenza.testing.contracts.agents.conversation_fixtures import ConversationFixture, a_schedule
from cadenza.testing.contracts.harness import Bench

RULES = """
version: 1
jobs:
  - id: shop
    rules:
      - id: busy
        endpoint: checkout
        when: response.body.queue > 5
        then: {tool: propose_interval, interval: 10s, ttl: 5m}
        relax: {tool: clear}
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Half an hour of `checkout`, a look a minute; the queue is long from the tenth to the twentieth."""
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    monkeypatch.setenv("CADENZA_DATABASE_URL", url)
    monkeypatch.chdir(tmp_path)

    async def write() -> None:
        async with open_store(Settings(database_url=url), ids=TimeOrderedIds(), log=NoLog()) as store:
            bench = Bench(store)
            await bench.add("checkout", job_id="shop")
            for minute in range(31):
                await bench.run_once(response={"queue": 9 if 10 <= minute < 20 else 1})
                bench.pass_ms(60_000)

    asyncio.run(write())
    return tmp_path


def replay(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(["sim", "replay", *words]) == code
    said = capsys.readouterr()
    return said.out or said.err


def test_policies_stand_side_by_side(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shop / "rules.yaml").write_text(RULES)
    policies = ("baseline", "fixed:30s", "fixed:2m", "backoff", "aimd", "rules:rules.yaml")
    words = [word for policy in policies for word in ("--policy", policy)]
    told = json.loads(replay(capsys, "--endpoint", "checkout", *words, "--json"))
    assert told["endpoints"] == ["checkout"]
    assert told["changes"] == 2
    courses = {course["policy"]: course for course in told["courses"]}
    assert list(courses) == ["recorded", *policies]
    runs = {policy: course["runs"] for policy, course in courses.items()}
    assert [runs[policy] for policy in ("recorded", "baseline", "fixed:30s", "fixed:2m")] == [30, 30, 60, 15]
    assert runs["rules:rules.yaml"] == 10 + 60 + 10
    assert courses["rules:rules.yaml"]["delay"]["most"]["mean_s"] == (60 + 10) / 2
    assert courses["recorded"]["delay"] == {
        "least": {"mean_s": 0.0, "p95_s": 0.0},
        "even": {"mean_s": 30.0, "p95_s": 30.0},
        "most": {"mean_s": 60.0, "p95_s": 60.0},
    }


def test_a_table_for_people(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = replay(capsys, "--job", "shop", "--policy", "fixed:2m")
    assert "checkout, 2025-01-01T00:00:00Z to 2025-01-01T00:30:00Z: 2 changes" in shown
    assert "fixed:2m" in shown
    assert "50 %" in shown


def test_only_the_newest_runs_are_read(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(
        replay(capsys, "--endpoint", "checkout", "--policy", "baseline", "--most", "5", "--json")
    )
    assert told["since"] == "2025-01-01T00:26:00Z"
    assert told["courses"][0]["runs"] == 4


def test_only_what_happened_since_a_moment_is_read(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    since = ("--since", "2025-01-01T00:15:00Z")
    told = json.loads(replay(capsys, "--endpoint", "checkout", "--policy", "baseline", *since, "--json"))
    assert told["since"] == "2025-01-01T00:15:00Z"
    assert told["changes"] == 1


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ((), 2, "--endpoint"),
        (("--endpoint", "checkout"), 2, "--policy"),
        (("--endpoint", "checkout", "--job", "shop", "--policy", "aimd"), 2, "--endpoint"),
        (("--endpoint", "nobody", "--policy", "aimd"), 3, "no endpoint 'nobody'"),
        (("--job", "nobody", "--policy", "aimd"), 3, "Job 'nobody' not found"),
        (("--endpoint", "checkout", "--policy", "magic"), 2, "'magic' is not a policy"),
        (("--endpoint", "checkout", "--policy", "rules:nowhere.yaml"), 2, "cannot be read"),
        (("--endpoint", "checkout", "--policy", "aimd", "--since", "2024-01-01"), 2, "offset"),
        (("--endpoint", "checkout", "--policy", "aimd", "--since", "1h"), 3, "Not enough recorded runs"),
        (("--endpoint", "checkout", "--policy", "aimd", "--most", "1"), 2, "--most"),
    ],
)
def test_what_cannot_be_replayed_is_one_sentence(
    shop: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, sentence: str
) -> None:
    said = replay(capsys, *words, code=code)
    assert sentence in said
    assert said.count("\n") == 1


def test_rules_that_make_no_sense_are_refused_with_their_line(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (shop / "rules.yaml").write_text(RULES.replace("queue > 5", "queue >"))
    said = replay(capsys, "--endpoint", "checkout", "--policy", "rules:rules.yaml", code=2)
    line = next(number for number, text in enumerate(RULES.splitlines(), 1) if "queue > 5" in text)
    assert said.startswith(f"cadenza: line {line}: jobs.0.rules.0.when cannot be read ")


async def test_an_agent_schedule_is_not_replayed() -> None:
    bench = Bench(MemoryStore(FakeIds()))
    await ConversationFixture(bench).add_users_and_agents()
    await bench.store.endpoints.add(a_schedule(next_run_at=bench.ms(0)))
    for _ in range(3):
        await bench.run_once()
        bench.pass_ms(24 * 60 * 60_000)
    wish = ReplayRequest("sched-aaaaa", None, ("baseline",), None, most=100, tenant="north")
    with pytest.raises(NotFound, match="Not enough recorded runs"):
        await read_records(bench.store, wish)
