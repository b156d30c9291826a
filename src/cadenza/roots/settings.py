"""What an operator sets: variables `CADENZA_…`, or a file `.env`."""

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import ip_address, ip_network
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo

from cadenza.adapters.stores.postgres.engines.profile import NAMED, profile_of
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.text_patterns import A_REFERENCE, A_URL
from cadenza.domain.validation import LONGEST_SPAN_MS, quoted
from cadenza.domain.wording import number_in_words, one_of, text_in_words

NOT_SETTINGS = ("CADENZA_SECRET_", "CADENZA_TEST_", "CADENZA_SOAK", "CADENZA_SKIP_DASHBOARD")
LIKE_A_KEY = "CADENZA_SECRET_KEY"
SECRET_SETTINGS = frozenset(
    {"alert_url", "daily_target", "database_url", "demo_database_url", "key", "secret_key", "secret_key_old"}
)
NOTHING = "none"
DEFAULT_TENANT = "default"
SQLITE = "sqlite:///"
"""How the URL of a file begins; its path follows."""
LAST_PORT = 65_535
AN_ORIGIN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:(?P<port>[1-9][0-9]{0,4}))?"
)
PREFIX = "cadenza_"
ENV_FILE = Path(".env")
LEFT_OUT = (("http", "80"), ("https", "443"))
"""Ports that browsers do not name."""


def _origin(text: str) -> str:
    """An origin, written as browsers write it: another spelling would never be met."""
    parts = AN_ORIGIN.fullmatch(text)
    if parts is None or int(parts["port"] or 0) > LAST_PORT or parts.group("scheme", "port") in LEFT_OUT:
        raise ValueError(text)
    return text


def _network(text: str) -> str:
    """An address, or a network with nothing behind its prefix."""
    if "/" in text:
        ip_network(text)
    else:
        ip_address(text)
    return text


def _profile(text: str) -> str:
    profile_of(text)
    return text


Profile = Annotated[str, AfterValidator(_profile)]
Origin = Annotated[str, AfterValidator(_origin)]
Network = Annotated[str, AfterValidator(_network)]
IN_WORDS: dict[Any, str] = {
    _profile: f"{one_of(NAMED)}, nor abilities that are missing, such as no-notifications,no-partitions",
    Origin: "an origin as browsers write it, such as https://app.example or http://127.0.0.1:3000",
    Network: "an IP address or a network such as 10.0.0.0/8",
}


def values_from_environment() -> dict[str, str | None]:
    """The values that variables `CADENZA_…` and the file `.env` have, by the names of the settings.

    A variable outranks the file, and `none` is None. Importing pydantic-settings takes longer than a
    whole command, so it is not used here.
    """
    values: dict[str, str | None] = {}
    if ENV_FILE.is_file():
        from dotenv import dotenv_values

        values |= dotenv_values(ENV_FILE, encoding="utf-8")
    values |= os.environ
    return {
        name.lower().removeprefix(PREFIX): None if value == NOTHING else value
        for name, value in values.items()
        if name.lower().startswith(PREFIX)
    }


LISTS = ("allow_targets", "secret_env", "cors_origins", "trusted_proxies", "mcp_scopes", "llm_models")


