"""A server from the command line: what it refuses, where it is not, and that the key stays secret."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.surfaces.cli.cli_fixtures import CliRunner, CliTarget, free_port

HIDDEN = "cad_somebody_hidden4711"
Answer = Callable[[BaseHTTPRequestHandler], None]


def with_key(cli: CliRunner, key: str | None, server: str | None = None) -> CliRunner:
    settings = {"CADENZA_SERVER": server or cli.target.settings["CADENZA_SERVER"]}
    cli.target = CliTarget(cli.target.folder, settings | ({} if key is None else {"CADENZA_KEY": key}))
    return cli


@contextmanager
def a_stranger(answer: Answer) -> Iterator[tuple[str, list[str]]]:
    """Somebody else's server, and what it was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers.get('Authorization')}")
            answer(self)

        def log_message(self, *_: object) -> None:
            """Tests are quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_address[1]}", asked
        finally:
            listening.shutdown()
            thread.join()


def says(status: int, text: str, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(text)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(text.encode())

    return answer


def in_chunks(*chunks: str) -> Answer:
    """A response of unknown length, as servers of HTTP/1.1 send it."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for chunk in (*chunks, ""):
            handler.wfile.write(f"{len(chunk):x}\r\n{chunk}\r\n".encode())

    return answer


