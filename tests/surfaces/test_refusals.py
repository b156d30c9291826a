"""Wrong input is answered with one sentence for people: every field of every operation, on every surface."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from pydantic import ValidationError
from tests.surfaces.api_in_process import EVERY_MINUTE, ApiInProcess
from tests.surfaces.operation_requests import NAMES, SERVED, body_of, request_of
from tests.surfaces.sentence_rules import broken_rules
from tests.surfaces.wrong_documents import UNKNOWN, WrongDocument, wrong_documents

from cadenza.domain.errors import MOST_FAULTS, Fault, InvalidRequest
from cadenza.operations.arguments import parse_command
from cadenza.operations.operation import AnyOperation, Route
from cadenza.operations.table import BY_NAME, OPERATIONS
from cadenza.surfaces.http.problems import Refusal
from cadenza.surfaces.mcp.tools import error_text
from cadenza.surfaces.websocket import frames

WITH_FIELDS = [one for one in OPERATIONS if one.schema.get("properties")]
FRAMES = [frames.HelloFrame, frames.MessageFrame, frames.AckFrame]
PAGED = [(one, route) for one, route in SERVED if "cursor" in one.schema.get("properties", {})]


def refusals(operation: AnyOperation) -> Iterator[tuple[WrongDocument, InvalidRequest]]:
    """What an operation refuses before it is performed."""
    for wrong in wrong_documents(operation.schema):
        if isinstance(wrong.document, dict):
            try:
                parse_command(operation, wrong.document)
            except InvalidRequest as refusal:
                yield wrong, refusal


def is_written(field: str, document: Any) -> bool:
    """Whether a path leads to something in a document, or to what is missing in it."""
    *around, last = field.split(".")
    for part in around:
        document = document[int(part)] if isinstance(document, list) else document[part]
    return isinstance(document, dict) or last.isdigit()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_every_field_is_refused_in_a_sentence(operation: AnyOperation) -> None:
    for wrong, refusal in refusals(operation):
        assert 1 <= len(refusal.faults) <= MOST_FAULTS
        assert refusal.message == refusal.faults[0].message
        for fault in refusal.faults:
            assert broken_rules(fault.message) == [], fault.message
            assert fault.field in fault.message
            assert is_written(fault.field, wrong.document)


@pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if one.schema.get("properties")], ids=lambda one: one.name
)
def test_an_unknown_field_is_named_with_those_that_there_are(operation: AnyOperation) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_command(operation, {UNKNOWN: 1})
    fault = next(one for one in refused.value.faults if one.field == UNKNOWN)
    assert fault.message.startswith(f"{UNKNOWN} is unknown here; known are ")


@pytest.mark.parametrize(("operation", "route"), SERVED, ids=NAMES)
async def test_rest_and_mcp_say_the_same_sentences(operation: AnyOperation, route: Route) -> None:
    api = ApiInProcess()
    await api.create_endpoint()
    arguments = (body_of(operation, route) or {}) | {UNKNOWN: "1"}
    if route.has_body:
        answer = await api.ask(request_of(route), arguments)
    else:
        answer = await api.ask(f"{request_of(route)}?{UNKNOWN}=1&limit=many&cursor=xx")
    problem = answer.json()
    assert answer.status == 422
    sentences = [problem["detail"], *(one["message"] for one in problem["errors"])]
    assert [one for one in sentences if broken_rules(one)] == []
    told = error_text(InvalidRequest("", None, [Fault(**one) for one in problem["errors"]]))
    assert told.splitlines() == sentences[1:]


@pytest.mark.parametrize(("operation", "route"), PAGED, ids=[one.name for one, _ in PAGED])
@pytest.mark.parametrize("cursor", ["xx", "job", "0", "2025-01-01", "%F0%9F%98%80", "AAAAAAAA", ""])
async def test_a_cursor_that_no_page_gave_out_is_refused(
    operation: AnyOperation, route: Route, cursor: str
) -> None:
    answer = await ApiInProcess().ask(f"{request_of(route)}?cursor={cursor}")
    assert answer.status == 422, operation.name
    assert answer.json()["detail"] == "cursor must be the next_cursor of an earlier page of this list."


async def test_a_cursor_of_another_list_is_refused() -> None:
    api = ApiInProcess()
    for id_ in ("a", "b"):
        await api.ask("POST /v1/jobs", {"id": id_, "name": id_})
    cursor = (await api.ask("GET /v1/jobs?limit=1")).json()["next_cursor"]
    assert [one["id"] for one in (await api.ask(f"GET /v1/jobs?cursor={cursor}")).json()["items"]] == ["b"]
    assert (await api.ask(f"GET /v1/endpoints?cursor={cursor}")).status == 422


@pytest.mark.parametrize("frame", FRAMES, ids=lambda one: str(one.__name__))
def test_a_frame_of_a_socket_is_refused_in_a_sentence(frame: Any) -> None:
    for wrong in wrong_documents(frame.model_json_schema()):
        document = wrong.document if isinstance(wrong.document, dict) else {"type": wrong.document}
        sentences: list[str] = []
        try:
            frames.read(orjson.dumps(document).decode(), 100_000)
        except InvalidRequest as refusal:
            sentences = [refusal.message, *(one.message for one in refusal.faults)]
        assert [one for one in sentences if broken_rules(one)] == []


@pytest.mark.parametrize("text", ["{", "[1,", '{"a": }', "nul", '"\\ud800"', ""])
async def test_what_is_not_json_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        frames.read(text, 1_000)
    assert broken_rules(refused.value.detail) == []
    if text:
        answer = await ApiInProcess().ask("POST /v1/jobs", text.encode())
        assert answer.status == 400
        assert broken_rules(answer.json()["detail"]) == []


def test_the_rules_find_the_texts_of_the_validator() -> None:
    for operation in OPERATIONS:
        for wrong in wrong_documents(operation.schema):
            try:
                operation.command.model_validate(wrong.document)
            except ValidationError as problem:
                raw = problem.errors(include_url=False)[0]
                if not raw["type"].endswith("_error"):
                    assert broken_rules(raw["msg"]), raw["msg"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"intervalMs": 10**15}, "a whole number of milliseconds from 1 to 316,224,000,000 (10 years)."),
        ({"ttlMinutes": -1}, "a number of minutes above 0 and at most 527,040 (1 year)."),
        ({"reason": 7}, "a text with at most 2,000 characters and no control characters."),
    ],
)
def test_a_sentence_says_what_to_write_instead(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_command(BY_NAME["propose_interval"], {"endpoint_id": "traffic", "intervalMs": 1, **arguments})
    assert refused.value.message == f"{next(iter(arguments))} must be {sentence}"


async def test_what_stands_in_the_path_is_not_proposed_for_the_body() -> None:
    answer = await ApiInProcess().ask("POST /v1/endpoints/traffic/tools/pause_until", {"endpoint": "a"})
    unknown = next(one for one in answer.json()["errors"] if one["field"] == "endpoint")
    assert unknown["message"] == "endpoint is unknown here; known are reason, untilIso."


async def test_an_unknown_argument_of_a_preview_is_told_with_those_that_there_are() -> None:
    api = ApiInProcess()
    await api.create_endpoint()
    body = {"tool": "pause_until", "arguments": {"until": None}}
    (fault,) = (await api.ask("POST /v1/endpoints/traffic/preview", body)).json()["errors"]
    assert fault["field"] == "arguments.until"
    assert fault["message"] == "until is unknown here; known are untilIso, reason."


def test_a_misspelt_field_is_told_with_the_nearest_first() -> None:
    with pytest.raises(InvalidRequest, match=r"^resaon is unknown here; known are reason, "):
        parse_command(
            BY_NAME["propose_interval"], {"endpoint_id": "traffic", "intervalMs": 1, "resaon": "a sale"}
        )


@pytest.mark.parametrize("url", ["", "x", "http://", "https:///path", "example.com", "ftp://example.com"])
def test_what_is_no_url_is_called_so(url: str) -> None:
    endpoint = {"job_id": "job", "name": "a", "baseline": EVERY_MINUTE}
    with pytest.raises(InvalidRequest) as refused:
        parse_command(BY_NAME["create_endpoint"], endpoint | {"target": {"kind": "http", "url": url}})
    assert refused.value.message.startswith("target.url must be a URL ")
