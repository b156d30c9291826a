"""`cadenza jobs`."""

from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.surfaces.cli.connection import HERE, Way
from cadenza.surfaces.cli.lookup import on_job
from cadenza.surfaces.cli.operation_command import Commands, Look, example, said
from cadenza.surfaces.cli.options import AJob, Description, Id, Name
from cadenza.surfaces.cli.paging import FIRST, Paging, gathered

NewName = Annotated[str, Parameter(allow_leading_hyphen=True, help="What people call it.")]
Active = Annotated[
    bool | None, Parameter(name="--active", negative="--inactive", help="Whether its endpoints run.")
]


class Jobs(Commands):
    """Named groups of endpoints that are switched together."""

    @example("cadenza jobs list")
    def list_(self, *, paging: Paging = FIRST, way: Way = HERE) -> int:
        """List jobs, in the order of their ids."""
        from cadenza.surfaces.cli.output.columns import JOBS
        from cadenza.surfaces.cli.output.formatting import listing

        look = listing(JOBS, "There are no jobs; cadenza jobs create makes one.")
        return self.answer(way, lambda asker: gathered(asker, "list_jobs", {}, paging=paging), look)

    @example("cadenza jobs show checkout")
    def show(self, job: AJob, /, *, way: Way = HERE) -> int:
        """Show one job."""
        return self._about(way, "get_job", job)

    @example('cadenza jobs create --name Checkout --id checkout --description "All that sells"')
    def create(
        self,
        *,
        name: NewName,
        id: Id = None,
        description: Description = None,
        active: Active = None,
        way: Way = HERE,
    ) -> int:
        """Create a job."""
        given = _given(name=name, id=id, description=description, active=active)
        return self.answer(way, lambda asker: asker.ask("create_job", given), _card())

    @example('cadenza jobs update checkout --name "The checkout"')
    def update(
        self,
        job: AJob,
        /,
        *,
        name: Name = None,
        description: Description = None,
        active: Active = None,
        way: Way = HERE,
    ) -> int:
        """Change a job; what is left out stays as it is."""
        given = _given(name=name, description=description, active=active)
        return self._about(way, "update_job", job, **given)

    @example("cadenza jobs delete checkout")
    def delete(self, job: AJob, /, *, way: Way = HERE) -> int:
        """Delete a job with its endpoints; their history stays as long as runs do."""
        done = said(f"Deleted the job {job} with its endpoints.")
        return self.answer(way, lambda asker: on_job(asker, "delete_job", job), done)

    @example("cadenza jobs pause checkout")
    def pause(self, job: AJob, /, *, way: Way = HERE) -> int:
        """Switch a job off: none of its endpoints is due until it is resumed."""
        return self._about(way, "pause_job", job)

    @example("cadenza jobs resume checkout")
    def resume(self, job: AJob, /, *, way: Way = HERE) -> int:
        """Switch a job on again."""
        return self._about(way, "resume_job", job)

    def _about(self, way: Way, operation: str, job: str, **given: Any) -> int:
        return self.answer(way, lambda asker: on_job(asker, operation, job, **given), _card())


def _given(**words: Any) -> dict[str, Any]:
    return {name: word for name, word in words.items() if word is not None}


def _card() -> Look:
    from cadenza.surfaces.cli.output.cards import job_card

    return job_card
