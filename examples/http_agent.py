"""An agent as a service: python http_agent.py PORT, with SIGNING_KEY set as in Cadenza (whsec_…).

Short messages are answered at once, those with the word "later" by the callback.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

KEY = base64.b64decode(os.environ["SIGNING_KEY"].removeprefix("whsec_"))
TOLERANCE_S = 300
OK, ACCEPTED, UNAUTHORIZED, TOO_MANY, OURS = 200, 202, 401, 429, 500


class Turns(BaseHTTPRequestHandler):
    """Takes turns from Cadenza."""

    def do_POST(self) -> None:
        """Answer a turn, at once or later."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not is_signed(self.headers, body):
            self.send(UNAUTHORIZED, {})
            return
        sent = json.loads(body)
        if "later" in sent["turn"]["words"]:
            threading.Thread(target=call_back, args=(sent,), daemon=True).start()
            self.send(ACCEPTED, {})
        else:
            self.send(OK, {"messages": think(sent["turn"])})

    def send(self, status: int, document: Any) -> None:
        """Send a JSON document."""
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Stay quiet."""


def is_signed(headers: Any, body: bytes) -> bool:
    """Whether the request has a valid signature of the last minutes, by the Standard Webhooks rules."""
    message, moment = headers["webhook-id"] or "", headers["webhook-timestamp"] or "0"
    signed = b".".join((message.encode(), moment.encode(), body))
    ours = "v1," + base64.b64encode(hmac.digest(KEY, signed, hashlib.sha256)).decode()
    theirs = (headers["webhook-signature"] or "").split()
    recent = moment.isdigit() and abs(time.time() - int(moment)) < TOLERANCE_S
    return recent and any(hmac.compare_digest(ours, one) for one in theirs)


def call_back(sent: Any) -> None:
    """Answer a turn by its callback; again while no server answers, and no more once it is refused."""
    token, url = sent["callback"]["token"], sent["callback"]["url"]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    answer = json.dumps({"messages": think(sent["turn"])}).encode()
    request = Request(f"{url}/answer", answer, headers)  # noqa: S310 - A signed request named the address.
    for _ in range(60):
        try:
            with urlopen(request, timeout=30):  # noqa: S310 - As above.
                return
        except HTTPError as refusal:
            if refusal.code < OURS and refusal.code != TOO_MANY:
                return
        except (URLError, OSError):
            pass
        time.sleep(1)


def think(turn: Any) -> list[str]:
    """What the user reads: this is where your own agent goes."""
    return [f"You asked for this: {turn['words']}"]


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Turns).serve_forever()