class Settings(BaseModel):
    """Everything that can be set, with its default; what is given outranks the environment and `.env`."""

    model_config = ConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    def __init__(self, **given: Any) -> None:
        super().__init__(**(values_from_environment() | given))

    database_url: str = "sqlite:///cadenza.db"
    database_prepared: bool = True
    database_timeout_ms: int = Field(default=60_000, ge=1_000, le=3_600_000)
    database_profile: Profile = "postgresql"
    sqlite_synchronous: Literal["OFF", "NORMAL", "FULL", "EXTRA"] = "NORMAL"
    worker_concurrency: int = Field(default=100, ge=1, le=100_000)
    claim_limit: int = Field(default=500, ge=1, le=10_000)
    claim_ahead_ms: int = Field(default=500, ge=0, le=60_000)
    lease_ms: int = Field(default=30_000, ge=1_000, le=3_600_000)
    max_timeout_ms: int | None = Field(default=600_000, ge=1_000, le=LONGEST_SPAN_MS)
    jitter_ms: int = Field(default=3_000, ge=0, le=60_000)
    grace_ms: int = Field(default=10_000, ge=0, le=600_000)
    poll_ms: int = Field(default=1_000, ge=10, le=60_000)
    retire_functions_ms: int | None = Field(default=86_400_000, ge=1_000)
    keep_runs_days: int | None = Field(default=30, ge=1)
    keep_runs_count: int | None = Field(default=None, ge=1)
    keep_conversations_days: int | None = Field(default=90, ge=1)
    keep_undelivered_days: int | None = Field(default=None, ge=1)
    keep_verdicts_days: int | None = Field(default=400, ge=30)
    keep_audit_days: int | None = Field(default=400, ge=1)
    health_port: int | None = Field(default=None, ge=0, le=LAST_PORT)
    planner: bool = True
    daily: bool = True
    daily_target: SecretStr | None = None
    tick_ms: int = Field(default=60_000, ge=100, le=600_000)
    max_concurrency: int = Field(default=20, ge=1, le=100_000)
    job_timeout_ms: int = Field(default=300_000, ge=100, le=3_600_000)
    window_minutes: int = Field(default=60, ge=1, le=1_440)
    retry_delay_minutes: int = Field(default=10, ge=1, le=1_440)
    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=8700, ge=0, le=LAST_PORT)
    public_url: str | None = Field(default=None, pattern=A_URL)
    sockets_per_user: int = Field(default=10, ge=1, le=10_000)
    socket_frames_per_s: int = Field(default=10, ge=1, le=10_000)
    socket_frame_bytes: int = Field(default=65_536, ge=1_024, le=1_048_576)
    socket_ping_ms: int = Field(default=20_000, ge=100, le=600_000)
    rate_per_minute: int = Field(default=6_000, ge=6, le=10_000_000)
    tenant_rate_per_minute: int | None = Field(default=30_000, ge=6, le=100_000_000)
    cors_origins: tuple[Origin, ...] = ()
    trusted_proxies: tuple[Network, ...] = ()
    demo_database_url: str = "sqlite:///cadenza-demo.db"
    demo_port: int = Field(default=8701, ge=0, le=LAST_PORT)
    allow_private_targets: bool = False
    allow_targets: tuple[str, ...] = ()
    slo_eval_ms: int = Field(default=60_000, ge=100, le=3_600_000)
    slo_window_minutes: int = Field(default=15, ge=1, le=1_440)
    breach_consecutive: int = Field(default=3, ge=1, le=100)
    tick_budget_ms: int = Field(default=300, ge=1, le=3_600_000)
    sat_ratio: float = Field(default=0.8, gt=0, le=1)
    depth_avg_max: int = Field(default=1_000, ge=1, le=1_000_000_000)
    job_p95_max_ms: int = Field(default=30_000, ge=1, le=86_400_000)
    cutoff_rate_max: float = Field(default=0.05, gt=0, le=1)
    dead_man_ms: int = Field(default=180_000, ge=100, le=86_400_000)
    process_name: str | None = Field(default=None, min_length=1)
    alert_url: SecretStr | None = None
    alert_format: Literal["json", "slack"] = "json"
    alert_secret: str | None = Field(default=None, pattern=A_REFERENCE)
    alert_failures: int = Field(default=3, ge=1, le=1_000)
    alert_gather_ms: int = Field(default=5_000, ge=0, le=600_000)
    channel_delay_ms: int = Field(default=30_000, ge=0, le=86_400_000)
    otel_endpoint: str | None = Field(default=None, pattern=A_URL)
    otel_every_ms: int = Field(default=60_000, ge=100, le=3_600_000)
    server: str | None = None
    key: SecretStr | None = None
    mcp_scopes: tuple[str, ...] = ("read",)
    llm_model: str | None = Field(default=None, min_length=1)
    llm_models: tuple[str, ...] = ()
    llm_base_url: str | None = Field(default=None, pattern=A_URL)
    llm_pause_ms: int = Field(default=300_000, ge=0, le=86_400_000)
    llm_timeout_ms: int = Field(default=60_000, ge=1_000, le=150_000)
    llm_steps: int = Field(default=8, ge=2, le=50)
    llm_input_tokens: int = Field(default=40_000, ge=4_000, le=1_000_000)
    llm_output_tokens: int = Field(default=4_000, ge=500, le=100_000)
    wake_price: Literal["off", "shadow", "on"] = "off"
    secret_key: SecretStr | None = None
    secret_key_old: SecretStr | None = None
    secret_env: tuple[str, ...] | None = None

    @field_validator(*LISTS, mode="before")
    @classmethod
    def split(cls, value: object) -> object:
        """Names behind commas."""
        return (
            [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        )

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_json: bool = False


def allowed_models(settings: Settings) -> frozenset[str]:
    """The models that agents may have."""
    default_model = [] if settings.llm_model is None else [settings.llm_model]
    return frozenset([*default_model, *settings.llm_models])


def misspelt(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that look like settings and are none, with the setting that was perhaps meant."""
    known = [f"CADENZA_{name.upper()}" for name in Settings.model_fields]
    strangers = [name for name in environment if name.startswith("CADENZA_") and name not in known]
    wrong = [name for name in strangers if name.startswith(LIKE_A_KEY) or not name.startswith(NOT_SETTINGS)]
    return {name: next(iter(get_close_matches(name, known, 1)), "") for name in wrong}


def read_settings(**given: Any) -> Settings:
    """The settings of this process, and those given by their names; what is wrong is one sentence."""
    unknown = given.keys() - Settings.model_fields.keys()
    if unknown:
        raise InvalidRequest(f"Setting {quoted(min(unknown))} not found.", min(unknown))
    try:
        settings = Settings(**given)
    except ValidationError as problem:
        first = problem.errors()[0]
        field = str(first["loc"][0])
        name = field if field in given else f"CADENZA_{field.upper()}"
        value = "its value" if field in SECRET_SETTINGS else quoted(first["input"])
        expected = _expected(field, Settings.model_fields[field])
        raise InvalidRequest(f"{name} is invalid: {value} is not {expected}.", name) from None
    except (OSError, UnicodeError):
        raise InvalidRequest("The settings cannot be read: is the file .env a text in UTF-8?") from None
    if settings.window_minutes * 60_000 < settings.tick_ms:
        name = "CADENZA_WINDOW_MINUTES"
        message = f"{name} must be no shorter than CADENZA_TICK_MS: a window could pass between two ticks."
        raise InvalidRequest(message, name)
    return settings


def _expected(name: str, field: FieldInfo) -> str:
    """What a setting takes, in words."""
    if get_origin(field.annotation) is Literal:
        return one_of(get_args(field.annotation))
    kinds = get_args(field.annotation) or (field.annotation,)
    if bool in kinds:
        return "true or false"
    rules = [one.func for one in field.metadata if isinstance(one, AfterValidator)]
    words = [IN_WORDS[kind] for kind in (*kinds, *rules) if kind in IN_WORDS]
    if words:
        return words[0]
    bounds: dict[str, Any] = {
        key: getattr(bound, key)
        for bound in field.metadata
        for key in ("ge", "gt", "le", "pattern")
        if hasattr(bound, key)
    }
    taken = text_in_words(bounds.get("pattern"), least=1)
    if int in kinds or float in kinds:
        taken = number_in_words(
            name, least=bounds.get("ge"), above=bounds.get("gt"), most=bounds.get("le"), whole=int in kinds
        )
    return f"{taken}, nor {NOTHING}" if NoneType in kinds else taken
