"""Settings come from the environment or a file, and what is wrong with them is one sentence."""

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.surfaces.sentence_rules import broken_rules

from cadenza import Cadenza
from cadenza.domain.errors import InvalidRequest
from cadenza.roots import api, daily, planner, worker
from cadenza.roots.command_line import main
from cadenza.roots.settings import Settings, misspelt, read_settings

AN_ORIGIN = "an origin as browsers write it, such as https://app.example or http://127.0.0.1:3000"
A_LEASE = "a whole number of milliseconds from 1,000 to 3,600,000 (1 hour)"
A_NETWORK = "an IP address or a network such as 10.0.0.0/8"
KEY, OTHER = (b64encode(bytes([number] * 32)).decode() for number in (1, 2))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_list_is_written_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CADENZA_ALLOW_TARGETS", "10.0.0.0/8, intranet:80,")
    assert read_settings().allow_targets == ("10.0.0.0/8", "intranet:80")


def test_a_file_is_read_and_the_environment_wins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".env").write_text("CADENZA_LEASE_MS=5000\nCADENZA_JITTER_MS=1\n")
    monkeypatch.setenv("CADENZA_JITTER_MS", "2")
    settings = read_settings()
    assert (settings.lease_ms, settings.jitter_ms) == (5_000, 2)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        (
            "LEASE_MS",
            "soon",
            f"'soon' is not {A_LEASE}.",
        ),
        ("LEASE_MS", "1", f"'1' is not {A_LEASE}."),
        ("LEASE_MS", "", f"'' is not {A_LEASE}."),
        (
            "LEASE_MS",
            "none",
            f"'None' is not {A_LEASE}.",
        ),
        ("WORKER_CONCURRENCY", "0", "'0' is not a whole number from 1 to 100,000."),
        ("KEEP_RUNS_DAYS", "0", "'0' is not a whole number of days, at least 1, nor none."),
        ("HEALTH_PORT", "http", "'http' is not a whole number from 0 to 65,535, nor none."),
        ("LOG_LEVEL", "loud", "'loud' is not debug, info, warning or error."),
        ("SQLITE_SYNCHRONOUS", "sometimes", "'sometimes' is not OFF, NORMAL, FULL or EXTRA."),
        ("ALLOW_PRIVATE_TARGETS", "perhaps", "'perhaps' is not true or false."),
        ("DATABASE_PREPARED", "x" * 500, f"'{'x' * 60}' is not true or false."),
        ("HOST", "none", "'None' is not a text that is not empty."),
        ("HOST", "", "'' is not a text that is not empty."),
        ("DATABASE_URL", "none", "its value is not a text that is not empty."),
        ("OTEL_ENDPOINT", "nope", "'nope' is not a URL, such as https://example.com/health, nor none."),
        ("LLM_BASE_URL", "", "'' is not a URL, such as https://example.com/health, nor none."),
        ("ALERT_SECRET", "hunter2", "'hunter2' is not env:NAME or secret:NAME, nor none."),
        *(
            ("CORS_ORIGINS", f"https://app.example, {value}", f"'{value}' is not {AN_ORIGIN}.")
            for value in (
                "*",
                "null",
                "app.example",
                "https://",
                "https://app.example/",
                "https://app.example/path",
                "https://ada@app.example",
                "https://App.example",
                "https://app.example:443",
                "http://app.example:65536",
                "https://*.app.example",
            )
        ),
        *(
            ("TRUSTED_PROXIES", f"127.0.0.1, {value}", f"'{value}' is not {A_NETWORK}.")
            for value in ("*", "proxy.example", "127.0.0.1:80", "10.0.0.1/8", "10.0.0.0/33", "256.0.0.1")
        ),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_and_what_is_expected(
    name: str, value: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"CADENZA_{name}", value)
    with pytest.raises(InvalidRequest) as refused:
        read_settings()
    assert refused.value.message == f"CADENZA_{name} is invalid: {expected}"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("cors_origins", "https://app.example,http://127.0.0.1:3000,http://[::1]:8,capacitor://localhost"),
        ("trusted_proxies", "127.0.0.1,::1,10.0.0.0/8,fd00::/8"),
    ],
)
def test_origins_and_proxies_are_taken_as_they_are(
    name: str, values: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"CADENZA_{name.upper()}", values)
    assert getattr(read_settings(), name) == tuple(values.split(","))


@pytest.mark.parametrize("name", ["CADENZA_CORS_ORIGINS", "CADENZA_TRUSTED_PROXIES"])
def test_an_origin_or_proxy_that_is_none_is_refused_at_the_start(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, "app.example")
    assert main(["up"]) == 2
    assert capsys.readouterr().err.startswith(f"cadenza: {name} is invalid: 'app.example' is not an ")


