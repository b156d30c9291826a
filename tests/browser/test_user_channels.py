"""The channels of a user: set, tried and ordered beside the user."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ViewportSize, expect
from tests.browser.dashboard_site import PHONE, Site, Visit, site

DESK = ViewportSize(width=1440, height=900)


@pytest.fixture(scope="module")
def program(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), browser) as running:
        running.ask("PUT /v1/users/ada", {"timezone": "Europe/Berlin"})
        yield running


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit(viewport=DESK) as visit:
        yield visit


def test_channels_are_added_and_ordered_and_have_quiet_hours(program: Site, visit: Visit) -> None:
    page = visit.go("/settings/users")
    page.get_by_role("button", name="Channels of ada").click()
    dialog = page.get_by_role("dialog", name="Channels of ada")
    for number, (name, url) in enumerate((("mail", "ntfy://topic"), ("hook", "http://127.0.0.1:9/in")), 1):
        dialog.get_by_role("button", name="Add a channel").click()
        dialog.get_by_label(f"Channel {number}, id").fill(name)
        dialog.get_by_label(f"Channel {number}, address").fill(url)
    dialog.get_by_label("Channel 2, type").select_option("webhook")
    dialog.get_by_role("button", name="Move up hook").click()
    dialog.get_by_label("Quiet from").fill("22:00")
    dialog.get_by_label("Quiet until").fill("07:00")
    assert visit.axe() == []
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    stored = program.ask("GET /v1/users/ada/channels")
    assert [one["id"] for one in stored["channels"]] == ["hook", "mail"]
    assert stored["quiet_hours"] == {"start": "22:00", "end": "07:00"}


def test_a_channel_is_tested_and_removed(program: Site, visit: Visit) -> None:
    hook = {"id": "hook", "type": "webhook", "url": "http://127.0.0.1:9/in"}
    mail = {"id": "mail", "type": "apprise", "url": "ntfy://topic"}
    quiet = {"start": "22:00", "end": "07:00"}
    program.ask("PUT /v1/users/ada/channels", {"channels": [hook, mail], "quiet_hours": quiet})
    page = visit.go("/settings/users")
    page.get_by_role("button", name="Channels of ada").click()
    dialog = page.get_by_role("dialog", name="Channels of ada")
    dialog.get_by_role("button", name="Test hook").click()
    expect(page.locator(".toast.bad")).to_be_visible()
    dialog.get_by_role("button", name="Remove hook").click()
    dialog.get_by_label("Quiet from").fill("")
    dialog.get_by_label("Quiet until").fill("")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    kept = program.ask("GET /v1/users/ada/channels")
    assert [one["url"] for one in kept["channels"]] == ["ntfy://***"]
    assert kept["quiet_hours"] is None


def test_it_fits_a_phone(program: Site) -> None:
    channel = {"id": "phone", "type": "apprise", "url": "ntfy://a-rather-long-topic-of-a-user"}
    program.ask("PUT /v1/users/ada/channels", {"channels": [channel]})
    with program.visit(viewport=PHONE, dark=True) as visit:
        page = visit.go("/settings/users")
        page.get_by_role("button", name="Channels of ada").click()
        dialog = page.get_by_role("dialog", name="Channels of ada")
        expect(dialog.get_by_label("Channel 1, address")).to_have_value("ntfy://***")
        assert dialog.evaluate("one => one.scrollWidth <= one.clientWidth")
        assert visit.axe() == []
