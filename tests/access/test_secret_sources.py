"""Where secrets come from, and how they are kept."""

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.adapters.access.secret_encryption import SecretBox
from cadenza.adapters.access.secrets import EnvironmentSecrets, SecretsByKind
from cadenza.domain.errors import InvalidRequest, NotFound, Unavailable
from cadenza.roots.settings import Settings

ENVIRONMENT = {
    "CADENZA_SECRET_TOKEN": "token",
    "CADENZA_SECRET_ENVOY_TOKEN": "envoy",
    "CADENZA_DATABASE_URL": "postgresql://user:password@host/db",
    "CADENZA_SECRET_KEY": "the key of all secrets",
    "CADENZA_SECRET_KEY_OLD": "the key of all old secrets",
    "CADENZA_SECRET_ENV": "",
    "AWS_SECRET_ACCESS_KEY": "aws",
    "PATH": "/bin",
    "GITHUB_TOKEN": "github",
}
OPEN = {"CADENZA_SECRET_TOKEN", "CADENZA_SECRET_ENVOY_TOKEN"}
FEED_KEY = ("tenant", "name")
OLD, NEW = bytes(32), bytes(range(32))


@pytest.mark.parametrize("name", [*sorted(ENVIRONMENT.keys() - OPEN), "X", ""])
async def test_the_environment_is_closed(name: str) -> None:
    with pytest.raises(NotFound):
        await EnvironmentSecrets(environment=ENVIRONMENT).reveal("tenant", f"env:{name}")


async def test_what_is_set_aside_by_its_prefix_is_revealed() -> None:
    secrets = EnvironmentSecrets(environment=ENVIRONMENT)
    assert await secrets.reveal("tenant", "env:CADENZA_SECRET_TOKEN") == "token"
    assert await secrets.reveal("tenant", "env:CADENZA_SECRET_ENVOY_TOKEN") == "envoy"
    with pytest.raises(NotFound):
        await secrets.reveal("tenant", "secret:CADENZA_SECRET_TOKEN")


async def test_a_list_stands_for_itself_alone_and_may_name_a_tenant() -> None:
    secrets = EnvironmentSecrets(allowed=["GITHUB_TOKEN", "mine/PATH"], environment=ENVIRONMENT)
    assert await secrets.reveal("tenant", "env:GITHUB_TOKEN") == "github"
    assert await secrets.reveal("mine", "env:PATH") == "/bin"
    for tenant, name in (("tenant", "PATH"), ("tenant", "CADENZA_SECRET_TOKEN"), ("tenant", "mine/PATH")):
        with pytest.raises(NotFound):
            await secrets.reveal(tenant, f"env:{name}")


@pytest.mark.parametrize("tenant", ["", "tenant/"])
@pytest.mark.parametrize("setting", [*Settings.model_fields, "secret_keys"])
def test_settings_of_our_own_cannot_be_allowed(tenant: str, setting: str) -> None:
    for name in (f"CADENZA_{setting.upper()}", f"cadenza_{setting}"):
        with pytest.raises(InvalidRequest):
            EnvironmentSecrets(allowed=[f"{tenant}{name}"], environment=ENVIRONMENT)


async def test_each_kind_has_its_place() -> None:
    secrets = SecretsByKind(env=EnvironmentSecrets(environment=ENVIRONMENT))
    assert await secrets.reveal("tenant", "env:CADENZA_SECRET_TOKEN") == "token"
    with pytest.raises(NotFound):
        await secrets.reveal("tenant", "secret:TOKEN")


@given(st.text(), st.text(), st.text())
def test_what_is_sealed_opens_in_its_place(text: str, tenant_id: str, name: str) -> None:
    box = SecretBox({"a": NEW})
    sealed = box.seal(text, place=(tenant_id, name))
    assert box.open(sealed, place=(tenant_id, name)) == text
    assert box.seal(text, place=(tenant_id, name)) != sealed


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_what_is_sealed_opens_nowhere_else(one: tuple[str, str], other: tuple[str, str]) -> None:
    box = SecretBox({"a": NEW})
    if one != other:
        with pytest.raises(Unavailable):
            box.open(box.seal("text", place=one), place=other)


def test_what_was_changed_does_not_open() -> None:
    box = SecretBox({"a": NEW})
    sealed = box.seal("text", place=FEED_KEY)
    for position in range(len(sealed)):
        changed = sealed[:position] + ("A" if sealed[position] != "A" else "B") + sealed[position + 1 :]
        if changed.rstrip("=")[:-1] == sealed.rstrip("=")[:-1]:
            continue  # The last character of base64 has bits that mean nothing.
        with pytest.raises(Unavailable):
            box.open(changed, place=FEED_KEY)


@pytest.mark.parametrize("sealed", ["", "v1", "v1.a", "v1.a.", "v1.a.A", "v1.a.AAAA", "v2.a.AAAA"])
def test_what_was_never_sealed_does_not_open(sealed: str) -> None:
    with pytest.raises(Unavailable):
        SecretBox({"a": NEW}).open(sealed, place=FEED_KEY)


def test_keys_overlap_while_they_are_changed() -> None:
    sealed = SecretBox({"old": OLD}).seal("text", place=FEED_KEY)
    both = SecretBox({"new": NEW, "old": OLD})
    assert both.open(sealed, place=FEED_KEY) == "text"
    assert both.is_stale(sealed)
    assert not both.is_stale(both.seal("text", place=FEED_KEY))
    with pytest.raises(Unavailable, match="'old'"):
        SecretBox({"new": NEW}).open(sealed, place=FEED_KEY)


def test_a_box_is_made_from_a_setting() -> None:
    setting = f"new:{b64encode(NEW).decode()}, old:{b64encode(OLD).decode()}"
    sealed = SecretBox({"old": OLD}).seal("text", place=FEED_KEY)
    assert SecretBox.from_setting(setting).open(sealed, place=FEED_KEY) == "text"


def test_a_key_without_an_id_is_known_by_itself() -> None:
    old, new = b64encode(OLD).decode(), b64encode(NEW).decode()
    sealed = SecretBox.from_setting(old).seal("text", place=FEED_KEY)
    assert SecretBox.from_setting(f"{new},{old}").open(sealed, place=FEED_KEY) == "text"
    assert SecretBox.from_setting(f"{old}, {old},").open(sealed, place=FEED_KEY) == "text"
    with pytest.raises(Unavailable, match="which is not among the settings"):
        SecretBox.from_setting(new).open(sealed, place=FEED_KEY)
    assert old.rstrip("=") not in sealed


@pytest.mark.parametrize(
    "setting",
    [
        "",
        "a",
        f"a:{b64encode(OLD).decode()},a:{b64encode(NEW).decode()}",
        "a:",
        "a:c2hvcnQ=",
        "a:A",
        "a:!!!",
        ":" + b64encode(NEW).decode(),
        "a.b:" + b64encode(NEW).decode(),
    ],
)
def test_a_setting_that_holds_no_key_is_refused(setting: str) -> None:
    with pytest.raises(InvalidRequest):
        SecretBox.from_setting(setting)
