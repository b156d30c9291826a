"""What must not be shown."""

from typing import Protocol


class Secrets(Protocol):
    """Knows the values that references such as `env:NAME` and `secret:NAME` stand for."""

    async def reveal(self, tenant_id: str, reference: str) -> str:
        """The value, as it is at this moment.

        NotFound if the tenant has none under this reference: one that is
        somebody else's, or that nobody may use, is not there at all.
        """
        ...
