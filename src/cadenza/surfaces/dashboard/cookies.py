"""The cookie of a session."""

from starlette.types import Scope

from cadenza.surfaces.http.response import RawHeaders

LASTS_S = 14 * 86_400


def name_for(scope: Scope) -> str:
    """The cookie's name, one for each port: cookies of one host are shared by all its ports."""
    server = scope.get("server")
    return f"cadenza_session_{server[1] if server else 0}"


def session_secret(scope: Scope) -> str | None:
    """The secret in the cookie of a request, if there is one."""
    wanted = name_for(scope)
    for header, value in scope["headers"]:
        if header == b"cookie":
            for part in value.decode("latin-1").split(";"):
                name, _, secret = part.strip().partition("=")
                if name == wanted and secret:
                    return str(secret)
    return None


def set_cookie(scope: Scope, secret: str) -> RawHeaders:
    """The header that sets the session cookie."""
    return _header(scope, secret, LASTS_S)


def clear_cookie(scope: Scope) -> RawHeaders:
    """The header that removes the session cookie."""
    return _header(scope, "", 0)


def _header(scope: Scope, secret: str, max_age: int) -> RawHeaders:
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    cookie = f"{name_for(scope)}={secret}; Max-Age={max_age}; Path=/; HttpOnly; SameSite=Strict{secure}"
    return [(b"set-cookie", cookie.encode("latin-1"))]
