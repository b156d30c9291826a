"""`cadenza daily import`: every line is checked before the first user is stored."""

import csv
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from cadenza.domain.daily.user import A_DUE_TIME, DUE_TIME_FORM
from cadenza.domain.daily.zones import check_timezone
from cadenza.domain.errors import MOST_FAULTS, Fault, InvalidRequest
from cadenza.domain.json_values import unreadable_json
from cadenza.domain.text_patterns import AN_ID
from cadenza.domain.wording import text_in_words
from cadenza.surfaces.cli.connection import OperationClient
from cadenza.surfaces.cli.output.terminal import counting
from cadenza.surfaces.cli.parameters import present

FIELDS = ("user_id", "due_time", "timezone")
REQUIRED = FIELDS[:2]
AT_ONCE = 1_000
MOST_REPORTED = MOST_FAULTS - 2
"""Beside them, it is told how many more there are, and that nothing was taken."""
LONGEST_LINE = 4_096
STANDARD_INPUT = "-"

User = dict[str, str]


class InvalidLine(Exception):
    """A line that is not valid."""


class Line(NamedTuple):
    """One line, by its number in the file."""

    number: int
    user: User | None
    wrong: str = ""


class FileLines:
    """The lines of a file that can be read twice, one at a time."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def __iter__(self) -> Iterator[Line]:
        self._file.seek(0)
        for number, raw in enumerate(self._raw(), 1):
            try:
                user = _user(raw, number)
            except InvalidLine as problem:
                yield Line(number, None, str(problem))
                continue
            if user is not None:
                yield Line(number, user)

    def users(self) -> Iterator[User]:
        """The users of valid lines."""
        return (line.user for line in self if line.user is not None)

    def _raw(self) -> Iterator[bytes]:
        while raw := self._file.readline(LONGEST_LINE + 1):
            yield raw
            while len(raw) > LONGEST_LINE and not raw.endswith(b"\n"):
                raw = self._file.readline(LONGEST_LINE + 1)


@contextmanager
def open_lines(name: str) -> Iterator[FileLines]:
    """The lines of a file, or of standard input, which is copied to a temporary file."""
    if name == STANDARD_INPUT:
        with tempfile.TemporaryFile() as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
            yield FileLines(copy)
        return
    try:
        file = Path(name).open("rb")  # noqa: SIM115 - it is closed below, apart from what goes wrong here
    except OSError as problem:
        raise InvalidRequest(f"{name} cannot be read: {problem.strerror}.", "file") from None
    with file:
        yield FileLines(file)


async def import_users(
    client: OperationClient, lines: FileLines, programme: str | None = None
) -> dict[str, Any]:
    """Store all users, a thousand in one commit; after an interruption it can be run again."""
    total, of_programme = _checked(lines), present(programme=programme)
    done = 0
    with counting("importing…", total=total) as progress:
        for users in _batches(lines.users()):
            await client.ask("put_daily_users", {"users": list(users), **of_programme})
            done += len(users)
            progress(done)
    return {"lines": done}


def _checked(lines: FileLines) -> int:
    """The number of users; InvalidRequest with the first invalid lines, if there are any."""
    count, faults, wrong = 0, list[Fault](), 0
    with counting("checking…") as progress:
        for line in lines:
            if line.user is None:
                wrong += 1
                if len(faults) < MOST_REPORTED:
                    faults.append(Fault(f"line {line.number}", line.wrong))
            else:
                count += 1
                if count % AT_ONCE == 0:
                    progress(count)
    if wrong > len(faults):
        faults.append(Fault("and", f"{wrong - len(faults):,} more invalid lines."))
    if faults:
        first = f"Nothing was imported: {faults[0].field}: {faults[0].message}"
        raise InvalidRequest(first, "file", [*faults, Fault("nothing was imported", "correct these lines.")])
    return count


def _batches(users: Iterable[User]) -> Iterator[Sequence[User]]:
    batch: list[User] = []
    for user in users:
        batch.append(user)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def _user(raw: bytes, number: int) -> User | None:
    """The user of a line; None for an empty line and for the header."""
    if len(raw) > LONGEST_LINE:
        raise InvalidLine(f"it is longer than {LONGEST_LINE:,} bytes.")
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
    except UnicodeDecodeError:
        raise InvalidLine("it is not UTF-8.") from None
    if not text:
        return None
    user = _from_json(text) if text.startswith("{") else _from_csv(text, number)
    return None if user is None else _checked_user(user)


def _from_json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise InvalidLine(f"{unreadable_json(problem)}.") from None
    if not isinstance(found, dict) or not set(REQUIRED) <= found.keys() <= set(FIELDS):
        raise InvalidLine('it must be {"user_id": "...", "due_time": "HH:MM"}, or have a timezone, too.')
    return found


def _from_csv(text: str, number: int) -> dict[str, Any] | None:
    try:
        cells = [cell.strip() for cell in next(csv.reader([text], strict=True))]
    except csv.Error:
        raise InvalidLine("it is not CSV.") from None
    if number == 1 and tuple(cells) in (REQUIRED, FIELDS):
        return None
    if not len(REQUIRED) <= len(cells) <= len(FIELDS):
        raise InvalidLine(f"it has {len(cells)} columns; expected user_id,due_time[,timezone].")
    return {name: cell for name, cell in zip(FIELDS, cells, strict=False) if cell or name in REQUIRED}


def _checked_user(user: dict[str, Any]) -> User:
    user_id, due_time = user["user_id"], user["due_time"]
    if not isinstance(user_id, str) or not re.fullmatch(AN_ID, user_id):
        raise InvalidLine(f"user_id must be {text_in_words(AN_ID)}.")
    if not isinstance(due_time, str) or not A_DUE_TIME.fullmatch(due_time):
        raise InvalidLine(f"due_time must be {DUE_TIME_FORM}.")
    return {"user_id": user_id, "due_time": due_time, **_checked_zone(user)}


def _checked_zone(user: dict[str, Any]) -> User:
    if "timezone" not in user:
        return {}
    try:
        return {"timezone": check_timezone(user["timezone"])}
    except InvalidRequest as problem:
        raise InvalidLine(problem.message) from None
