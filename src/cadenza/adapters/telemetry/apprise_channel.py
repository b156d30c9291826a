"""Sends messages by the library Apprise: in a thread, with a deadline, to addresses that are allowed."""

import asyncio
import logging
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.request import getproxies

from cadenza.adapters.dispatch.http.ssrf_guard import SsrfGuard
from cadenza.adapters.telemetry.guarded_thread import watched
from cadenza.domain.channel import SCHEME, Notice

THREADS = 4
DEADLINE_S = 20.0
LONGEST_WAIT_S = 8.0
"""For a connection, and for each answer, whatever the address says."""
MISSING = "Channels of Apprise take the extra alerts of this package, which is not installed"
REFUSED = frozenset(
    {
        *("dbus", "kde", "qt", "glib", "gnome", "macosx", "windows", "syslog", "blink1"),
        *("mqtt", "mqtts", "xmpp", "xmpps", "smpp", "smpps", "amqp", "amqps"),
    }
)
"""What shows messages on this machine, and what talks through threads or sockets of other libraries."""
STATUS = re.compile(r"error=([1-5][0-9]{2})\b")


class AppriseSender:
    """Sends one message to one address of Apprise.

    Apprise waits in threads, of which there are few; a message that gets none before its deadline, or
    no answer, is tried again later. Where a proxy is set, connections do not show where they lead, so
    nothing is sent.
    """

    def __init__(self, guard: SsrfGuard, *, deadline_s: float = DEADLINE_S, threads: int = THREADS) -> None:
        self._guard = guard
        self._deadline_s = deadline_s
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="apprise")
        self._places = asyncio.Semaphore(threads)

    async def __call__(self, url: str, notice: Notice) -> str | None:
        """None if it was accepted; else why not, without the address."""
        scheme = SCHEME.match(url)
        if scheme is None or scheme[0][:-3].lower() in REFUSED:
            return "refused: it cannot be seen where channels of this scheme lead"
        if any(name in getproxies() for name in ("http", "https", "all")):
            return "refused: where a proxy is set, it cannot be seen where a channel of Apprise leads"
        try:
            async with asyncio.timeout(self._deadline_s):
                await self._places.acquire()
                running = self._start(url, notice)
                return await asyncio.shield(running)
        except TimeoutError:
            return f"no answer within {self._deadline_s:g} s"

    def close(self) -> None:
        """Start nothing more; threads that wait for an answer end with it."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _start(self, url: str, notice: Notice) -> "asyncio.Future[str | None]":
        """The call in a thread; its place is free again when it ends, not when nobody waits for it."""
        running = asyncio.get_running_loop().run_in_executor(self._pool, _notify, url, notice, self._guard)
        running.add_done_callback(self._ended)
        return running

    def _ended(self, running: "asyncio.Future[str | None]") -> None:
        self._places.release()
        if not running.cancelled():
            running.exception()  # Nobody may wait for it any more.


def _notify(url: str, notice: Notice, guard: SsrfGuard) -> str | None:
    make = _maker()
    if make is None:
        return MISSING
    lines: list[str] = []
    with watched(guard) as watch, _warnings_into(lines):
        try:
            plugin = make(url)
            if plugin is None:
                return "Apprise does not know this address, or lacks a library for it"
            sent = plugin.notify(body=notice.text, title=notice.title, notify_type=notice.mark.value)
        except Exception as problem:  # noqa: BLE001 - A plugin may raise anything, with the address in it.
            return watch.refusal or f"Apprise failed: {type(problem).__name__}"
    if watch.refusal is not None:
        return watch.refusal
    status = next((found[1] for line in lines if (found := STATUS.search(line))), None)
    return None if sent else f"answered {status}" if status else "the service did not accept it"


@cache
def _maker() -> Callable[[str], Any] | None:
    """What makes a plugin of an address; None if the library is not installed. It takes long to load."""
    try:
        import apprise  # noqa: PLC0415 - It takes long to load, and is an extra.
    except ImportError:
        return None
    logging.getLogger("apprise").propagate = False  # Its lines may hold the address.
    asset = apprise.AppriseAsset(
        async_mode=False,
        storage_mode="memory",
        allow_templates=False,
        http_redirects=False,
        service_timeout=0,
        app_id="Cadenza",
        app_desc="Cadenza",
        app_url="",
    )

    def make(url: str) -> Any:
        plugin = apprise.Apprise.instantiate(url, asset=asset)
        if plugin is not None:
            plugin.socket_connect_timeout = min(
                LONGEST_WAIT_S, plugin.socket_connect_timeout or LONGEST_WAIT_S
            )
            plugin.socket_read_timeout = min(LONGEST_WAIT_S, plugin.socket_read_timeout or LONGEST_WAIT_S)
        return plugin

    return make


class _Lines(logging.Handler):
    """The lines that one thread logs."""

    def __init__(self, lines: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            self._lines.append(record.getMessage())


@contextmanager
def _warnings_into(lines: list[str]) -> Iterator[None]:
    handler, logger = _Lines(lines), logging.getLogger("apprise")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
