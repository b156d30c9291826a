"""The identity of daily programmes, and of users within them."""

from typing import NamedTuple

from cadenza.domain.agents.users import UserKey
from cadenza.domain.validation import check_id

DAILY = "daily"
"""The programme that every tenant has, without anything stored about it."""


class ProgrammeKey(NamedTuple):
    """The identity of a programme; the tenant is part of it."""

    tenant_id: str
    id: str = DAILY


class DailyKey(NamedTuple):
    """The identity of a user in a programme."""

    tenant_id: str
    programme_id: str
    user_id: str

    @property
    def user(self) -> UserKey:
        """The user."""
        return UserKey(self.tenant_id, self.user_id)

    @property
    def programme(self) -> ProgrammeKey:
        """The programme."""
        return ProgrammeKey(self.tenant_id, self.programme_id)


def check_programme_id(programme_id: str) -> str:
    """An id that a programme may have."""
    return check_id("programme", programme_id)


def daily_key(tenant_id: str, user_id: str, *, programme_id: str = DAILY) -> DailyKey:
    """The key of a user in a programme, `daily` unless another one is named."""
    return DailyKey(tenant_id, programme_id, user_id)
