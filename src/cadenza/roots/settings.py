"""What an operator sets: variables `CADENZA_…`, or a file `.env`."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Annotated, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict
from pydantic_settings.exceptions import SettingsError

from cadenza.domain.errors import InvalidRequest

NOT_SETTINGS = ("CADENZA_SECRET_", "CADENZA_TEST_", "CADENZA_SOAK")


class Settings(BaseSettings):
    """Everything that can be set, with its default."""

    model_config = SettingsConfigDict(env_prefix="CADENZA_", env_file=".env", extra="ignore", frozen=True)

    database_url: str = "sqlite:///cadenza.db"
    sqlite_synchronous: Literal["OFF", "NORMAL", "FULL", "EXTRA"] = "NORMAL"
    worker_concurrency: int = Field(default=100, ge=1, le=100_000)
    claim_limit: int = Field(default=500, ge=1, le=10_000)
    claim_ahead_ms: int = Field(default=500, ge=0, le=60_000)
    lease_ms: int = Field(default=30_000, ge=1_000, le=3_600_000)
    jitter_ms: int = Field(default=3_000, ge=0, le=60_000)
    grace_ms: int = Field(default=10_000, ge=0, le=600_000)
    poll_ms: int = Field(default=1_000, ge=10, le=60_000)
    keep_runs_days: int | None = Field(default=30, ge=1)
    keep_runs_count: int | None = Field(default=None, ge=1)
    health_port: int | None = Field(default=None, ge=0, le=65_535)
    host: str = "127.0.0.1"
    demo_port: int = Field(default=8701, ge=0, le=65_535)
    allow_private_targets: bool = False
    allow_targets: Annotated[tuple[str, ...], NoDecode] = ()

    @field_validator("allow_targets", mode="before")
    @classmethod
    def split(cls, value: object) -> object:
        """Names behind commas."""
        return (
            [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        )

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_json: bool = False


def misspelt(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that look like settings and are none, with the setting that was perhaps meant."""
    known = [f"CADENZA_{name.upper()}" for name in Settings.model_fields]
    strangers = [
        name
        for name in environment
        if name.startswith("CADENZA_") and name not in known and not name.startswith(NOT_SETTINGS)
    ]
    return {name: next(iter(get_close_matches(name, known, 1)), "") for name in strangers}


def read_settings() -> Settings:
    """The settings of this process; what is wrong with them is one sentence."""
    try:
        return Settings()
    except ValidationError as problem:
        first = problem.errors()[0]
        name = "_".join(["CADENZA", *(str(part).upper() for part in first["loc"][:1])])
        raise InvalidRequest(f"{name} is wrong: {first['msg']}.", name) from None
    except (SettingsError, OSError, UnicodeError) as problem:
        raise InvalidRequest(f"The settings, or the file .env, cannot be read: {problem}.") from None
