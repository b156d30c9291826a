"""A program of the tests beside it: healthy functions, and those that end the whole process."""

import asyncio
import os
import sys
from random import Random

from cadenza import Cadenza

HEALTHY = 40
CULPRITS = {"exits": 0.0, "exits_later": 0.3}
"""The functions that end their process, and after how many seconds."""


def program(url: str, *culprits: str) -> Cadenza:
    """Healthy functions that run every second for up to a tenth of one, and the culprits that are named."""
    app, chance = Cadenza(url), Random(os.getpid())

    async def healthy() -> None:
        await asyncio.sleep(chance.uniform(0, 0.1))

    async def exits(name: str) -> None:
        await asyncio.sleep(CULPRITS[name])
        os._exit(3)

    for number in range(HEALTHY):
        app.every("1s", name=f"healthy-{number}", start_now=True)(healthy)
    for name in culprits:
        app.every("1s", name=name, start_now=True)(lambda name=name: exits(name))
    return app


if __name__ == "__main__":
    program(*sys.argv[1:]).run()
