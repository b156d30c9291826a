"""The HTTP dispatcher from settings. It loads the HTTP client, which most commands do not need."""

from cadenza.adapters.access.stored_secrets import StoredSecrets
from cadenza.adapters.dispatch.http.connections import HttpSettings
from cadenza.adapters.dispatch.http.dispatcher import HttpDispatcher
from cadenza.adapters.dispatch.http.ssrf_guard import SsrfGuard
from cadenza.domain.errors import InvalidRequest
from cadenza.ports.clock import Clock
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.secrets import for_targets


def http_dispatcher(settings: Settings, stored: StoredSecrets, *, clock: Clock) -> HttpDispatcher:
    """What sends requests; it is to be opened, and closed in the end."""
    return HttpDispatcher(
        secrets=for_targets(settings, stored), clock=clock, settings=http_settings(settings)
    )


def http_settings(settings: Settings) -> HttpSettings:
    """What the settings allow; InvalidRequest, which names the setting, if that makes no sense."""
    reach = HttpSettings(allow_private=settings.allow_private_targets, allow=settings.allow_targets)
    try:
        SsrfGuard(allow_private=reach.allow_private, allow=reach.allow)
    except InvalidRequest as problem:
        raise InvalidRequest(f"CADENZA_ALLOW_TARGETS is wrong: {problem.message}", "allow_targets") from None
    return reach
