"""Agents: a real conversation at a real socket, with schedules that fire, offline and with a model."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall
from playwright.sync_api import Browser, Locator, Page, ViewportSize, WebSocketRoute, expect
from tests.browser.dashboard_site import DESK, PHONE, Site, Visit, site

HOSTILE = """<img src=x onerror="document.title='harm'"><script>alert(1)</script>"""
A_WHILE_MS = 20_000


@pytest.fixture(scope="module")
def program(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("site"), browser) as running:
        people(running, "ada", "bob", "cleo", "dan", "fay", "gus", "hal", "ida")
        yield running


def people(running: Site, *users: str) -> None:
    for user in users:
        running.ask(f"PUT /v1/users/{user}", {"timezone": "Europe/Berlin"})
    running.ask("PUT /v1/agents/helper", {"name": "Helper", "model": "offline"})


@pytest.fixture
def visit(program: Site) -> Iterator[Visit]:
    with program.visit() as visit:
        yield visit


def chat_of(visit: Visit, user: str, agent: str = "helper") -> Page:
    page = visit.go(f"/agents?user={user}&agent={agent}")
    expect(presence(page)).to_have_text("online", timeout=A_WHILE_MS)
    return page


def presence(page: Page) -> Locator:
    return page.get_by_role("status", name="Connection of the chat")


def log(page: Page) -> Locator:
    return page.get_by_role("log", name="Messages")


def say(page: Page, words: str) -> None:
    page.get_by_role("textbox", name="Message to").fill(words)
    page.keyboard.press("Enter")


def schedules(page: Page) -> Locator:
    return page.locator(".schedules")


def test_the_offline_agent_plans_and_what_it_planned_is_seen(visit: Visit) -> None:
    page = chat_of(visit, "ada")
    say(page, "remind me in 20 minutes to take the pizza out")
    expect(log(page).locator(".mine")).to_contain_text("take the pizza out")
    expect(log(page).locator(".theirs")).to_contain_text("pizza", timeout=A_WHILE_MS)
    expect(schedules(page)).to_contain_text(re.compile(r"next in (19|20) m"), timeout=A_WHILE_MS)
    expect(page.get_by_text("Acknowledged up to message 1.")).to_be_visible()
    visit.keep_screenshot("agents-chat")


def test_who_was_offline_is_told_and_gets_what_fired_meanwhile_once(program: Site, visit: Visit) -> None:
    page = chat_of(visit, "bob")
    page.get_by_role("button", name="Go offline").click()
    expect(presence(page)).to_have_text("offline")
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    for name in ("tea", "cake"):
        soon = {"name": name, "prompt": f"the {name} is ready", "schedule_type": "one-shot"}
        program.ask("POST /v1/schedules", soon | {"delay_seconds": 1, "user_id": "bob", "agent_id": "helper"})
    page.get_by_role("checkbox", name="include finished schedules").check()
    expect(schedules(page).get_by_text("finished", exact=True)).to_have_count(2, timeout=A_WHILE_MS)
    expect(log(page).locator(".theirs")).to_have_count(0)
    page.get_by_role("button", name="Go online").click()
    expect(log(page)).to_contain_text("2 scheduled tasks ran while you were away")
    expect(log(page).locator(".theirs")).to_have_count(2)
    for name in ("tea", "cake"):
        expect(log(page).locator(".theirs").filter(has_text=name)).to_contain_text("scheduled")
    visit.keep_screenshot("agents-replay")
    page.get_by_role("button", name="Go offline").click()
    page.get_by_role("button", name="Go online").click()
    expect(presence(page)).to_have_text("online")
    expect(log(page).get_by_text("while you were away")).to_have_count(1)
    expect(log(page).locator(".theirs")).to_have_count(2)
    page.reload()
    expect(presence(page)).to_have_text("online", timeout=A_WHILE_MS)
    expect(log(page).locator(".theirs")).to_have_count(0)


def test_what_fires_while_one_is_there_comes_at_once(program: Site, visit: Visit) -> None:
    page = chat_of(visit, "cleo")
    soon = {"name": HOSTILE, "prompt": HOSTILE, "schedule_type": "one-shot", "delay_seconds": 1}
    program.ask("POST /v1/schedules", soon | {"user_id": "cleo", "agent_id": "helper"})
    came = log(page).locator(".theirs")
    expect(came).to_contain_text("<img src=x", timeout=A_WHILE_MS)
    expect(log(page).get_by_text("while you were away")).to_have_count(0)
    assert page.locator("main img, main script").count() == 0
    expect(page).to_have_title("Agents · Cadenza")


def test_a_schedule_is_made_told_and_deleted(visit: Visit) -> None:
    page = visit.go("/agents?user=dan&agent=helper")
    page.get_by_role("button", name="New schedule").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("Stand-up")
    dialog.get_by_label("Prompt for the agent").fill("say who begins")
    dialog.get_by_label("Type").select_option("recurring")
    dialog.get_by_label("Cron expression").fill("99 9 * * *")
    dialog.get_by_role("button", name="Create schedule").click()
    expect(dialog.locator(".fault, [role=alert]").first).to_be_visible()
    assert visit.axe() == []
    dialog.get_by_label("Cron expression").fill("0 9 * * 1-5")
    dialog.get_by_role("button", name="Create schedule").click()
    expect(dialog.get_by_role("listitem")).to_have_count(3)
    expect(dialog.get_by_role("listitem").first).to_contain_text("Europe/Berlin")
    visit.keep_screenshot("agents-planned")
    dialog.get_by_role("button", name="Done").click()
    expect(schedules(page)).to_contain_text("0 9 * * 1-5 (Europe/Berlin), by helper, for dan")
    schedules(page).get_by_role("button", name="Delete Stand-up").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(schedules(page)).to_contain_text("No schedules for dan.")
    visit.complaints.clear()  # The browser writes the refusal of the cron line into its console.


DESKTOP = ViewportSize(width=1440, height=900)


def press(page: Page, action: str, name: str) -> None:
    schedules(page).get_by_role("button", name=f"{action} {name}", exact=True).click()


@pytest.mark.parametrize(("viewport", "user"), [(DESKTOP, "hal"), (PHONE, "ida")], ids=["1440", "390"])
def test_everything_is_done_to_a_schedule_from_its_list(
    program: Site, viewport: ViewportSize, user: str
) -> None:
    paced = {"interval_seconds": 1_800, "min_interval_seconds": 300, "max_interval_seconds": 7_200}
    wanted = {"name": "Parcel", "prompt": "has it moved?", "schedule_type": "recurring", "user_id": user}
    program.ask("POST /v1/schedules", wanted | paced | {"agent_id": "helper"})
    with program.visit(viewport=viewport) as visit:
        page = visit.go(f"/agents?user={user}&agent=helper")
        edit_schedule(page)
        snooze_pause_and_resume(page, visit)
        run_and_delete(page, visit)
        expect(schedules(page)).to_contain_text(f"No schedules for {user}.")


def edit_schedule(page: Page) -> None:
    listed, dialog = schedules(page), page.get_by_role("dialog")
    expect(listed).to_contain_text("every 30 m, by helper")
    expect(listed).to_contain_text("paced by its agent")
    press(page, "Edit", "Parcel")
    dialog.get_by_label("Name").fill("Post")
    dialog.get_by_label("Every", exact=True).fill("1")
    dialog.get_by_label("Every, unit").select_option("hours")
    dialog.get_by_role("button", name="Save").click()
    expect(listed).to_contain_text("every 1 h, by helper", timeout=A_WHILE_MS)


def snooze_pause_and_resume(page: Page, visit: Visit) -> None:
    listed, dialog = schedules(page), page.get_by_role("dialog")
    press(page, "Snooze", "Post")
    dialog.get_by_role("button", name="Snooze", exact=True).click()
    expect(listed).to_contain_text("snoozed until")
    press(page, "Resume", "Post")
    expect(listed).not_to_contain_text("snoozed until")
    press(page, "Pause", "Post")
    dialog.get_by_label("Reason").fill("on holiday")
    dialog.get_by_role("button", name="Pause", exact=True).click()
    expect(listed.get_by_text("paused", exact=True)).to_be_visible()
    press(page, "Why this time?", "Post")
    expect(dialog).to_contain_text("on holiday")
    assert visit.axe() == []
    dialog.get_by_role("button", name="Close").click()
    press(page, "Resume", "Post")


def run_and_delete(page: Page, visit: Visit) -> None:
    dialog = page.get_by_role("dialog")
    press(page, "Run now", "Post")
    press(page, "History", "Post")
    expect(dialog.get_by_role("listitem")).to_have_count(1, timeout=A_WHILE_MS)
    expect(dialog).to_contain_text("1 message")
    visit.keep_screenshot(f"schedule-history-{page.evaluate('innerWidth')}")
    dialog.get_by_role("button", name="Close").click()
    visit.keep_screenshot(f"schedules-{page.evaluate('innerWidth')}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
    press(page, "Delete", "Post")
    dialog.get_by_role("button", name="Delete", exact=True).click()


def test_a_user_and_an_agent_are_made_and_talk(visit: Visit) -> None:
    page = visit.go("/agents")
    page.get_by_role("button", name="New user").click()
    page.get_by_role("dialog").get_by_label("Id").fill("eve")
    page.get_by_role("dialog").get_by_label("Time zone").fill("Asia/Tokyo")
    page.get_by_role("button", name="Create user").click()
    page.get_by_role("button", name="New agent").click()
    page.get_by_role("dialog").get_by_label("Id").fill("clerk")
    page.get_by_role("dialog").get_by_label("Name").fill("Clerk")
    page.get_by_role("button", name="Create agent").click()
    expect(page).to_have_url(re.compile(r"user=eve&agent=clerk"))
    expect(page.get_by_role("heading", name="Chat with Clerk")).to_be_visible()
    expect(presence(page)).to_have_text("online", timeout=A_WHILE_MS)
    page.get_by_role("button", name="list my reminders").click()
    expect(log(page).locator(".theirs")).to_have_count(1, timeout=A_WHILE_MS)


def test_agents_of_ones_own_are_set_up(visit: Visit, program: Site) -> None:
    page = visit.go("/settings/agents")
    for id_, kind in (("service", "A service of your own"), ("puller", "Processes of your own")):
        page.get_by_role("button", name="New agent").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Id").fill(id_)
        dialog.get_by_label("Name").fill(id_.title())
        choice = dialog.get_by_label("Who answers")
        choice.select_option(label=choice.locator("option", has_text=kind).inner_text())
        expect(dialog.get_by_label("Model", exact=True)).to_have_count(0)
        if id_ == "service":
            dialog.get_by_label("URL").fill("https://agent.example/turns")
            dialog.get_by_role("textbox", name="Signing keys").fill("${secret:signing}")
        page.get_by_role("button", name="Create agent").click()
        expect(dialog).to_have_count(0)
    expect(page.get_by_text("https://agent.example/turns")).to_be_visible()
    expect(page.get_by_text("processes that take turns")).to_be_visible()
    stored = program.ask("GET /v1/agents/service", None)
    assert (stored["runtime"], stored["target"]["signing"]) == ("http", ["${secret:signing}"])
    assert program.ask("GET /v1/agents/puller", None)["target"] is None


def test_an_agent_with_a_model_talks_and_commands_the_canvas(
    browser: Browser, tmp_path: Path, llmock: LLMock
) -> None:
    draw = ToolCall("send_canvas_command", {"command": {"draw": HOSTILE, "x": 7}})
    llmock.add(Reply(tool_calls=(draw,)), Reply("There it is."))
    with site(tmp_path, browser, CADENZA_LLM_MODELS="openai-chat:gpt-4o", **llmock.env()) as program:
        people(program, "ada")
        program.ask("PUT /v1/agents/painter", {"name": "Painter", "model": "openai-chat:gpt-4o"})
        with program.visit() as visit:
            page = chat_of(visit, "ada", "painter")
            say(page, "draw something")
            canvas = log(page).locator(".theirs pre")
            expect(canvas).to_contain_text('"x": 7', timeout=A_WHILE_MS)
            expect(canvas).to_contain_text("<script>alert(1)</script>")
            expect(log(page).locator(".theirs").last).to_contain_text("There it is.")
            visit.keep_screenshot("agents-model")


class BadLine:
    """Between the page and the server: the first frame of these kinds is lost, and the connection with it."""

    def __init__(self, *lost: str) -> None:
        self.said_under: list[str] = []
        """The keys of messages, in the order in which the page sent them."""
        self._lost = lost
        self._broken: WebSocketRoute | None = None

    def __call__(self, page: WebSocketRoute) -> None:
        server = page.connect_to_server()

        def carry(frame: str | bytes, to: WebSocketRoute) -> None:
            words = json.loads(frame)
            if words["type"] == "message":
                self.said_under.append(words["idempotency_key"])
            if self._broken is None and words["type"] in self._lost:
                self._broken = page
                page.close(code=4000)
                server.close()
            elif self._broken is not page:
                to.send(frame)

        page.on_message(lambda frame: carry(frame, server))
        server.on_message(lambda frame: carry(frame, page))


@pytest.mark.parametrize(
    ("user", "lost"),
    [("fay", ["message"]), ("gus", ["subtitle", "answered"])],
    ids=["on the way there", "on the way back"],
)
def test_a_message_is_answered_once_across_a_lost_connection(
    program: Site, visit: Visit, *, user: str, lost: list[str]
) -> None:
    line = BadLine(*lost)
    visit.page.route_web_socket(re.compile("/v1/ws$"), line)
    page = chat_of(visit, user)
    say(page, "remind me in 20 minutes to call back")
    expect(log(page).locator(".theirs")).to_have_count(1, timeout=A_WHILE_MS)
    expect(log(page).locator(".chat-answering")).to_have_count(0)
    assert len(line.said_under) == 2
    assert len(set(line.said_under)) == 1
    assert len(program.ask(f"GET /v1/schedules?user_id={user}")["items"]) == 1
    expect(log(page).locator(".mine")).to_have_count(1)
    expect(log(page).locator(".theirs")).to_have_count(1)


def test_a_message_that_is_refused_says_why(visit: Visit) -> None:
    page = chat_of(visit, "ada", "nobody")
    say(page, "hello?")
    expect(log(page).get_by_role("alert")).to_contain_text("nobody")


def test_an_unknown_user_is_a_sentence(program: Site) -> None:
    with program.visit(complaints=True) as visit:
        page = visit.go("/agents?user=zoe&agent=helper")
        expect(page.locator(".chat").get_by_role("alert")).to_contain_text("User zoe not found.")
        expect(presence(page)).to_have_text("offline")


@pytest.mark.parametrize(("viewport", "dark"), [(DESK, False), (DESK, True), (PHONE, False), (PHONE, True)])
def test_the_page_is_accessible(program: Site, viewport: ViewportSize, *, dark: bool) -> None:
    with program.visit(viewport=viewport, dark=dark) as visit:
        page = chat_of(visit, "ada")
        say(page, "list my reminders")
        expect(log(page).locator(".theirs").last).to_be_visible(timeout=A_WHILE_MS)
        visit.keep_screenshot(f"agents-{viewport['width']}-{'dark' if dark else 'light'}")
        assert visit.axe() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out"
