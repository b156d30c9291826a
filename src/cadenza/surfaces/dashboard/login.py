"""`/v1/session`: log in, show the session, log out."""

from datetime import datetime
from functools import partial

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from starlette.requests import Request
from starlette.routing import Route

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import InvalidRequest
from cadenza.operations.access import sessions
from cadenza.operations.access.sessions import NewSession
from cadenza.surfaces.dashboard import cookies
from cadenza.surfaces.dashboard.responses import as_endpoint, clocks
from cadenza.surfaces.http.auth import Authenticator, address_of, unauthorized
from cadenza.surfaces.http.request import body_of, json_arguments, refuse_body
from cadenza.surfaces.http.response import JSON_TYPE, RawResponse

PATH = "/v1/session"
LARGEST_LOGIN = 4_096
"""Bytes of a body with a key or code: whoever sends it is not known yet."""


class Credentials(BaseModel):
    """Either the code of a link, or a key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    code: str | None = Field(default=None, strict=True, min_length=1, max_length=200)
    key: str | None = Field(default=None, strict=True, min_length=1, max_length=200)

    @model_validator(mode="after")
    def one(self) -> "Credentials":
        """Exactly one of them."""
        if (self.code is None) == (self.key is None):
            raise ValueError("give either code or key")
        return self


MOST_RECORDED = 10
"""Failed logins in a minute that each process records; a flood of them must not fill the audit."""


class RecordedFailures:
    """Counts the failed logins of this minute that were recorded."""

    def __init__(self) -> None:
        self._minute, self._count = 0, 0

    def may_record(self, now: datetime) -> bool:
        """Whether one more is recorded."""
        minute = int(now.timestamp() // 60)
        self._count = self._count + 1 if minute == self._minute else 1
        self._minute = minute
        return self._count <= MOST_RECORDED


class Login:
    """The routes of sessions."""

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self._dependencies = authenticator.application.dependencies
        self._recorded = RecordedFailures()

    def routes(self) -> list[Route]:
        """Its routes, one for each method."""
        methods = {"POST": self._log_in, "GET": self._show, "DELETE": self._log_out}
        return [Route(PATH, as_endpoint(answer), methods=[method]) for method, answer in methods.items()]

    async def _log_in(self, request: Request) -> RawResponse:
        body = await body_of(request.scope, request.receive, largest=LARGEST_LOGIN)
        given = _credentials(json_arguments(request.scope, body))
        look_up = partial(self._enter, given, address_of(request.scope))
        entered = await self._authenticator.check(request.scope, look_up)
        if entered is None:
            field = "key" if given.key else "code"
            raise InvalidRequest(REFUSED[field], field)
        return self._session_response(entered, request, new=True)

    async def _enter(self, given: Credentials, address: str) -> NewSession | None:
        log_in = sessions.log_in_by_key if given.key else sessions.log_in_by_code
        entered = await log_in(self._dependencies, given.key or given.code or "", address)
        if entered is None and self._recorded.may_record(self._dependencies.system_now()):
            await sessions.record_failed_login(self._dependencies, key=given.key, address=address)
        return entered

    async def _show(self, request: Request) -> RawResponse:
        refuse_body(request.scope)
        secret = cookies.session_secret(request.scope)
        session = None if secret is None else await sessions.valid_session(self._dependencies, secret)
        if secret is None or session is None:
            raise unauthorized("Not logged in.")
        return self._session_response(NewSession(secret, session), request, new=False)

    async def _log_out(self, request: Request) -> RawResponse:
        refuse_body(request.scope)
        secret = cookies.session_secret(request.scope)
        if secret is not None:
            self._authenticator.must_show_csrf(request.scope, secret)
            await sessions.log_out(self._dependencies, secret)
        return RawResponse(204, cookies.clear_cookie(request.scope))

    def _session_response(self, entered: NewSession, request: Request, *, new: bool) -> RawResponse:
        session = entered.session
        words = {
            "tenant_id": session.tenant_id,
            "scopes": [scope for scope in Scope if scope in session.scopes],
            "csrf": sessions.csrf_token(entered.secret),
            "expires_at": session.expires_at,
        }
        body = orjson.dumps(words | clocks(self._dependencies), option=orjson.OPT_UTC_Z)
        headers = cookies.set_cookie(request.scope, entered.secret) if new else []
        length = (b"content-length", b"%d" % len(body))
        return RawResponse(201 if new else 200, [JSON_TYPE, length, *headers], body)


REFUSED = {
    "key": "This key is invalid, expired or deleted, or is for one user only.",
    "code": "This link was used already, or is too old. Log in with a key; `cadenza login` prints a link.",
}


def _credentials(words: dict[str, object]) -> Credentials:
    try:
        return Credentials.model_validate(words)
    except ValidationError:
        raise InvalidRequest("Give either code or key, as a text.", "key") from None
