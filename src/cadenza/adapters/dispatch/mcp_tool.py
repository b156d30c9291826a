"""Calls tools of MCP servers over streamable HTTP; each message is an exchange of the HTTP dispatcher."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from cadenza.domain.job_failure import ErrorClass
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.target import MCP_SESSION, McpTarget
from cadenza.ports.dispatcher import Dispatcher

PROTOCOL = "2025-06-18"
VERSION_HEADER = "mcp-protocol-version"
CLIENT: Json = {
    "protocolVersion": PROTOCOL,
    "capabilities": {},
    "clientInfo": {"name": "cadenza", "version": "1"},
}
LONGEST_REASON = 200


class McpDispatcher:
    """Opens a session, calls the tool once, and ends the session.

    Guarded addresses, secrets, timeouts and sizes are those of HTTP targets, as the exchanges are.
    """

    def __init__(self, http: Dispatcher) -> None:
        self._http = http

    async def execute(self, claim: Claim) -> Outcome:
        """Call the claimed endpoint's tool once; what it returns is the response."""
        target: object = claim.endpoint.target
        assert isinstance(target, McpTarget), "only tools come here"
        session = _Session(self._http, claim, target)
        try:
            answer = await session.call_tool()
        except _Failed as failed:
            return failed.outcome._replace(duration_ms=session.took_ms)
        finally:
            await session.end()
        return Outcome(RunStatus.SUCCESS, session.took_ms, response=answer)


class _Failed(Exception):
    """An exchange that did not bring what was asked for."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.error)
        self.outcome = outcome


class _Session:
    """The messages of one call, in order."""

    def __init__(self, http: Dispatcher, claim: Claim, target: McpTarget) -> None:
        self._http = http
        self._claim = claim
        self._target = target
        self._headers: dict[str, str] = {}
        self._sent = 0
        self.took_ms = 0

    async def call_tool(self) -> Json:
        opened = await self._ask("initialize", CLIENT)
        version = opened.get("protocolVersion")
        self._headers[VERSION_HEADER] = version if isinstance(version, str) else PROTOCOL
        await self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        call: Json = {"name": self._target.tool, "arguments": dict(self._target.arguments)}
        return _answer(await self._ask("tools/call", call))

    async def end(self) -> None:
        """Let the server forget the session, if it has one; it may refuse, and then forgets it later."""
        if MCP_SESSION in self._headers:
            await self._exchange(None, "DELETE")

    async def _ask(self, method: str, params: Json) -> Mapping[str, Any]:
        """The result of a request; _Failed for an error."""
        number = self._sent + 1
        outcome = await self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for message in _messages(outcome.response):
            if isinstance(message, dict) and message.get("id") == number:
                return _result(method, message)
        raise _failure(f"the server did not answer {method}")

    async def _send(self, message: Json) -> Outcome:
        outcome = await self._exchange(message, "POST")
        if outcome.status is not RunStatus.SUCCESS:
            raise _Failed(outcome)
        headers = _part(outcome.response, "headers")
        if isinstance(headers, dict) and isinstance(session := headers.get(MCP_SESSION), str):
            self._headers[MCP_SESSION] = session
        return outcome

    async def _exchange(self, message: Json, method: str) -> Outcome:
        """One exchange, under a key of its own: a server may take equal keys for the same request."""
        self._sent += 1
        endpoint = self._claim.endpoint
        request = self._target.request(message, self._headers, method)
        own = evolve(endpoint, target=request, id=f"{endpoint.id}/{self._sent}")
        outcome = await self._http.execute(self._claim._replace(endpoint=own))
        self.took_ms += outcome.duration_ms
        return outcome


def _part(response: Json, name: str) -> Json:
    return response.get(name) if isinstance(response, dict) else None


def _messages(response: Json) -> Iterator[Json]:
    """The messages of an answer: its JSON, or the events of its stream."""
    if (body := _part(response, "body")) is not None:
        yield body
    text = _part(response, "text")
    if not isinstance(text, str):
        return
    for event in text.replace("\r\n", "\n").split("\n\n"):
        data = [line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:")]
        try:
            yield orjson.loads("\n".join(data))
        except orjson.JSONDecodeError:
            continue


def _result(method: str, message: Mapping[str, Json]) -> Mapping[str, Any]:
    result, error = message.get("result"), message.get("error")
    if not isinstance(result, dict):
        raise _failure(f"the server refused {method}: {str(_part(error, 'message'))[:LONGEST_REASON]}")
    return result


def _answer(result: Mapping[str, Any]) -> Json:
    """What a tool returned: its structured content or, if it has none, its text, read as JSON if it is."""
    content = result.get("content")
    parts = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    text = "\n".join(str(one["text"]) for one in parts if one.get("type") == "text" and "text" in one)
    if result.get("isError"):
        raise _failure(f"the tool failed: {text[:LONGEST_REASON]}")
    structured: Json = result.get("structuredContent")
    if structured is not None:
        return structured
    try:
        read: Json = orjson.loads(text.replace("\\u0000", "\\ufffd"))
    except orjson.JSONDecodeError:
        return text
    return read


def _failure(error: str) -> _Failed:
    return _Failed(Outcome(RunStatus.FAILURE, error=error, error_class=ErrorClass.REQ))
