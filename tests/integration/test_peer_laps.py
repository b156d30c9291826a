"""The benchmark of peers goes on without one that does not run."""

from pathlib import Path
from typing import Any

import pytest
from benchmarks.peers import __main__ as peers
from benchmarks.peers.environments import PEERS

NEXT, BROKEN = (peers.Contender(peer.name, peer=peer, python=Path("python")) for peer in PEERS[:2])
CEILING = peers.Contender(peers.CEILING, "ceiling")
ANYTHING: Any = None


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of contenders whose process ends before it answers."""
    names: set[str] = set()

    async def one_lap(_: object, contender: peers.Contender, *__: object) -> str:
        if contender.name in names:
            int(b"")
        return f"lap of {contender.name}"

    monkeypatch.setattr(peers, "one_lap", one_lap)
    return names


async def test_a_peer_that_does_not_run_is_left_out_with_a_sentence(
    broken: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    broken.add(BROKEN.name)
    found = [CEILING, BROKEN, NEXT]
    laps = await peers.one_round(ANYTHING, found, 0, ANYTHING)
    assert set(laps) == {CEILING.name, NEXT.name}
    assert found == [CEILING, NEXT]
    assert f"{BROKEN.name} is left out: it did not run" in capsys.readouterr().err


async def test_without_a_ceiling_there_is_nothing_to_compare_with(broken: set[str]) -> None:
    broken.add(CEILING.name)
    with pytest.raises(ValueError, match="invalid literal"):
        await peers.one_round(ANYTHING, [CEILING, NEXT], 0, ANYTHING)
