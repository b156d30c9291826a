"""`cadenza endpoints`: made, shown, changed and deleted."""

from collections.abc import Mapping
from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.surfaces.cli.argument_parsing import document
from cadenza.surfaces.cli.commands.endpoint_options import EndpointOptions, changes
from cadenza.surfaces.cli.connection import HERE, Asker, Way
from cadenza.surfaces.cli.lookup import ENDPOINT, job_id, on_endpoint, the
from cadenza.surfaces.cli.operation_command import Commands, Look, example, said
from cadenza.surfaces.cli.options import AnEndpoint, File, Id, Labels, OfJob
from cadenza.surfaces.cli.paging import FIRST, Paging, gathered

NOTHING_GIVEN = EndpointOptions()
InJob = Annotated[str | None, Parameter(name="--job", help="The job it belongs to, by id or name.")]
StartNow = Annotated[bool, Parameter(help="Due at once, instead of one interval from now.")]
Unlabel = Annotated[tuple[str, ...], Parameter(help="The name of a label to take away; several times.")]


class Endpoints(Commands):
    """Schedulable things: what to do, and when."""

    @example("cadenza endpoints list --label team=web --json")
    def list_(self, *, job: OfJob = None, label: Labels = (), paging: Paging = FIRST, way: Way = HERE) -> int:
        """List endpoints, all or those of a job or with labels, in the order of their ids."""
        from cadenza.surfaces.cli.output.columns import ENDPOINTS
        from cadenza.surfaces.cli.output.formatting import listing

        async def errand(asker: Asker) -> Any:
            return await gathered(asker, "list_endpoints", await selected(asker, job, label), paging=paging)

        return self.answer(way, errand, listing(ENDPOINTS, "There are no such endpoints."))

    @example("cadenza endpoints show traffic")
    def show(self, endpoint: AnEndpoint, /, *, way: Way = HERE) -> int:
        """Show one endpoint: what its owner wrote, and where it stands."""
        return self.answer(way, lambda asker: the(asker, ENDPOINT, endpoint), _card())

    @example(
        "cadenza endpoints create --job checkout --name traffic --url https://example.com/traffic"
        " --every 1m --min 20s --max 5m --label team=web"
    )
    def create(
        self,
        *,
        job: InJob = None,
        id: Id = None,
        options: EndpointOptions = NOTHING_GIVEN,
        start_now: StartNow = False,
        file: File = None,
        way: Way = HERE,
    ) -> int:
        """Create an endpoint in a job; its first run is one interval away, or at once with --start-now."""
        base = {} if file is None else document("--file", file)
        given = {**base, **changes(options, base, self._now()), **({"start_now": True} if start_now else {})}
        if id is not None:
            given["id"] = id
        _complete(given, job)

        async def errand(asker: Asker) -> Any:
            whose = {} if job is None else {"job_id": await job_id(asker, job)}
            return await asker.ask("create_endpoint", {**given, **whose})

        return self.answer(way, errand, _card())

    @example("cadenza endpoints update traffic --every 2m --label tier=gold")
    def update(
        self,
        endpoint: AnEndpoint,
        /,
        *,
        job: InJob = None,
        options: EndpointOptions = NOTHING_GIVEN,
        unlabel: Unlabel = (),
        file: File = None,
        way: Way = HERE,
    ) -> int:
        """Change an endpoint; what is left out stays as it is."""
        base = {} if file is None else document("--file", file)

        async def errand(asker: Asker) -> Any:
            before = await the(asker, ENDPOINT, endpoint)
            given = {**base, **changes(options, {**before, **base}, self._now())}
            if unlabel:
                given["labels"] = _without({**before, **given}["labels"], unlabel)
            if job is not None:
                given["job_id"] = await job_id(asker, job)
            return await asker.ask("update_endpoint", {**given, "endpoint_id": before["id"]})

        return self.answer(way, errand, _card())

    @example("cadenza endpoints delete traffic")
    def delete(self, endpoint: AnEndpoint, /, *, way: Way = HERE) -> int:
        """Delete an endpoint; its history stays as long as runs do."""
        done = said(f"Deleted the endpoint {endpoint}.")
        return self.answer(way, lambda asker: on_endpoint(asker, "delete_endpoint", endpoint), done)


async def selected(asker: Asker, job: str | None, label: tuple[str, ...]) -> dict[str, Any]:
    """Which endpoints are meant: of a job, with labels, or both."""
    whose = {} if job is None else {"job_id": await job_id(asker, job)}
    return {**whose, **({"label": list(label)} if label else {})}


def _complete(given: Mapping[str, Any], job: str | None) -> None:
    """What is missing is said as the options that would give it."""
    missing = {
        "job_id": "--job",
        "name": "--name",
        "target": "--url or --function",
        "baseline": "--every, --cron or --at",
    }
    for field, options in missing.items():
        if field not in given and not (field == "job_id" and job is not None):
            raise InvalidRequest(f"An endpoint needs {options}, or a --file that says it.", field)


def _without(labels: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, value in labels.items() if name not in names}


def _card() -> Look:
    from cadenza.surfaces.cli.output.cards import endpoint_card

    return endpoint_card
