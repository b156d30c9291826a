"""Turns of agents of one's own, as people see them."""

from collections.abc import Iterator
from typing import Any

from cadenza.domain.text_patterns import visible
from cadenza.surfaces.cli.output.formatting import Part, as_json, card, moment, text
from cadenza.surfaces.cli.output.layout import Paragraph


def taken_turn(answer: Any) -> Iterator[Part]:
    """A turn that was taken, with its token and everything that the agent reads."""
    taken = answer["taken"]
    if taken is None:
        yield text("There is no turn to take.")
        return
    yield card(
        {"turn": taken["id"], "attempt": taken["attempt"], "lease until": moment(taken["lease_until"])}
    )
    yield text("The token that answers it is not shown again:")
    yield Paragraph(visible(taken["token"]))
    yield text(as_json(taken["turn"]))


def turn_card(turn: Any) -> Iterator[Part]:
    """Where a turn stands."""
    lease = turn["lease_until"]
    yield card(
        {
            "turn": turn["id"],
            "agent": turn["agent_id"],
            "user": turn["user_id"],
            "state": turn["state"],
            "attempts": turn["attempts"],
            "lease until": None if lease is None else moment(lease),
            "waits until": moment(turn["expires_at"]),
            "refused answers": turn["refused_answers"] or None,
        }
    )


def called_tool(answer: Any) -> Iterator[Part]:
    """What a tool answered, or why it refused."""
    refused = answer["refused"]
    yield text(as_json(answer["result"]) if refused is None else f"Refused: {refused}")
