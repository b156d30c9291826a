"""The cookie of a session."""

from starlette.types import Scope

from cadenza.surfaces.http.headers import Raw

LASTS_S = 14 * 86_400


def name_for(scope: Scope) -> str:
    """One for each port: cookies do not tell the servers of one machine apart."""
    server = scope.get("server")
    return f"cadenza_session_{server[1] if server else 0}"


def shown(scope: Scope) -> str | None:
    """The secret in the cookie of a request, if there is one."""
    wanted = name_for(scope)
    for header, value in scope["headers"]:
        if header == b"cookie":
            for part in value.decode("latin-1").split(";"):
                name, _, secret = part.strip().partition("=")
                if name == wanted and secret:
                    return str(secret)
    return None


def set_cookie(scope: Scope, secret: str) -> Raw:
    """The header that gives a browser its session."""
    return _header(scope, secret, LASTS_S)


def clear_cookie(scope: Scope) -> Raw:
    """The header that takes it back."""
    return _header(scope, "", 0)


def _header(scope: Scope, secret: str, max_age: int) -> Raw:
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    cookie = f"{name_for(scope)}={secret}; Max-Age={max_age}; Path=/; HttpOnly; SameSite=Strict{secure}"
    return [(b"set-cookie", cookie.encode("latin-1"))]