def test_targets_that_make_no_sense_are_refused_by_the_name_of_their_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CADENZA_ALLOW_TARGETS", "intranet/99")
    assert main(["worker"]) == 2
    assert capsys.readouterr().err.startswith("cadenza: CADENZA_ALLOW_TARGETS is invalid: ")


def test_a_setting_that_may_be_none_can_be_set_to_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CADENZA_KEEP_RUNS_DAYS", "none")
    assert read_settings().keep_runs_days is None


def test_keys_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CADENZA_SECRET_KEY", KEY)
    monkeypatch.setenv("CADENZA_SECRET_KEY_OLD", OTHER)
    settings = read_settings()
    for shown in (repr(settings), str(settings), settings.model_dump_json()):
        assert KEY not in shown
        assert OTHER not in shown


@pytest.mark.parametrize(
    ("key", "older", "told"),
    [
        ("hunter2", "", "CADENZA_SECRET_KEY or CADENZA_SECRET_KEY_OLD is invalid: A key is"),
        (KEY, "hunter2", "CADENZA_SECRET_KEY or CADENZA_SECRET_KEY_OLD is invalid: A key is"),
        (f"a:{KEY}", f"a:{OTHER}", "CADENZA_SECRET_KEY or CADENZA_SECRET_KEY_OLD is invalid: Two keys"),
        ("", KEY, "CADENZA_SECRET_KEY_OLD needs CADENZA_SECRET_KEY beside it."),
    ],
)
@pytest.mark.parametrize("command", ["up", "worker", "migrate"])
def test_a_key_that_is_none_is_refused_at_the_start_and_not_repeated(
    command: str,
    *,
    key: str,
    older: str,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("CADENZA_SECRET_KEY", key)
    monkeypatch.setenv("CADENZA_SECRET_KEY_OLD", older)
    assert main([command]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"cadenza: {told}")
    assert "hunter2" not in errors
    assert KEY not in errors


@pytest.mark.parametrize("names", ["CADENZA_DATABASE_URL", "tenant/CADENZA_SECRET_KEY", "PATH,cadenza_host"])
def test_a_list_that_would_give_settings_away_is_refused_at_the_start(
    names: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CADENZA_SECRET_ENV", names)
    assert main(["up"]) == 2
    assert capsys.readouterr().err.startswith("cadenza: CADENZA_SECRET_ENV is invalid: ")


def test_an_empty_list_closes_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_settings().secret_env is None
    monkeypatch.setenv("CADENZA_SECRET_ENV", "")
    assert read_settings().secret_env == ()


def test_a_file_that_is_no_text_is_refused(folder: Path) -> None:
    (folder / ".env").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidRequest, match="cannot be read"):
        read_settings()


def test_a_misspelt_setting_is_found() -> None:
    environment = {"CADENZA_WORKER_CONCURENCY": "5", "CADENZA_SECRET_TOKEN": "x", "CADENZA_LEASE_MS": "1"}
    assert misspelt(environment) == {"CADENZA_WORKER_CONCURENCY": "CADENZA_WORKER_CONCURRENCY"}
    assert misspelt({"CADENZA_SECRET_KEYS": "x"}) == {"CADENZA_SECRET_KEYS": "CADENZA_SECRET_KEY"}


def test_the_doctor_looks_and_changes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor"]) == 0
    assert list(folder.iterdir()) == []
    monkeypatch.setenv("CADENZA_GRACEMS", "1")
    assert main(["doctor"]) == 1
    assert "Did you mean CADENZA_GRACE_MS?" in capsys.readouterr().out


@pytest.mark.parametrize("name", Settings.model_fields)
@pytest.mark.parametrize("value", ["", "-1", "many", "99999999999999999999", "a b, [", "\\x"])
def test_a_wrong_setting_is_refused_in_a_sentence(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"CADENZA_{name.upper()}", value)
    sentence = "It was taken."
    try:
        read_settings()
    except InvalidRequest as refused:
        sentence = refused.message
    assert broken_rules(sentence.replace(value, "")) == []


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (api.launch, "cadenza api"),
        (daily.launch, "cadenza daily"),
        (planner.launch, "cadenza planner"),
        (worker.launch, "cadenza worker"),
        (Cadenza, "a program"),
    ],
)
@pytest.mark.parametrize("profile", ["sleeping", "neon,no-idle-queries"])
def test_where_a_database_may_fall_asleep_only_up_is_started(
    start: Callable[[], object], what: str, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_URL", "postgresql://127.0.0.1:1/none")
    monkeypatch.setenv("CADENZA_DATABASE_PROFILE", profile)
    with pytest.raises(InvalidRequest) as refused:
        start()
    assert refused.value.message == (
        "CADENZA_DATABASE_PROFILE says no-idle-queries: then everything runs in one process, `cadenza up`,"
        f" and {what} cannot wake it."
    )
