"""Bytes on a real socket: what two readers could read in two ways is read by nobody."""

import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from tests.surfaces.server_process import UP, Program, running

PATIENCE_S = 30
"""Until the first answer: a busy machine needs a while."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    with running(tmp_path_factory.mktemp("wire"), UP) as program:
        yield program
        assert program.end() == 0
        assert [line for line in program.lines if "unexpectedly" in line] == []


def said(program: Program, *parts: bytes) -> bytes:
    """All that comes back for some bytes, until the other side closes or has no more to say."""
    address = urlsplit(program.address)
    with socket.create_connection((address.hostname, address.port), timeout=10) as line:
        for part in parts:
            try:
                line.sendall(part)
            except (BrokenPipeError, ConnectionResetError):
                break
        line.settimeout(PATIENCE_S)
        answer = b""
        try:
            while more := line.recv(65_536):
                answer += more
                line.settimeout(1)
        except (TimeoutError, ConnectionResetError):
            pass
        return answer


def head(program: Program, *lines: str, request: str = "POST /v1/jobs HTTP/1.1") -> bytes:
    given = ["Host: here", f"Authorization: Bearer {program.key}", "Content-Type: application/json", *lines]
    return "\r\n".join([request, *given, "", ""]).encode("latin-1")


HIDDEN = b"GET /v1/keys HTTP/1.1\r\nHost: here\r\n\r\n"


def test_an_honest_request_is_answered(program: Program) -> None:
    body = b'{"name": "honest"}'
    answer = said(program, head(program, f"Content-Length: {len(body)}", "Connection: close"), body)
    assert answer.startswith(b"HTTP/1.1 201")
    assert b"\r\nserver:" not in answer.lower()


@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Length: 4", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Content-Length: 4"],
        ["Content-Length: 4", "Content-Length: 5"],
        ["Content-Length: +4"],
        ["Content-Length: 4, 4"],
        ["Content-Length: -1"],
        ["Transfer-Encoding: chunked, identity"],
        ["Content-Length : 4"],
        ["X-Odd: a\x00b"],
        [" Folded: line"],
    ],
)
def test_a_request_that_two_could_read_differently_is_refused(program: Program, lines: list[str]) -> None:
    answer = said(program, head(program, *lines), b"0\r\n\r\n", HIDDEN)
    assert answer.startswith(b"HTTP/1.1 4")
    assert answer.count(b"HTTP/1.1 ") == 1, "what was hidden behind it was answered, too"


@pytest.mark.parametrize("request_line", ["GET /v1/jobs HTTP/9.9", "\x00", "GET HTTP/1.1", ""])
def test_a_line_that_is_no_request_is_refused(program: Program, request_line: str) -> None:
    answer = said(program, head(program, request=request_line))
    assert answer.startswith(b"HTTP/1.1 400")


def test_a_body_without_end_is_cut_off(program: Program) -> None:
    chunk = b"%x\r\n%s\r\n" % (65_536, b" " * 65_536)
    answer = said(program, head(program, "Transfer-Encoding: chunked"), *([chunk] * 40))
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"application/problem+json" in answer
    assert b"connection: close" in answer.lower()


def test_a_body_that_is_announced_too_large_is_not_waited_for(program: Program) -> None:
    answer = said(program, head(program, "Content-Length: 1048577"))
    assert answer.startswith(b"HTTP/1.1 413")


def test_a_body_in_chunks_is_a_body(program: Program) -> None:
    chunks = b'7\r\n{"name"\r\n8\r\n: "abc"}\r\n0\r\n\r\n'
    answer = said(program, head(program, "Transfer-Encoding: chunked", "Connection: close"), chunks)
    assert answer.startswith(b"HTTP/1.1 201")


def test_head_gets_no_body(program: Program) -> None:
    answer = said(program, head(program, "Connection: close", request="HEAD /v1/jobs HTTP/1.1"))
    headers, _, body = answer.partition(b"\r\n\r\n")
    assert headers.startswith(b"HTTP/1.1 200")
    assert b"content-length: " in headers
    assert body == b""


def test_an_answer_splits_no_headers(program: Program) -> None:
    line = "X-Request-Id: a%0d%0aSet-Cookie: b=c"
    answer = said(program, head(program, line, "Connection: close", request="GET /v1/jobs HTTP/1.1"))
    assert b"set-cookie" not in answer.lower()


def test_the_host_is_not_repeated(program: Program) -> None:
    lines = ["GET /v1/jobs/ HTTP/1.1", "Host: evil.example", "X-Forwarded-Host: evil.example"]
    answer = said(program, "\r\n".join([*lines, "Connection: close", "", ""]).encode())
    assert answer.startswith(b"HTTP/1.1 404")
    assert b"evil.example" not in answer