def until_the_end(text: str) -> Answer:
    """A response whose end is that of the connection."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(text.encode())

    return answer


def cut_short(handler: BaseHTTPRequestHandler) -> None:
    says(200, '{"items": [], ', **{"Content-Length": "100"})(handler)


def breaks_off(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.close()


def test_where_nobody_listens_is_unavailable(remote: CliRunner) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    code, sentence = with_key(remote, HIDDEN, address).refused("jobs", "list")
    assert code == 6
    assert sentence == f"cadenza: Cannot connect to {address}; is the server up?\n"


@pytest.mark.parametrize("host", ["a..b", "a" * 64])
def test_a_name_that_leads_nowhere_is_unavailable(remote: CliRunner, host: str) -> None:
    code, sentence = with_key(remote, HIDDEN, f"http://{host}").refused("jobs", "list")
    assert code == 6
    assert sentence == f"cadenza: Cannot connect to http://{host}; is the server up?\n"


@pytest.mark.parametrize("key", [HIDDEN, None], ids=["wrong", "none"])
def test_without_a_good_key_nothing_is_allowed(remote: CliRunner, key: str | None) -> None:
    code, sentence = with_key(remote, key).refused("jobs", "list")
    assert code == 5
    assert "CADENZA_KEY" in sentence
    assert "hidden" not in sentence


def test_a_key_allows_what_its_scopes_say(remote: CliRunner) -> None:
    key = remote.json("keys", "create", "--name", "reader", "--scope", "read", "--expires", "1h")
    reader = with_key(remote, key["key"])
    assert "items" in reader.json("jobs", "list")
    for words in (
        "jobs create --name x",
        "keys list",
        "endpoints pause --job x --until 1h",
        "secrets delete x",
    ):
        code, sentence = reader.refused(*words.split())
        assert code in {3, 5}, sentence
    assert reader.refused("jobs", "create", "--name", "x")[0] == 5
    assert reader.refused("keys", "list")[0] == 5


def test_a_key_that_was_taken_back_opens_nothing(remote: CliRunner) -> None:
    key = remote.json("keys", "create", "--name", "short")
    remote.ok("keys", "delete", key["id"])
    assert with_key(remote, key["key"]).refused("jobs", "list")[0] == 5


@pytest.mark.parametrize("key", ["cad_hidden\nX-Evil: 1", "cad_hídden", "cad hidden"])
def test_what_cannot_be_a_key_is_not_repeated(remote: CliRunner, key: str) -> None:
    code, sentence = remote.refused("jobs", "list", f"--key={key}")
    assert code == 2
    assert "dden" not in sentence


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:8700",
        "ftp://127.0.0.1",
        "http://",
        "http://a:hidden@127.0.0.1",
        "http://h:99999",
        "http://h?x=1",
        "http://h/a b",
        "http://hö",
        "no",
    ],
)
def test_what_is_no_address_is_wrong_use(remote: CliRunner, address: str) -> None:
    code, sentence = remote.refused("jobs", "list", "--server", address)
    assert code == 2
    assert sentence == "cadenza: --server must be an address such as http://127.0.0.1:8700.\n"


def test_a_wrong_address_of_the_environment_is_called_by_its_name(remote: CliRunner) -> None:
    code, sentence = with_key(remote, HIDDEN, "no").refused("jobs", "list")
    assert code == 2
    assert sentence == "cadenza: CADENZA_SERVER must be an address such as http://127.0.0.1:8700.\n"


def test_options_win_over_the_environment(
    remote: CliRunner, runner_at: Callable[[CliTarget], CliRunner]
) -> None:
    right = remote.target.settings
    lost = with_key(runner_at(remote.target), HIDDEN, f"http://127.0.0.1:{free_port()}")
    words = ("--server", right["CADENZA_SERVER"], "--key", right["CADENZA_KEY"])
    assert "items" in lost.json("jobs", "list", *words)


def test_a_file_may_name_the_server_and_the_key(remote: CliRunner, tmp_path: Path) -> None:
    lines = [f"{name}={value}" for name, value in remote.target.settings.items()]
    (tmp_path / ".env").write_text("\n".join(lines))
    remote.target = CliTarget(tmp_path)
    remote.ok("jobs", "create", "--name", "by file", "--id", "by-file")
    assert remote.json("jobs", "show", "by-file")["name"] == "by file"
    assert not (tmp_path / "cadenza.db").exists()


def test_a_server_knows_the_tenant_by_the_key(remote: CliRunner) -> None:
    assert remote.refused("jobs", "list", "--tenant", "acme")[0] == 2


@pytest.mark.parametrize(
    "answer",
    [
        says(200, "<html>"),
        says(404, "not here"),
        says(500, "oh"),
        says(422, '{"detail": [{"msg": "no"}]}'),
        says(418, "[]"),
        says(200, '{"items": []}'),
        cut_short,
        breaks_off,
    ],
    ids=["page", "missing", "broken", "other-problem", "teapot", "half", "cut-short", "breaks-off"],
)
def test_a_server_that_is_another_one_is_unavailable(remote: CliRunner, answer: Answer) -> None:
    with a_stranger(answer) as (address, asked):
        code, sentence = with_key(remote, HIDDEN, address).refused("jobs", "list")
    assert code == 6
    assert asked
    assert HIDDEN not in sentence


@pytest.mark.parametrize(
    "answer",
    [
        in_chunks('{"items": [], "next', '_cursor": null}'),
        until_the_end('{"items": [], "next_cursor": null}'),
    ],
    ids=["in-chunks", "until-the-end"],
)
def test_a_response_may_have_any_form_of_a_body(remote: CliRunner, answer: Answer) -> None:
    with a_stranger(answer) as (address, _):
        assert with_key(remote, HIDDEN, f"{address}/").json("jobs", "list")["items"] == []


def test_a_key_is_not_carried_elsewhere(remote: CliRunner) -> None:
    with (
        a_stranger(says(200, "{}")) as (elsewhere, heard),
        a_stranger(says(307, "", Location=f"{elsewhere}/v1/jobs")) as (address, _),
    ):
        code, _sentence = with_key(remote, HIDDEN, address).refused("jobs", "list")
    assert code == 6
    assert heard == []


def test_an_id_cannot_lead_to_another_path(remote: CliRunner) -> None:
    with a_stranger(says(200, '{"items": [], "next_cursor": null}')) as (address, asked):
        cli = with_key(remote, HIDDEN, address)
        assert cli.refused("runs", "show", "a:b")[0] == 6
        assert cli.refused("runs", "show", "../keys")[0] == 2
        assert cli.refused("jobs", "show", "../../x")[0] == 3
    assert [line.split()[0] for line in asked] == ["/v1/runs/a%3Ab", "/v1/jobs?limit=500"]
