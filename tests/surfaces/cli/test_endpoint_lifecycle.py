"""The life of an endpoint, from its creation to its end, here and on a server.

What changes it are programs of their own; what looks at it is this one.
"""

from pathlib import Path

import pytest
from tests.surfaces.cli.cli_fixtures import Office
from tests.surfaces.cli.conftest import Desks

CREATE = (
    "endpoints create --job life --id life-traffic --name traffic --url https://example.com/traffic"
    " --every 1m --min 20s --max 5m --label team=life --header X-Team=life"
)
TIGHTEN = "endpoints tighten traffic --every 20s --for 1h"


@pytest.fixture(params=["here", "there"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Office:
    found: Office = Office(tmp_path) if request.param == "here" else request.getfixturevalue("server")
    return found


def test_an_endpoint_is_created_steered_paused_resumed_and_deleted(office: Office, desk_at: Desks) -> None:
    desk = desk_at(office)
    assert desk.ok("jobs", "create", "--name", "Life", "--id", "life")
    made = office.said(*CREATE.split(), "--body", '{"a": [1]}')
    assert made["guard"] == {"min_interval_ms": 20_000, "max_interval_ms": 300_000}
    assert made["target"]["body"] == {"a": [1]}

    listed = desk.ok("endpoints", "list", "--label", "team=life")
    assert "traffic" in listed
    assert "every 1m" in listed
    assert "X-Team=life" in desk.ok("endpoints", "show", "traffic")

    tightened = office.process(*TIGHTEN.split(), "--reason", "a [bold]sale[/bold]")
    assert "an interval hint sets its pace" in tightened.stdout
    why = desk.ok("explain", "traffic")
    assert "every 20 seconds in place of the baseline" in why
    assert "(a [bold]sale[/bold])" in why
    assert "ai-interval" in why.split("candidate")[1]

    assert office.said("endpoints", "pause", "--label", "team=life", "--until", "2h") == {"endpoints": 1}
    assert desk.json("endpoints", "show", "life-traffic")["paused_until"] is not None
    assert desk.json("endpoints", "resume", "traffic")["source"] == "resume"
    assert desk.json("hints", "clear", "traffic")["governor"]["source"] == "baseline-interval"
    assert [hint["kind"] for hint in desk.json("hints", "list", "traffic")["items"]].count("interval") == 1

    assert office.said("endpoints", "delete", "traffic") == {}
    assert desk.refused("endpoints", "show", "life-traffic")[0] == 3
    assert desk.ok("jobs", "delete", "Life") == "Deleted the job Life with its endpoints.\n"
