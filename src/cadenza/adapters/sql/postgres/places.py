"""Where a row is: its page and its number there, as one whole number."""

PAGE = 1 << 16
"""More rows than a page can have."""


def place_of(row: tuple[int, int]) -> int:
    """The place of a row, by its `ctid`."""
    page, number = row
    return page * PAGE + number


def row_at(place: int) -> tuple[int, int]:
    """The `ctid` of a row at a place; a place that is 0 is nowhere."""
    return divmod(place, PAGE)
