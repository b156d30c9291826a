"""Where service levels stand, as a table."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType

from cadenza.surfaces.cli.output.formatting import Column, many, moment, table, text

COLUMNS = (
    Column("process", lambda item: item["process"]),
    Column("scheduler", lambda item: item["scheduler"]),
    Column("slo", lambda item: item["slo"], whole=True),
    Column("value", lambda item: _number(item["value"]), right=True),
    Column("threshold", lambda item: _number(item["threshold"]), right=True),
    Column("judgement", lambda item: item["judgement"]),
    Column("breached since", lambda item: moment(item["since"]), whole=True),
)
ALERTS = (
    Column("raised", lambda item: moment(item["raised_at"]), whole=True),
    Column("about", lambda item: item["kind"], whole=True),
    Column("", lambda item: item["state"], whole=True),
    Column("what", lambda item: item["text"]),
)


def alerts(found: Any) -> Iterator[RenderableType]:
    """The newest alerts."""
    yield table(found["items"], ALERTS) if found["items"] else text("Nothing was alerted.")


def slo(found: Any) -> Iterator[RenderableType]:
    """All promises; what is breached is counted first."""
    if not found["items"]:
        yield text("No process has evaluated its service levels lately.")
        return
    yield text("All service levels are kept." if not found["breached"] else _breached(found["breached"]))
    yield table(found["items"], COLUMNS)


def _breached(count: int) -> str:
    return f"{many(count, 'service level')} {'is' if count == 1 else 'are'} breached."


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:,.4g}" if abs(value) < 1 else f"{value:,.0f}"
