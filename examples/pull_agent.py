"""An agent as a process of its own: python pull_agent.py http://127.0.0.1:8700 AGENT, with CADENZA_KEY set.

It takes the turns of one agent, one at a time, and answers them. Start as many as you like.
"""

import json
import os
import sys
import threading
import time
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

LEASE_S = 5
GONE, NOT_MINE, TOO_MANY, OURS = 404, 409, 429, 500


class Cadenza:
    """Asks the API, and asks again while no server answers."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._key = key

    def ask(self, path: str, body: Any) -> Any:
        """The answer to a POST; HTTPError if the server refuses it."""
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        while True:
            address, content = f"{self._url}/v1/agent-turns/{path}", json.dumps(body).encode()
            request = Request(address, content, headers)  # noqa: S310 - The address is your own.
            try:
                with urlopen(request, timeout=60) as answer:  # noqa: S310 - As above.
                    return json.load(answer)
            except HTTPError as refusal:
                if refusal.code < OURS and refusal.code != TOO_MANY:
                    raise
            except (URLError, OSError):
                pass
            time.sleep(0.5)


def main(url: str, agent_id: str) -> None:
    """Take turns and answer them, for ever."""
    cadenza = Cadenza(url, os.environ["CADENZA_KEY"])
    while True:
        asked = {"agent_id": agent_id, "wait_seconds": 20, "lease_seconds": LEASE_S}
        taken = cadenza.ask("take", asked)["taken"]
        if taken is not None:
            try:
                answer_turn(cadenza, taken)
            except HTTPError as refusal:
                if refusal.code not in (NOT_MINE, GONE):
                    raise
                print(f"turn {taken['id']} is not mine any more", file=sys.stderr)


def answer_turn(cadenza: Cadenza, taken: Any) -> None:
    """Answer one turn, and renew its lease meanwhile."""
    path, token, done = taken["id"], {"turn_token": taken["token"]}, threading.Event()
    threading.Thread(target=renew, args=(cadenza, path, token, done), daemon=True).start()

    def call(tool: str, **arguments: Any) -> Any:
        """Call a tool on behalf of the user: a refusal is in `refused`."""
        return cadenza.ask(f"{path}/tools/{tool}", {**token, "arguments": arguments})

    try:
        cadenza.ask(f"{path}/answer", {**token, "messages": think(taken["turn"], call)})
    finally:
        done.set()


def renew(cadenza: Cadenza, path: str, token: Any, done: threading.Event) -> None:
    """Renew the lease until the turn is done, or somebody else's."""
    while not done.wait(LEASE_S / 3):
        try:
            cadenza.ask(f"{path}/renew", {**token, "lease_seconds": LEASE_S})
        except HTTPError:
            return


def think(turn: Any, call: Any) -> list[str]:
    """What the user reads: this is where your own agent goes."""
    if "list" in turn["words"]:
        schedules = call("list_schedules")["result"]
        return [f"You have {len(schedules)} schedules."]
    return [f"You asked for this: {turn['words']}"]


if __name__ == "__main__":
    main(*sys.argv[1:])
