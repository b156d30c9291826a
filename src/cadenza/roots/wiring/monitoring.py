"""The monitoring of a process: metrics, service levels, alerts and OpenTelemetry."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime
from socket import gethostname

from prometheus_client import CollectorRegistry

from cadenza.adapters.access.stored_secrets import StoredSecrets
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.http.dispatcher import HttpDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.telemetry.event_bus import EventBus
from cadenza.adapters.telemetry.prometheus import SchedulerMetrics
from cadenza.adapters.telemetry.webhook_channel import WebhookSender
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.monitoring.slo import SloSettings
from cadenza.domain.validation import milliseconds
from cadenza.engine.agents.channel_delivery import ChannelDelivery
from cadenza.engine.daily.tick import STALLED_TICKS
from cadenza.engine.monitoring import alert_delivery, slo_watcher
from cadenza.engine.monitoring.alert_delivery import AlertDelivery, AlertSettings
from cadenza.engine.monitoring.slo_watcher import SloWatcher
from cadenza.engine.supervision import Part
from cadenza.engine.worker.settle import EndpointAlerts
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.application import guarded_channels
from cadenza.roots.wiring.http_dispatch import http_dispatcher
from cadenza.roots.wiring.secrets import open_secrets


class ProcessMonitoring:
    """Attaches handlers to the events of a process, all by the system clock."""

    def __init__(
        self,
        settings: Settings,
        *,
        store: Store,
        log: Logger,
        role: str,
        speed: float = 1,
        events: EventBus | None = None,
        clock: SystemClock | None = None,
        last_idle_at: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        self._settings = settings
        self._speed = speed
        self._store = store
        self._log = log
        self._clock = clock or SystemClock()
        self._last_idle_at = last_idle_at
        self.process = settings.process_name or f"{gethostname()}/{role}"
        self.events = events or EventBus(log)
        self.registry = CollectorRegistry()
        self.events.attach("metrics", SchedulerMetrics(self.registry))

    async def open(self, stack: AsyncExitStack, *expected: str) -> list[Part]:
        """The monitoring parts; a scheduler in `expected` is reported when it never ticks at all."""
        if self._settings.otel_endpoint is not None:
            await self._open_otel(stack, self._settings.otel_endpoint)
        watcher = self._watcher(expected)
        self.events.attach("slo-watcher", watcher, slo_watcher.EVENTS)
        stored = await stack.enter_async_context(open_secrets(self._settings, self._store))
        http = http_dispatcher(self._settings, stored, clock=self._clock, log=self._log)
        alerts = self._alert_delivery(stored, http)
        channels = self._channel_delivery(stored, http)
        await stack.enter_async_context(http)
        self.events.attach("alerts", alerts, alert_delivery.EVENTS)
        return [
            Part("slo-watcher", watcher.run),
            Part("alerts", alerts.run),
            Part("channels", channels.run, channels.stop),
        ]

    def endpoint_alerts(self) -> EndpointAlerts:
        """Alerts about failing endpoints, which a worker stores with the runs."""
        return EndpointAlerts(clock=self._clock, failures=self._settings.alert_failures)

    def _watcher(self, expected: tuple[str, ...]) -> SloWatcher:
        return SloWatcher(
            clock=self._clock,
            log=self._log,
            telemetry=self.events,
            store=self._store.slos,
            process=self.process,
            settings=scaled_to_clock(slo_settings(self._settings), self._speed),
            eval_ms=self._settings.slo_eval_ms,
            expected=expected,
            last_idle_at=self._last_idle_at,
        )

    def _alert_delivery(self, stored: StoredSecrets, http: HttpDispatcher) -> AlertDelivery:
        settings = self._settings
        return AlertDelivery(
            store=self._store,
            sender=self._default_sender(http),
            channels=guarded_channels(settings, stored, dispatcher=http, clock=self._clock),
            clock=self._clock,
            log=self._log,
            telemetry=self.events,
            settings=AlertSettings(settings.alert_failures, settings.alert_gather_ms),
        )

    def _channel_delivery(self, stored: StoredSecrets, http: HttpDispatcher) -> ChannelDelivery:
        return ChannelDelivery(
            store=self._store.channels,
            sender=guarded_channels(self._settings, stored, dispatcher=http, clock=self._clock),
            clock=self._clock,
            ids=TimeOrderedIds(),
            log=self._log,
            telemetry=self.events,
            socket_first=milliseconds(self._settings.channel_delay_ms),
        )

    def _default_sender(self, http: HttpDispatcher) -> WebhookSender | None:
        """What sends to the address of the settings, for tenants without routes."""
        settings = self._settings
        if settings.alert_url is None:
            return None
        url = settings.alert_url.get_secret_value()
        signing = (f"${{{settings.alert_secret}}}",) if settings.alert_secret is not None else ()
        try:
            return WebhookSender(http, self._clock, url=url, form=settings.alert_format, signing=signing)
        except InvalidRequest as problem:
            raise InvalidRequest(f"CADENZA_ALERT_URL is invalid: {problem.message}", "alert_url") from None

    async def _open_otel(self, stack: AsyncExitStack, endpoint: str) -> None:
        from cadenza.adapters.telemetry.otel import open_otel

        exporting = open_otel(endpoint, every_ms=self._settings.otel_every_ms, process=self.process)
        self.events.attach("otel", stack.enter_context(exporting))


def slo_settings(settings: Settings) -> SloSettings:
    """The service levels of the settings; the dead man's limit is at least a few ticks."""
    asked = {name: getattr(settings, name) for name in SloSettings.__dataclass_fields__}
    return SloSettings(**asked | {"dead_man_ms": max(settings.dead_man_ms, STALLED_TICKS * settings.tick_ms)})


def scaled_to_clock(levels: SloSettings, speed: float) -> SloSettings:
    """Service levels for durations measured by a clock that runs `speed` times as fast."""
    return replace(
        levels,
        tick_budget_ms=levels.tick_budget_ms * speed,
        job_p95_max_ms=levels.job_p95_max_ms * speed,
    )
