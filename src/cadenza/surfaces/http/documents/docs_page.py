"""`/docs`: Swagger UI from an installed wheel, without external servers or inline scripts."""

from importlib.util import find_spec
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

WHEEL = "fastapi_swagger"
ASSETS = ("swagger-ui.css", "swagger-ui-bundle.js", "favicon-32x32.png")
A_DAY = {"Cache-Control": "public, max-age=86400"}
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cadenza: REST API</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
"""
START = """"use strict";
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "none",
  displayRequestDuration: true,
  validatorUrl: null,
});
"""


async def page(_: Request) -> Response:
    """The page itself."""
    return HTMLResponse(PAGE)


async def asset(request: Request) -> Response:
    """What the page loads."""
    name = request.path_params["name"]
    if name == "start.js":
        return Response(START, media_type="text/javascript")
    if name not in ASSETS:
        raise HTTPException(404)
    return FileResponse(_folder() / name, headers=A_DAY)


def _folder() -> Path:
    """Where the wheel has its files; its Python part is not imported."""
    found = find_spec(WHEEL)
    assert found is not None, "a dependency of this package"
    assert found.origin is not None, "it is an ordinary package"
    return Path(found.origin).parent / "resources"
