"""The dashboard's files: one page under all its addresses, assets by their names, and nothing else."""

from pathlib import Path

import pytest
from starlette.applications import Starlette
from tests.surfaces.api_in_process import ApiInProcess

from cadenza.surfaces.dashboard.pages import VIEWS, Dashboard

PAGE = '<!doctype html><script type="module" src="/assets/index-abc.js"></script>'


@pytest.fixture
def built(tmp_path: Path) -> ApiInProcess:
    """An API with a dashboard of the test's own."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "assets" / "index-abc.js").write_text("export {};")
    (tmp_path / "secret.txt").write_text("not an asset")
    api = ApiInProcess()
    app = Starlette(routes=Dashboard(tmp_path).routes())
    app.router.redirect_slashes = False
    api.app = app
    return api


@pytest.mark.parametrize("path", ["/", *(f"/{view}" for view in VIEWS), "/endpoints/a%2Fb", "/endpoints/a/b"])
async def test_every_view_is_the_one_page_and_asked_for_anew(built: ApiInProcess, path: str) -> None:
    answer = await built.ask(f"GET {path}", by=None)
    assert (answer.status, answer.body.decode()) == (200, PAGE)
    assert answer.headers["cache-control"] == "no-cache"


async def test_assets_are_kept_for_ever(built: ApiInProcess) -> None:
    answer = await built.ask("GET /assets/index-abc.js", by=None)
    assert answer.status == 200
    assert "javascript" in answer.headers["content-type"]
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize(
    "path",
    ["/assets/other.js", "/assets/..%2Fsecret.txt", "/assets/%2e%2e/secret.txt", "/nowhere", "/secret.txt"],
)
async def test_nothing_else_is_found(built: ApiInProcess, path: str) -> None:
    assert (await built.ask(f"GET {path}", by=None)).status == 404


BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"
LIKE_JSON = (
    "application/json",
    "*/*",
    "application/json, text/html;q=0.5",
    "text/html;q=0.2, application/*;q=0.7",
    "text/html;q=0, */*",
    "text/html;q=much",
)


@pytest.mark.parametrize("path", ["/nowhere", "/v1/nowhere", "/endpoint/<script>", "/problems/none"])
async def test_an_unknown_address_shows_browsers_a_page_with_a_way_back(api: ApiInProcess, path: str) -> None:
    answer = await api.ask(f"GET {path}", by=None, accept=BROWSER)
    assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert b'href="/"' in answer.body
    assert b"<script>" not in answer.body
    for accept in LIKE_JSON:
        problem = await api.ask(f"GET {path}", by=None, accept=accept)
        assert (problem.status, problem.problem) == (404, "not-found")


async def test_without_a_dashboard_the_first_page_leads_to_the_documentation(tmp_path: Path) -> None:
    api = ApiInProcess()
    api.app = Starlette(routes=Dashboard(tmp_path).routes())
    answer = await api.ask("GET /", by=None)
    assert answer.status == 200
    assert b'href="/docs"' in answer.body


async def test_the_pages_policy_allows_nothing_inline_and_nothing_from_elsewhere(api: ApiInProcess) -> None:
    policy = (await api.ask("GET /", by=None)).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http:" not in policy
    assert "https:" not in policy
