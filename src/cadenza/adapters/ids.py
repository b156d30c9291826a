"""Random ids."""

from uuid import uuid4


class RandomIds:
    """Ids that no two processes give twice."""

    def new(self) -> str:
        """A fresh id."""
        return uuid4().hex
