"""Keeps a library that opens its own sockets to addresses that the SSRF guard allows, thread by thread.

Python reports every connection, with the very address, before it is made; what is refused then is not made.
So a name that leads elsewhere the second time, and a redirect, are refused like any other address. A thread
that a watched one starts is not watched: what starts threads must not be used like this.
"""

import site
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from yarl import URL

from cadenza.adapters.dispatch.http.ssrf_guard import AddressRefused, SsrfGuard

NETWORK = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
PROCESSES = frozenset({"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty"})
WATCHED = NETWORK | PROCESSES | {"socket.getaddrinfo", "open"}
NOT_PLAIN = "refused: the channel wants to start a process"
NO_FILE = "refused: the channel wants to open a file"
_current = threading.local()


class ThreadWatch:
    """What one thread may do while it is watched, and the first thing it was refused."""

    def __init__(self, guard: SsrfGuard) -> None:
        self._guard = guard
        self._trusted = False
        self.refusal: str | None = None

    def check(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raise AddressRefused for what is not allowed."""
        if event == "socket.getaddrinfo":
            self._trusted = self._trusts(*arguments[:2])
        elif event in NETWORK:
            self._check_address(arguments[1])
        elif event == "open":
            self._check_file(arguments[0])
        else:
            self._refuse(NOT_PLAIN)

    def _trusts(self, host: Any, port: Any) -> bool:
        """Whether the operator allows this name, wherever it leads."""
        name = host.decode() if isinstance(host, bytes) else host
        number = int(port) if isinstance(port, int) or str(port).isdigit() else None
        if not isinstance(name, str) or not name or ":" in name:
            return False
        return self._guard.trusts(URL.build(scheme="http", host=name, port=number))

    def _check_address(self, address: Any) -> None:
        if not isinstance(address, tuple):
            self._refuse("refused: the channel leads to no internet address")
        reason = None if self._trusted else self._guard.refusal(str(address[0]), int(address[1]))
        if reason is not None:
            self._refuse(f"refused: {reason}")

    def _check_file(self, path: Any) -> None:
        if isinstance(path, int):
            return
        text = path.decode() if isinstance(path, bytes) else str(path)
        if not any(Path(text).is_relative_to(folder) for folder in program_folders()):
            self._refuse(NO_FILE)

    def _refuse(self, sentence: str) -> None:
        self.refusal = self.refusal or sentence
        raise AddressRefused(sentence)


@contextmanager
def watched(guard: SsrfGuard) -> Iterator[ThreadWatch]:
    """Watch this thread until the end of the block."""
    _install()
    _current.watch = watch = ThreadWatch(guard)
    try:
        yield watch
    finally:
        _current.watch = None


@cache
def program_folders() -> tuple[Path, ...]:
    """Where Python and its libraries are: what is read while they are imported."""
    named = {*sysconfig.get_paths().values(), *site.getsitepackages(), *sys.path, sys.prefix, sys.base_prefix}
    return tuple(sorted(Path(one) for one in named if one and Path(one).is_absolute()))


@cache
def _install() -> None:
    """Once in a process that uses it; a hook cannot be taken away again."""
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event in WATCHED:
        watch = getattr(_current, "watch", None)
        if watch is not None:
            watch.check(event, arguments)
