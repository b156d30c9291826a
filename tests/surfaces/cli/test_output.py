"""How answers are shown: on narrow terminals, to readers who leave, without Unicode, without harm."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.surfaces.cli.cli_fixtures import CliRunner, CliTarget
from tests.surfaces.cli.cli_process import command, env

from cadenza.domain.text_patterns import visible
from cadenza.domain.validation import parse_duration_ms
from cadenza.surfaces.cli.output.formatting import span


def test_an_answer_fits_a_narrow_terminal(local: CliRunner, tmp_path: Path) -> None:
    local.ok("jobs", "create", "--name", "narrow", "--id", "narrow")
    made = ("--job", "narrow", "--url", "https://example.com/x", "--every", "1m")
    local.ok("endpoints", "create", *made, "--name", "東" * 60, "--id", "e" * 100)
    shown, terminal = pty.openpty()
    words = command("endpoints", "show", "e" * 100)
    with subprocess.Popen(
        words, stdout=terminal, stderr=terminal, cwd=tmp_path, env=env(COLUMNS="40", TERM="xterm")
    ) as process:
        os.close(terminal)
        seen = b""
        try:
            while chunk := os.read(shown, 65_536):
                seen += chunk
        except OSError:
            pass
        assert process.wait() == 0
    os.close(shown)
    assert seen.decode().count("東") == 60
    assert seen.count(b"e") >= 100


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["table", "json"])
def test_a_reader_who_has_left_is_no_failure(
    local: CliRunner, tmp_path: Path, options: tuple[str, ...]
) -> None:
    local.ok("jobs", "create", "--name", "left")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command("jobs", "list", *options),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        timeout=60,
        cwd=tmp_path,
        env=env(),
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_output_without_unicode_is_enough(local: CliRunner, tmp_path: Path) -> None:
    local.ok("jobs", "create", "--name", "Größe 🎵", "--id", "size")
    target = CliTarget(tmp_path, {"PYTHONIOENCODING": "ascii"})
    assert target.said("jobs", "show", "size")["name"] == "Größe 🎵"
    told = target.process("jobs", "list")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.isascii()
    assert "size" in told.stdout


@given(st.integers(1, 10 * 366 * 86_400_000))
def test_a_span_that_is_shown_can_be_written(length: int) -> None:
    assert parse_duration_ms("span", str(span(length))) == length


@given(st.text())
def test_nothing_that_is_shown_steers_a_terminal(text: str) -> None:
    shown = visible(f"\x1b[31m{text}\x9b2J\u202e")
    assert not any(ord(letter) < 32 and letter != "\n" for letter in shown)
    assert not any(0x7F <= ord(letter) < 0xA0 or 0x202A <= ord(letter) <= 0x202E for letter in shown)


@given(st.text())
def test_escaped_json_reads_back_as_it_was(text: str) -> None:
    document = json.dumps({"text": f"\x9b{text}\U000e0001"}, ensure_ascii=False)
    assert "\x9b" not in visible(document)
    assert json.loads(visible(document)) == json.loads(document)


def test_neither_json_nor_a_refusal_steers_a_terminal(local: CliRunner) -> None:
    local.ok("jobs", "create", "--name", "job", "--id", "job", "--description", "a\x9b2J")
    assert "\\u009b2J" in local.ok("jobs", "show", "job")
    assert "\\u009b2J" in local.ok("jobs", "show", "job", "--json")
    assert local.json("jobs", "show", "job")["description"] == "a\x9b2J"
    for word in ("x\x9b2J", "\x1b[2J"):
        _, err = local.refused("jobs", "show", word)
        assert err.strip("\n").isprintable()
