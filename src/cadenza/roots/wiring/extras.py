"""Optional libraries: whether they are installed, and the command that installs one."""

import sys
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from shlex import join
from typing import NamedTuple

from cadenza.domain.errors import Unavailable
from cadenza.roots.settings import Settings

POSTGRES = ("postgresql://", "postgres://")


class Extra(NamedTuple):
    """An extra of the package: its name, a module that comes with it, and what takes it."""

    name: str
    module: str
    taken_by: str


POSTGRESQL = Extra("postgres", "asyncpg", "PostgreSQL")
LLM = Extra("llm", "pydantic_ai", "A model (CADENZA_LLM_MODEL, CADENZA_LLM_MODELS)")
OTEL = Extra("otel", "opentelemetry.exporter.otlp.proto.http", "OpenTelemetry (CADENZA_OTEL_ENDPOINT)")
MCP = Extra("mcp", "mcp", "MCP")


def check_extras(settings: Settings, *, models: bool = True) -> None:
    """Refuse, before anything is started, settings that take a library which is not installed."""
    wanted = {
        POSTGRESQL: settings.database_url.startswith(POSTGRES),
        LLM: models and bool(settings.llm_model or settings.llm_models),
        OTEL: settings.otel_endpoint is not None,
    }
    for extra, is_wanted in wanted.items():
        if is_wanted and not installed(extra):
            raise missing(extra)


def installed(extra: Extra) -> bool:
    """Whether the library of an extra is there."""
    try:
        return find_spec(extra.module) is not None
    except (ImportError, ValueError):
        return False


def missing(extra: Extra) -> Unavailable:
    """The error of a missing library, with the command that installs it here."""
    packages = _packages(extra.name) or [f"cadenza[{extra.name}]"]
    command = join([sys.executable, "-m", "pip", "install", *packages])
    return Unavailable(f"{extra.taken_by} takes the extra {extra.name}, which `{command}` installs.")


def _packages(extra: str) -> list[str]:
    """What an extra consists of, as pip takes it: the package itself need not be published."""
    try:
        lines = requires("cadenza") or []
    except PackageNotFoundError:
        return []
    parts = [line.partition(";") for line in lines]
    return [
        what.strip() for what, _, when in parts if when.strip().replace('"', "'") == f"extra == '{extra}'"
    ]
