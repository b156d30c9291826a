"""Secrets in rows that are moved: they travel open, and are sealed anew at the other end."""

from cadenza.adapters.access.secret_keys import KeyFile, KeySource
from cadenza.domain.access.move import Row, StoredTable
from cadenza.domain.errors import Unavailable
from cadenza.ports.secrets import SecretKey


class TravellingSecrets:
    """Opens the secrets in rows that are read, and seals them in rows that are written."""

    def __init__(self, keys: KeySource) -> None:
        self._keys = keys

    def check_sealing(self) -> None:
        """Unavailable if there is no key to seal with; a key file can still be made."""
        if not isinstance(self._keys, KeyFile) or self._keys.path.exists():
            self._keys.sealing_box(first=False)

    def opened(self, table: StoredTable, rows: list[Row]) -> list[Row]:
        """Rows with their secrets open; Unavailable if none of the keys opens one."""
        if not table.secret or not rows:
            return rows
        return [self._opened(table, row) for row in rows]

    def _opened(self, table: StoredTable, row: Row) -> Row:
        place = _place(table, row)
        try:
            value = self._keys.opening_box().open(_value(table, row), place=place)
        except Unavailable as problem:
            words = f"The secret {place.name} of {place.tenant_id} cannot be opened."
            raise Unavailable(f"{words} {problem.message}") from None
        return _with_value(table, row, value)

    def sealed(self, table: StoredTable, rows: list[Row]) -> list[Row]:
        """Rows with their secrets sealed by the current key; Unavailable if there is none."""
        if not table.secret or not rows:
            return rows
        box = self._keys.sealing_box(first=True)
        return [
            _with_value(table, row, box.seal(_value(table, row), place=_place(table, row))) for row in rows
        ]


def _value(table: StoredTable, row: Row) -> str:
    return str(row[table.columns.index("sealed")])


def _with_value(table: StoredTable, row: Row, value: str) -> Row:
    place = table.columns.index("sealed")
    return (*row[:place], value, *row[place + 1 :])


def _place(table: StoredTable, row: Row) -> SecretKey:
    return SecretKey(row[table.columns.index("tenant_id")], row[table.columns.index("name")])
