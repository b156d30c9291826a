"""Everything as a file, which changes nothing when it is applied."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operation_fixtures import A_TARGET, ApplicationFixture

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.http_request import METHODS
from cadenza.operations.config import apply as config
from cadenza.operations.config.file import ConfigFile
from cadenza.operations.config.yaml_writer import to_yaml
from cadenza.testing.builders import an_endpoint

SPANS = st.integers(1, 400_000_000)
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=30)
NAMES = WORDS.filter(lambda text: bool(text.strip()))
TEXTS = WORDS | st.sampled_from(
    ["two\nlines\n", " spaced ", "a: b", "# no comment", "1e5", "0x1f", "no", "~"]
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, width=32)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
).filter(lambda value: "inf" not in repr(value))
LABELS = st.dictionaries(
    st.from_regex(r"[a-z][a-z0-9./_-]{0,8}[a-z0-9]", fullmatch=True),
    st.from_regex(r"[a-z0-9]([a-z0-9.:@/-]{0,8}[a-z0-9])?", fullmatch=True),
    max_size=3,
)
BASELINES = st.one_of(
    st.builds(lambda span: {"kind": "every", "interval_ms": span}, SPANS),
    st.builds(
        lambda line, zone: {"kind": "cron", "expression": line, "timezone": zone},
        st.sampled_from(["*/5 * * * *", "@hourly", "0 9 * * MON-FRI"]),
        st.sampled_from(["UTC", "Europe/Berlin"]),
    ),
    st.builds(
        lambda at: {"kind": "once", "at": at.isoformat()},
        st.datetimes(datetime(2026, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - Bounds.
    ),
)
HTTP = st.fixed_dictionaries(
    {"kind": st.just("http"), "url": st.just(A_TARGET["url"])},
    optional={
        "method": st.sampled_from(METHODS),
        "headers": st.dictionaries(st.sampled_from(["X-One", "Accept"]), st.just("${secret:TOKEN} Zoë")),
        "body": JSON,
        "success_statuses": st.just(["204", "2xx"]),
        "success_path": st.just("$.state"),
        "capture_bytes": st.integers(0, 1_000),
        "max_redirects": st.integers(0, 5),
        "signing": st.just(["${secret:SIGNING}"]),
    },
)
GUARDS = st.tuples(SPANS, SPANS).map(lambda two: {"min_interval_ms": min(two), "max_interval_ms": max(two)})
ENDPOINTS = st.fixed_dictionaries(
    {"target": HTTP | st.just({"kind": "callable"}), "baseline": BASELINES},
    optional={
        "name": NAMES,
        "description": st.none() | TEXTS,
        "guard": GUARDS | SPANS.map(lambda span: {"min_interval_ms": span}),
        "policy": st.fixed_dictionaries(
            {},
            optional={"timeout_ms": SPANS, "retry_delay_ms": st.just(0) | SPANS, "misfire": st.just("skip")},
        ),
        "hint_mode": st.sampled_from(["override", "tighten"]),
        "labels": LABELS,
        "enabled": st.booleans(),
        "planning": st.fixed_dictionaries({}, optional={"llm": st.booleans(), "watch": st.just(["$.a"])}),
    },
)


async def add_owner_of_prompts(app: ApplicationFixture) -> None:
    await app.ask("put_user", user_id="u")
    await app.ask("put_agent", agent_id="a", name="a")


async def emptied_and_restored(endpoints: list[dict[str, Any]]) -> None:
    app = ApplicationFixture()
    await add_owner_of_prompts(app)
    for job_id in ("job", "other", "empty"):
        await app.job(job_id)
    await app.ask("pause_job", job_id="other")
    await app.ask("update_job", job_id="job", metadata={"team": {"name": "web", "size": 2.5}})
    for number, fields in enumerate(endpoints):
        given = {
            "id": f"endpoint-{number}",
            "name": f"endpoint-{number}",
            "job_id": ("job", "other")[number % 2],
        }
        await app.ask("create_endpoint", **(given | fields))
    before = await app.store.catalog.find("default"), await app.store.catalog.jobs("default")
    document = await app.ask("export_config")
    for file in (document, ConfigFile(to_yaml(document)).document):
        answer = await app.ask("apply_config", **file, prune=True)
        assert answer["changes"] == []
        assert (
            await app.store.catalog.find("default"),
            await app.store.catalog.jobs("default"),
        ) == before
        elsewhere = ApplicationFixture()
        await add_owner_of_prompts(elsewhere)
        await elsewhere.ask("apply_config", **file)
        assert await elsewhere.store.catalog.find("default") == before[0]
        assert await elsewhere.ask("export_config") == document


@given(st.lists(ENDPOINTS, max_size=4))
def test_to_apply_what_was_exported_changes_nothing(endpoints: list[dict[str, Any]]) -> None:
    asyncio.run(emptied_and_restored(endpoints))


async def test_an_export_holds_references_and_no_secret(app: ApplicationFixture) -> None:
    await app.job()
    await app.ask("put_secret", secret_name="TOKEN", value="correct horse")
    await app.endpoint(target=A_TARGET | {"headers": {"Authorization": "Bearer ${secret:TOKEN}"}})
    document = await app.ask("export_config")
    assert "Bearer ${secret:TOKEN}" in to_yaml(document)
    assert "correct horse" not in to_yaml(document) + str(document)


async def test_a_program_that_embeds_the_scheduler_can_be_exported_too(app: ApplicationFixture) -> None:
    await app.store.endpoints.add(an_endpoint("tidy-up", job_id="embedded"))
    document = await app.ask("export_config")
    assert [(job["id"], job["name"]) for job in document["jobs"]] == [("embedded", "embedded")]
    assert (await app.ask("apply_config", **document))["changes"] == []


async def test_hints_pauses_and_deleted_endpoints_are_no_part_of_it(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint("one")
    await app.endpoint("two")
    before = await app.ask("export_config")
    await app.ask("propose_interval", endpoint_id="one", intervalMs=30_000)
    await app.ask("pause_until", endpoint_id="two", untilIso="2025-01-02T00:00:00Z")
    assert await app.ask("export_config") == before
    await app.ask("delete_endpoint", endpoint_id="two")
    (job,) = (await app.ask("export_config"))["jobs"]
    assert [endpoint["id"] for endpoint in job["endpoints"]] == ["one"]


async def test_a_tenant_exports_its_own(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint()
    nothing = {"version": 1, "limits": [], "calendars": [], "jobs": [], "alert_routes": [], "programmes": []}
    assert await app.ask("export_config", by="stranger") == nothing


async def test_too_much_for_one_file_is_refused_with_a_sentence(
    app: ApplicationFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "MOST_ENDPOINTS", 2)
    await app.job()
    for number in range(2):
        await app.endpoint(f"endpoint-{number}")
    assert len((await app.ask("export_config"))["jobs"][0]["endpoints"]) == 2
    await app.endpoint("one-more")
    with pytest.raises(InvalidRequest, match="There are more than 2 endpoints"):
        await app.ask("export_config")
