"""Field types of commands, and lists in pages."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar
from zlib import crc32

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    JsonValue,
    StringConstraints,
)
from pydantic_core import CoreSchema, core_schema

from cadenza.domain.errors import Conflict, InvalidRequest, NotFound
from cadenza.domain.local_time import LONGEST_ZONE
from cadenza.domain.scheduling.endpoint import HIGHEST_PRIORITY
from cadenza.domain.text_patterns import A_ZONE, AN_ID, ONE_LINE, WITHOUT_CONTROL
from cadenza.domain.validation import LONGEST_SPAN_MS, LONGEST_TEXT, as_whole_number
from cadenza.operations.operation import Command, View
from cadenza.ports.catalog import Page

A_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d")
MOST_LISTED = 500
CHECKSUM_BYTES = 4


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within bounds, as JSON has it: 60.0 is one, and neither true nor "60" is."""

    least: int
    most: int

    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        """The schema of an integer, after 60.0 is made 60."""
        number = core_schema.int_schema(strict=True, ge=self.least, le=self.most)
        return core_schema.no_info_before_validator_function(as_whole_number, number)


def _iso_text(value: Any) -> Any:
    """Refuse numbers, which could be seconds or milliseconds."""
    if isinstance(value, datetime) or (isinstance(value, str) and A_MOMENT.match(value)):
        return value
    raise ValueError("must be an ISO 8601 moment such as 2030-01-31T12:00:00Z")


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("lies beyond the calendar in UTC") from None


def _json_object(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    raise ValueError("must be a JSON object")


Id = Annotated[str, StringConstraints(strict=True, pattern=AN_ID)]
Name = Annotated[str, StringConstraints(strict=True, pattern=ONE_LINE, max_length=200)]
ZoneName = Annotated[Name, Field(json_schema_extra={"pattern": A_ZONE, "maxLength": LONGEST_ZONE})]
"""Zones are looked up later, so that one sentence refuses all that are none."""
Text = Annotated[str, StringConstraints(strict=True, pattern=WITHOUT_CONTROL, max_length=LONGEST_TEXT)]
Span = Annotated[int, Whole(1, LONGEST_SPAN_MS)]
SpanFromZero = Annotated[int, Whole(0, LONGEST_SPAN_MS)]
Priority = Annotated[int, Whole(-HIGHEST_PRIORITY, HIGHEST_PRIORITY)]
IF_GIVEN = Field(default=None, exclude_if=lambda value: value is None)
"""What is left out of JSON if it is left out."""
Flag = Annotated[bool, Field(strict=True)]
IsoText = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Moment = Annotated[
    AwareDatetime, BeforeValidator(_iso_text, json_schema_input_type=IsoText), AfterValidator(_in_utc)
]
Labels = Annotated[dict[str, str], Field(max_length=32)]
Metadata = Annotated[
    dict[str, JsonValue], BeforeValidator(_json_object, json_schema_input_type=dict[str, JsonValue])
]
Limit = Annotated[int, Whole(1, MOST_LISTED)]
Cursor = Annotated[str, StringConstraints(strict=True, max_length=400)]


Item = TypeVar("Item")


def write_cursor(list_name: str, position: str) -> str:
    """A position in a list as callers get it: with a checksum, by which the cursor of no list is told."""
    return urlsafe_b64encode(_checksum(list_name, position) + position.encode()).decode().rstrip("=")


def read_cursor(list_name: str, cursor: str) -> str:
    """The position of a cursor; InvalidRequest if it is none of this list."""
    try:
        raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        position = raw[CHECKSUM_BYTES:].decode()
    except ValueError:
        raise no_cursor() from None
    if raw[:CHECKSUM_BYTES] != _checksum(list_name, position) or not position.isprintable():
        raise no_cursor()
    return position


def _checksum(list_name: str, position: str) -> bytes:
    return crc32(f"{list_name} {position}".encode()).to_bytes(CHECKSUM_BYTES)


def no_cursor() -> InvalidRequest:
    """The refusal of a cursor that no page gave out."""
    return InvalidRequest("cursor must be the next_cursor of an earlier page of this list.", "cursor")


class Put(Command):
    """Something under a given name: new, or in place of what has that name."""

    only_new: Flag = False
    """Refuse with 409 what would replace something."""

    async def refuse_existing(self, what: str, find: Callable[[], Awaitable[object]]) -> None:
        """Raise Conflict if only something new is wanted, and `find` does not raise NotFound."""
        if self.only_new:
            with suppress(NotFound):
                await find()
                raise Conflict(f"There is {what} already.")


class Paged(Command):
    """A part of a list."""

    limit: Limit = 100
    """How many, at most."""
    cursor: Cursor | None = None
    """The `next_cursor` of the page before."""

    def page(self) -> Page:
        """The page to read: one item more than the limit, to see whether there is a next page."""
        return Page(self.limit + 1, self.cursor)


class Listed(View, Generic[Item]):
    """A page of a list."""

    items: list[Item]
    next_cursor: str | None = None
    """Where the next page begins; null at the end."""


def split_page(found: Sequence[Item], limit: int) -> tuple[list[Item], bool]:
    """The items of the page, and whether there is a next one."""
    return list(found[:limit]), len(found) > limit
