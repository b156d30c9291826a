"""The dashboard's files: one page for all its paths, and its assets."""

from mimetypes import guess_type
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

STATIC = Path(__file__).parent / "static"
VIEWS = (
    "login",
    "endpoints",
    "runs",
    "jobs",
    "alerts",
    "simulator",
    "planners",
    "agents",
    "daily",
    "calendars",
    "audit",
    "settings",
)
"""The first parts of the paths that the page handles."""
FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}
ASK_AGAIN = {"Cache-Control": "no-cache"}
MISSING = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Cadenza</title></head>
<body>
<h1>Cadenza</h1>
<p>This installation was made without the dashboard.</p>
<p>The API is documented under <a href="/docs">/docs</a>, for machines in
<a href="/openapi.json">/openapi.json</a>, for language models in <a href="/llms.txt">/llms.txt</a>.</p>
</body>
</html>
"""


class Dashboard:
    """Serves the files that were built into the package."""

    def __init__(self, static: Path = STATIC) -> None:
        self._static = static

    def routes(self) -> list[Route]:
        """The page under each of its addresses, and its assets."""
        views = [Route(f"/{view}{rest}", self._page) for view in VIEWS for rest in ("", "/{rest:path}")]
        return [Route("/", self._page), *views, Route("/assets/{name}", self._asset)]

    async def _page(self, _: Request) -> Response:
        page = self._static / "index.html"
        if not page.is_file():
            return HTMLResponse(MISSING, headers=ASK_AGAIN)
        return FileResponse(page, headers=ASK_AGAIN, media_type="text/html")

    async def _asset(self, request: Request) -> Response:
        """An asset; its name changes with its content."""
        found = self._assets.get(request.path_params["name"])
        if found is None or not found.is_file():
            raise HTTPException(404)
        return FileResponse(found, headers=FOR_EVER, media_type=guess_type(found.name)[0])

    @property
    def _assets(self) -> dict[str, Path]:
        """Assets by name; nothing else is served."""
        return {path.name: path for path in (self._static / "assets").glob("*")}
