"""Secrets from the environment, and the table of places that secrets come from."""

import os
from collections.abc import Collection, Mapping

from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.ports.secrets import Secrets

OURS = "CADENZA_"
PREFIX = "CADENZA_SECRET_"
RESERVED = ("CADENZA_SECRET_KEY", "CADENZA_SECRET_ENV")
"""What begins like this opens all other secrets, or says who may see them."""


class EnvironmentSecrets:
    """Reveals what the operator set aside for targets, and nothing else of the environment.

    Without a list, that is every variable whose name starts with CADENZA_SECRET_,
    for every tenant; the keys of stored secrets are none of them. With a list, it is
    what stands there alone: `NAME` for every tenant, `tenant/NAME` for one.
    """

    def __init__(
        self, *, allowed: Collection[str] | None = None, environment: Mapping[str, str] = os.environ
    ) -> None:
        self._allowed = None if allowed is None else frozenset(map(_checked, allowed))
        self._environment = environment

    async def reveal(self, tenant_id: str, reference: str) -> str:
        """The variable that `env:NAME` names; one that is not set aside is not there."""
        kind, _, name = reference.partition(":")
        if kind == "env" and self._is_set_aside(tenant_id, name) and name in self._environment:
            return self._environment[name]
        raise NotFound(f"There is no secret {reference}; the operator may have to allow it.")

    def _is_set_aside(self, tenant_id: str, name: str) -> bool:
        if self._allowed is None:
            return _is_for_targets(name)
        return name in self._allowed or f"{tenant_id}/{name}" in self._allowed


def _checked(entry: str) -> str:
    """Cadenza's own settings, its database's password among them, are nobody's secrets to send."""
    name = entry.rpartition("/")[2]
    if name.upper().startswith(OURS) and not _is_for_targets(name.upper()):
        raise InvalidRequest(f"{name} is a setting of Cadenza and cannot be revealed to targets.", "allowed")
    return entry


def _is_for_targets(name: str) -> bool:
    return name.startswith(PREFIX) and not name.startswith(RESERVED)


class SecretsByKind:
    """Asks the place that keeps secrets of a reference's kind: `env`, `secret`."""

    def __init__(self, **places: Secrets) -> None:
        self._places = places

    async def reveal(self, tenant_id: str, reference: str) -> str:
        """The value, from the place that its kind names."""
        place = self._places.get(reference.partition(":")[0])
        if place is None:
            raise NotFound(f"There is no secret {reference}; nothing here keeps secrets of its kind.")
        return await place.reveal(tenant_id, reference)
