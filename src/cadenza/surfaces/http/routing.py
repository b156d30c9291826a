"""The table of operations as a tree of paths."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from cadenza.operations.operation import NO_CONTENT, AnyOperation
from cadenza.surfaces.http.problems import WRONG_METHOD, Refusal, describe_problem
from cadenza.surfaces.http.response import RawResponse, problem_response
from cadenza.surfaces.http.service import ServedOperation, Service


@dataclass(slots=True)
class Branch:
    """A node of the tree: operations by method, and the nodes below it."""

    here: dict[str, ServedOperation] = field(default_factory=dict)
    words: dict[str, "Branch"] = field(default_factory=dict)
    value: tuple[str, "Branch"] | None = None

    def grow(self, parts: list[str]) -> "Branch":
        """The node of a path, added if it is not there."""
        if not parts:
            return self
        part, *rest = parts
        if not part.startswith("{"):
            return self.words.setdefault(part, Branch()).grow(rest)
        if self.value is None:
            self.value = (part.strip("{}"), Branch())
        assert self.value[0] == part.strip("{}"), "one node, one parameter name"
        return self.value[1].grow(rest)

    def first(self, parts: list[str]) -> tuple["Branch", dict[str, str]] | None:
        """The node of a path, when fixed parts are preferred; None if there is none."""
        place, values = self, {}
        for part in parts:
            branch = place.words.get(part)
            if branch is None:
                if place.value is None or not part:
                    return None
                name, branch = place.value
                values[name] = part
            place = branch
        return place, values

    def places(self, parts: list[str]) -> Iterator[tuple["Branch", dict[str, str]]]:
        """All nodes that match a path, with its values; fixed parts are tried first."""
        if not parts:
            yield self, {}
            return
        part, *rest = parts
        if part in self.words:
            yield from self.words[part].places(rest)
        if self.value is not None and part:
            name, branch = self.value
            for place, values in branch.places(rest):
                yield place, {name: part, **values}


NOWHERE: tuple[Branch, dict[str, str]] = (Branch(), {})


class OperationRouter:
    """Serves all operations with a route; the application behind it gets every other request.

    An operation is found by the parts of the path as they were sent. Each part is decoded by
    itself: an escaped slash in an id cannot reach another operation.
    """

    def __init__(self, app: ASGIApp, *, operations: tuple[AnyOperation, ...], service: Service) -> None:
        self._app = app
        self._root = Branch()
        for operation in operations:
            if operation.route is not None:
                route = operation.route
                place = self._root.grow(route.path.split("/")[1:])
                place.here[route.method] = ServedOperation(operation, route, service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        parts = _parts(scope) if scope["type"] == "http" else None
        if parts is None:
            await self._app(scope, receive, send)
            return
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        place, values = self._root.first(parts) or NOWHERE
        if method not in place.here:
            place, values = self._look(parts, method)
        served = place.here.get(method)
        if served is not None:
            await served.serve(scope, receive, send, values=values)
        elif place.here:
            await _refuse_method(scope, send, place.here)
        else:
            await self._app(scope, receive, send)

    def _look(self, parts: list[str], method: str) -> tuple[Branch, dict[str, str]]:
        """Try all matching nodes, because a fixed part may also be an id."""
        found = [place for place in self._root.places(parts) if place[0].here]
        return next((place for place in found if method in place[0].here), [*found, NOWHERE][0])


async def _refuse_method(scope: Scope, send: Send, allowed: Iterable[str]) -> None:
    """Say what one can do with a path."""
    allow = ", ".join(_methods(allowed))
    if scope["method"] == "OPTIONS":
        response = RawResponse(NO_CONTENT, [(b"allow", allow.encode())])
    else:
        refusal = Refusal(WRONG_METHOD, f"Here one can {allow}.", {"Allow": allow})
        response = problem_response(describe_problem(refusal, scope["cadenza.request_id"]))
    await response.send(scope, send)


def _methods(allowed: Iterable[str]) -> list[str]:
    return sorted({*allowed, "OPTIONS", *(["HEAD"] if "GET" in allowed else [])})


def _parts(scope: Scope) -> list[str] | None:
    """The parts of a path; None if one is not UTF-8."""
    raw: bytes | None = scope.get("raw_path")
    path = quote(scope["path"]) if raw is None else raw.decode("latin-1").partition("?")[0]
    try:
        parts = path.split("/")[1:]
        return [unquote(part, errors="strict") for part in parts] if "%" in path else parts
    except UnicodeDecodeError:
        return None
