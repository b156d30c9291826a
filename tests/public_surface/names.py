"""What programs import, set and compare: public names, settings, codes, scopes and operations."""

import inspect
from enum import EnumType
from types import ModuleType
from typing import Any

from tests.public_surface.internals import (
    ERRORS,
    KINDS,
    NOT_SETTINGS,
    OPERATIONS,
    PREFIX,
    RANK,
    CadenzaError,
    Exit,
    Scope,
    Settings,
    exit_code,
)
from tests.public_surface.naming import parameters
from tests.public_surface.snapshot import Snapshot, prose, without_prose

import cadenza
import cadenza.testing
import cadenza.testing.contracts


def collect_names(into: Snapshot) -> None:
    into.shape("public_names", {one.__name__: _exported(one) for one in _modules()})
    into.shape("contracts", {name: _contract(name) for name in cadenza.testing.contracts.__all__})
    into.shape("settings", _settings())
    into.shape("errors", _errors())
    into.sentences("problems", {kind.type: kind.title for kind in KINDS})
    into.shape("scopes", [str(one) for one in sorted(Scope, key=RANK.__getitem__)])
    _collect_operations(into)


def _modules() -> tuple[ModuleType, ...]:
    return cadenza, cadenza.testing, cadenza.testing.contracts


def _exported(module: ModuleType) -> dict[str, Any]:
    return {name: _described(getattr(module, name)) for name in module.__all__}


def _described(exported: Any) -> dict[str, Any]:
    """How it is called, and what else can be called on it; the values of an enumeration."""
    if isinstance(exported, EnumType):
        return {"values": sorted(exported)}
    called = {"parameters": parameters(exported)}
    if not isinstance(exported, type):
        return called
    if exported.__name__.endswith("Contract"):
        return {}
    return called | {"members": {name: _member(exported, name) for name in _public(exported)}}


def _public(kind: type) -> list[str]:
    """Its public names, without those that every exception has."""
    return sorted(name for name in dir(kind) if not name.startswith("_") and name not in dir(BaseException))


def _member(kind: type, name: str) -> list[str] | None:
    """The parameters of a method; None for what is no method."""
    found = inspect.getattr_static(kind, name)
    return parameters(getattr(kind, name)) if inspect.isroutine(found) else None


def _contract(name: str) -> dict[str, Any]:
    """The tests of a suite, each with the fixtures that it asks for, and the fixtures that it brings."""
    suite = getattr(cadenza.testing.contracts, name)
    tests = [one for one in _public(suite) if one.startswith("test_")]
    asked = {
        one: sorted(inspect.signature(getattr(suite, one)).parameters.keys() - {"self"}) for one in tests
    }
    return {"count": len(tests), "tests": asked, "others": sorted(set(_public(suite)) - set(tests))}


def _settings() -> dict[str, Any]:
    schema = Settings.model_json_schema()
    variables = {
        f"{PREFIX}{name}".upper(): {key: value for key, value in one.items() if key != "title"}
        for name, one in schema["properties"].items()
    }
    return {"variables": variables, "read elsewhere": sorted(NOT_SETTINGS)}


def _errors() -> dict[str, Any]:
    return {
        "problem types": {kind.type: kind.status for kind in KINDS},
        "exit codes": sorted(map(int, Exit)),
        "errors": {
            error.__name__: {"problem type": ERRORS[error].type, "exit code": int(exit_code(error("")))}
            for error in CadenzaError.__subclasses__()
        },
    }


def _collect_operations(into: Snapshot) -> None:
    into.shape("operations", {one.name: _operation(one) for one in OPERATIONS})
    into.sentences("operations", {one.name: one.description for one in OPERATIONS})
    (config,) = [one.schema for one in OPERATIONS if one.name == "apply_config"]
    into.shape("config_file", without_prose(config))
    into.sentences("config_file", prose(config))


def _operation(operation: Any) -> dict[str, Any]:
    route = operation.route
    return {
        "method": route and route.method,
        "path": route and route.path,
        "status": route and route.status,
        "scope": str(operation.scope),
        "tool for agents": operation.agent,
        "shown once": operation.shown_once,
        "open to users": operation.user,
        "writes": operation.writes,
        "takes": without_prose(operation.schema) if route is None else "as in the OpenAPI document",
    }
