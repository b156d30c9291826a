"""The table of operations as a tree of paths."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import Receive, Scope, Send

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


class OperationRoutes(BaseRoute):
    """All operations with a route, found by the parts of the path as they were sent.

    Each part is decoded by itself: an escaped slash in an id cannot reach another operation.
    """

    def __init__(self, operations: tuple[AnyOperation, ...], service: Service) -> None:
        self._root = Branch()
        for operation in operations:
            if operation.route is not None:
                route = operation.route
                place = self._root.grow(route.path.split("/")[1:])
                place.here[route.method] = ServedOperation(operation, route, service)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Find the operation of a path."""
        parts = _parts(scope)
        if scope["type"] != "http" or parts is None:
            return Match.NONE, {}
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        found = self._root.first(parts)
        if found is not None and method in found[0].here:
            return Match.FULL, {"path_params": found[1], "cadenza.served": found[0].here[method]}
        return self._look(parts, method)

    def _look(self, parts: list[str], method: str) -> tuple[Match, Scope]:
        """Try all matching nodes, because a fixed part may also be an id."""
        allowed: list[str] = []
        for place, values in self._root.places(parts):
            if method in place.here:
                return Match.FULL, {"path_params": values, "cadenza.served": place.here[method]}
            allowed = allowed or list(place.here)
        return (Match.FULL, {"cadenza.allowed": allowed}) if allowed else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the operation that was found."""
        served: ServedOperation | None = scope.get("cadenza.served")
        if served is not None:
            scope["cadenza.operation"] = served.operation.name
            await served.serve(scope, receive, send)
            return
        allow = ", ".join(_methods(scope["cadenza.allowed"]))
        if scope["method"] == "OPTIONS":
            response = RawResponse(NO_CONTENT, [(b"allow", allow.encode())])
        else:
            refusal = Refusal(WRONG_METHOD, f"Here one can {allow}.", {"Allow": allow})
            response = problem_response(describe_problem(refusal, scope["cadenza.request_id"]))
        await response.send(scope, send)

    def url_path_for(self, name: str, /, **path_params: object) -> None:  # type: ignore[override]
        """Routes have no names here, so there is nothing to look up."""
        raise NoMatchFound(name, path_params)


def _methods(allowed: list[str]) -> list[str]:
    return sorted({*allowed, "OPTIONS", *(["HEAD"] if "GET" in allowed else [])})


def _parts(scope: Scope) -> list[str] | None:
    """The parts of a path; None if one is not UTF-8."""
    raw: bytes | None = scope.get("raw_path")
    path = quote(scope["path"]) if raw is None else raw.decode("latin-1").partition("?")[0]
    try:
        return [unquote(part, errors="strict") if "%" in part else part for part in path.split("/")[1:]]
    except UnicodeDecodeError:
        return None
