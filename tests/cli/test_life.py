"""The life of an endpoint, from its creation to its end, in programs of their own: here and on a server."""

from pathlib import Path

import pytest
from tests.cli.offices import Office

CREATE = (
    "endpoints create --job life --id life-traffic --name traffic --url https://example.com/traffic"
    " --every 1m --min 20s --max 5m --label team=life --header X-Team=life"
)
TIGHTEN = "endpoints tighten traffic --every 20s --for 1h"


@pytest.fixture(params=["here", "there"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Office:
    found: Office = Office(tmp_path) if request.param == "here" else request.getfixturevalue("server")
    return found


def test_an_endpoint_is_created_steered_paused_resumed_and_deleted(office: Office) -> None:
    assert office.process("jobs", "create", "--name", "Life", "--id", "life").returncode == 0
    made = office.said(*CREATE.split(), "--body", '{"a": [1]}')
    assert made["guard"] == {"min_interval_ms": 20_000, "max_interval_ms": 300_000}
    assert made["target"]["body"] == {"a": [1]}

    listed = office.process("endpoints", "list", "--label", "team=life").stdout
    assert "traffic" in listed
    assert "every 1m" in listed
    assert "X-Team=life" in office.process("endpoints", "show", "traffic").stdout

    tightened = office.process(*TIGHTEN.split(), "--reason", "a [bold]sale[/bold]")
    assert "an interval hint sets its pace" in tightened.stdout
    why = office.process("explain", "traffic").stdout
    assert "every 20 seconds in place of the baseline" in why
    assert "(a [bold]sale[/bold])" in why
    assert "ai-interval" in why.split("candidate")[1]

    assert office.said("endpoints", "pause", "--label", "team=life", "--until", "2h") == {"endpoints": 1}
    assert office.said("endpoints", "show", "life-traffic")["paused_until"] is not None
    assert office.said("endpoints", "resume", "traffic")["source"] == "resume"
    assert office.said("hints", "clear", "traffic")["governor"]["source"] == "baseline-interval"
    assert [hint["kind"] for hint in office.said("hints", "list", "traffic")["items"]].count("interval") == 1

    assert office.said("endpoints", "delete", "traffic") == {}
    assert office.process("endpoints", "show", "life-traffic").returncode == 3
    assert office.process("jobs", "delete", "Life").stdout == "Deleted the job Life with its endpoints.\n"
