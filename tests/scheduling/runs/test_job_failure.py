"""What is recorded of an exception: its class, one line, and a bounded traceback without values."""

import json
from collections.abc import Callable

import pytest

from cadenza.domain.job_failure import (
    LONGEST_TRACEBACK,
    ErrorClass,
    JobFailed,
    error_class_of,
    traceback_text,
)


def raised(work: Callable[[], object]) -> BaseException:
    try:
        work()
    except Exception as problem:  # noqa: BLE001 - that is what is looked at
        return problem
    raise AssertionError("it did not raise")


def outer() -> None:
    password = "hunter2"
    inner(len(password))


def inner(length: int) -> None:
    try:
        json.loads("{" * length)
    except ValueError as problem:
        raise LookupError("no answer") from problem


def test_a_traceback_tells_where_and_why_without_values() -> None:
    text = traceback_text(raised(outer))
    assert text.endswith("LookupError: no answer")
    assert "in outer" in text
    assert "in inner" in text
    assert "JSONDecodeError" in text
    assert "the direct cause" in text
    assert "hunter2" not in text.replace('password = "hunter2"', "")


def test_a_traceback_begins_in_the_code_of_the_job() -> None:
    text = traceback_text(raised(lambda: json.loads("no")))
    assert "test_job_failure.py" in text
    own = raised(lambda: JobFailed("no", "colour"))
    assert "job_failure.py" in traceback_text(own)


@pytest.mark.parametrize(
    "problem",
    [
        ValueError("x" * 1_000_000),
        ExceptionGroup("many", [ValueError("x" * 900) for _ in range(500)]),
        ValueError("\n" * 100_000),
    ],
)
def test_a_traceback_is_bounded(problem: Exception) -> None:
    def stumble() -> None:
        raise problem

    text = traceback_text(raised(stumble))
    assert len(text) <= LONGEST_TRACEBACK + 50
    assert "in stumble" in text


def test_endless_recursion_is_bounded() -> None:
    def fall(depth: int) -> int:
        return fall(depth + 1) + 1

    text = traceback_text(raised(lambda: fall(0)))
    assert "RecursionError" in text
    assert len(text) <= LONGEST_TRACEBACK


def test_an_exception_that_cannot_describe_itself_has_a_traceback() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def stumble() -> None:
        raise Unspeakable

    assert "Unspeakable" in traceback_text(raised(stumble))


def test_what_no_database_takes_is_replaced() -> None:
    def stumble() -> None:
        raise ValueError("a\0\ud800")

    assert traceback_text(raised(stumble)).endswith("ValueError: a??")


@pytest.mark.parametrize(
    ("problem", "error_class"),
    [
        (JobFailed("the model is gone", ErrorClass.LLM), "llm"),
        (JobFailed("the model is gone", "llm"), "llm"),
        (JobFailed("no idea"), "unknown"),
        (json.JSONDecodeError("no", "", 0), "parse"),
        (ConnectionResetError("gone"), "req"),
        (TimeoutError("too long"), "unknown"),
        (ValueError("what"), "unknown"),
    ],
)
def test_an_exception_has_an_error_class(problem: Exception, error_class: str) -> None:
    assert error_class_of(problem) == error_class


def test_an_error_class_is_one_of_four() -> None:
    with pytest.raises(ValueError, match="colour"):
        JobFailed("no", "colour")
