"""Logins, logouts and wrong logins are on record, and nothing that opens anything is."""

import pytest
from tests.surfaces.api_in_process import ApiInProcess
from tests.surfaces.rest.test_sessions import ADMIN, BrowserSession

from cadenza.domain.access.audit import AuditOutcome, AuditRecord
from cadenza.domain.access.key import Surface
from cadenza.operations.access.sessions import new_link
from cadenza.surfaces.dashboard.login import MOST_RECORDED


@pytest.fixture
def browser(api: ApiInProcess) -> BrowserSession:
    return BrowserSession(api)


async def logins(api: ApiInProcess, tenant_id: str = "north") -> list[AuditRecord]:
    found = await api.store.audit.records(tenant_id)
    return [one for one in found if one.subject_kind == "session"]


async def test_a_login_by_link_and_the_logout_are_recorded(
    api: ApiInProcess, browser: BrowserSession
) -> None:
    code = (await new_link(api.application.dependencies, ADMIN)).secret
    await browser.log_in(code=code)
    await browser.ask("DELETE /v1/session", csrf=browser.csrf)
    await browser.ask("DELETE /v1/session", csrf=browser.csrf)
    out, entered = await logins(api)
    assert (entered.operation, entered.actor.who) == ("log_in", "dashboard")
    assert entered.outcome is AuditOutcome.DONE
    assert (out.operation, out.actor.surface) == ("log_out", Surface.DASHBOARD)
    assert ("by", None, "link") in entered.changes
    assert code not in str((out, entered))


async def test_a_login_by_key_names_the_key_and_so_do_changes_in_its_session(
    api: ApiInProcess, browser: BrowserSession
) -> None:
    token = await api.key()
    await browser.log_in(key=token)
    await browser.ask("POST /v1/jobs", {"name": "new"}, csrf=browser.csrf)
    newest, entered, *_ = await api.store.audit.records("north")
    assert (newest.operation, newest.actor.surface) == ("create_job", Surface.DASHBOARD)
    assert newest.actor.who == entered.actor.who == f"key:{token.split('_')[1]}"
    assert newest.actor.name == entered.actor.name is not None
    assert token not in str((newest, entered))


async def test_a_wrong_login_is_recorded_for_the_tenant_of_the_key_that_it_names(
    api: ApiInProcess, browser: BrowserSession
) -> None:
    wrong = f"cad_{(await api.key()).split('_')[1]}_guess"
    await browser.log_in(key=wrong)
    (refused,) = await logins(api)
    assert (refused.operation, refused.outcome) == ("log_in", AuditOutcome.REFUSED)
    assert "guess" not in str(refused)


async def test_a_flood_of_wrong_logins_does_not_fill_the_audit(
    api: ApiInProcess, browser: BrowserSession
) -> None:
    for number in range(MOST_RECORDED + 5):
        await browser.log_in(code=f"wrong-{number}")
    assert len(await logins(api, "default")) == MOST_RECORDED
    assert await logins(api) == []
    api.clock.jump(60_000)
    await browser.log_in(code="wrong")
    assert len(await logins(api, "default")) == MOST_RECORDED + 1


@pytest.mark.parametrize(
    ("user_agent", "surface"),
    [("cadenza-cli", Surface.CLI), ("cadenza-mcp", Surface.MCP), ("curl/8", Surface.REST)],
)
async def test_a_client_names_its_surface(api: ApiInProcess, user_agent: str, surface: Surface) -> None:
    await api.ask("POST /v1/jobs", {"name": "new"}, user_agent=user_agent)
    (newest, *_) = await api.store.audit.records("north")
    assert newest.actor.surface is surface


async def test_a_repeated_request_is_recorded_once(api: ApiInProcess) -> None:
    for _ in range(3):
        await api.ask("POST /v1/jobs", {"name": "new"}, idempotency_key="once")
    assert [one.operation for one in await api.store.audit.records("north")].count("create_job") == 1
