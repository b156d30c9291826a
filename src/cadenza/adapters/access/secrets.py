"""Secrets from environment variables, and the resolver that chooses by the kind of a reference."""

import os
from collections.abc import Collection, Mapping

from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.ports.secrets import SecretResolver

OURS = "CADENZA_"
PREFIX = "CADENZA_SECRET_"
KEYS, LIST = "CADENZA_SECRET_KEY", "CADENZA_SECRET_ENV"
"""What decrypts other secrets begins with the first; the second says which may be used. Never revealed."""


class EnvironmentSecrets:
    """Reveals the variables that the operator allows for targets, and nothing else of the environment.

    Without a list, that is every variable whose name starts with CADENZA_SECRET_,
    for every tenant; the keys of stored secrets are none of them. With a list, it is
    only what is listed: `NAME` for every tenant, `tenant/NAME` for one.
    """

    def __init__(
        self, *, allowed: Collection[str] | None = None, environment: Mapping[str, str] = os.environ
    ) -> None:
        self._allowed = None if allowed is None else frozenset(map(_checked, allowed))
        self._environment = environment

    async def reveal(self, tenant_id: str, reference: str) -> str:
        """The variable that `env:NAME` names; NotFound if it is not allowed."""
        kind, _, name = reference.partition(":")
        if kind == "env" and self._is_allowed(tenant_id, name) and name in self._environment:
            return self._environment[name]
        raise NotFound(f"Secret {reference} not found; the operator may have to allow it.")

    def _is_allowed(self, tenant_id: str, name: str) -> bool:
        if self._allowed is None:
            return _is_for_targets(name)
        return name in self._allowed or f"{tenant_id}/{name}" in self._allowed


def _checked(entry: str) -> str:
    """Cadenza's own settings, its database password among them, may not be revealed."""
    name = entry.rpartition("/")[2]
    if name.upper().startswith(OURS) and not _is_for_targets(name.upper()):
        raise InvalidRequest(f"{name} is a setting of Cadenza and cannot be revealed to targets.", "allowed")
    return entry


def _is_for_targets(name: str) -> bool:
    return name.startswith(PREFIX) and not name.startswith(KEYS) and name != LIST


class SecretsByKind:
    """Resolves a reference by its kind: `env` or `secret`."""

    def __init__(self, **resolvers: SecretResolver) -> None:
        self._resolvers = resolvers

    async def reveal(self, tenant_id: str, reference: str) -> str:
        """The value, from the resolver of its kind."""
        resolver = self._resolvers.get(reference.partition(":")[0])
        if resolver is None:
            raise NotFound(f"Secret {reference} not found: secrets of this kind are not configured.")
        return await resolver.reveal(tenant_id, reference)
