"""`cadenza schedules`."""

from typing import Annotated, Any

from cyclopts import Parameter

from cadenza.domain.durations import span_ms
from cadenza.surfaces.cli.connection import HERE, Way
from cadenza.surfaces.cli.operation_command import Commands, example, said
from cadenza.surfaces.cli.paging import FIRST, Paging, gathered

OfUser = Annotated[str | None, Parameter(name="--user", help="Those of this user.")]
ForUser = Annotated[str, Parameter(name="--user", help="Whose schedule it is.")]
ByAgent = Annotated[str, Parameter(name="--agent", help="Who answers when it fires.")]
NewName = Annotated[str, Parameter(allow_leading_hyphen=True, help="A short label.")]
Prompt = Annotated[str, Parameter(allow_leading_hyphen=True, help="What the agent is told when it fires.")]
At = Annotated[str | None, Parameter(help="When it fires, once; without an offset, in the time zone.")]
In = Annotated[str | None, Parameter(name="--in", help="Fire once, after a span: 20m, 2h.")]
Line = Annotated[str | None, Parameter(name="--cron", help="Fire again and again: five fields.")]
Zone = Annotated[str | None, Parameter(help="An IANA time zone; the user's if left out.")]
Done = Annotated[bool, Parameter(help="Those that are done or switched off, too.")]
MaySchedule = Annotated[bool, Parameter(help="Whether it may make schedules when it fires.")]
ASchedule = Annotated[str, Parameter(help="The schedule's id, such as sched-a7b3c.")]


class Schedules(Commands):
    """What users and their agents have planned."""

    @example("cadenza schedules list --user ada")
    def list_(
        self, *, user: OfUser = None, done: Done = False, paging: Paging = FIRST, way: Way = HERE
    ) -> int:
        """List schedules, in the order of their ids."""
        from cadenza.surfaces.cli.output.columns import SCHEDULES
        from cadenza.surfaces.cli.output.formatting import listing

        given = {"enabled_only": not done} | ({} if user is None else {"user_id": user})
        look = listing(SCHEDULES, "There are no schedules.")
        return self.answer(way, lambda asker: gathered(asker, "list_schedules", given, paging=paging), look)

    @example(
        'cadenza schedules create --user ada --agent helper --name Pizza --prompt "take it out" --in 20m'
    )
    def create(
        self,
        *,
        user: ForUser,
        agent: ByAgent,
        name: NewName,
        prompt: Prompt,
        at: At = None,
        in_: In = None,
        cron: Line = None,
        timezone: Zone = None,
        may_schedule: MaySchedule = False,
        way: Way = HERE,
    ) -> int:
        """Have an agent told something at a moment, once, or again and again."""
        given = {
            "schedule_type": "one-shot" if cron is None else "recurring",
            "user_id": user,
            "agent_id": agent,
            "name": name,
            "prompt": prompt,
            "run_at": at,
            "delay_seconds": None if in_ is None else max(1, span_ms("--in", in_) // 1_000),
            "cron_expression": cron,
            "timezone": timezone,
            "may_schedule": may_schedule,
        }
        return self.answer(way, lambda asker: asker.ask("create_schedule", _given(given)), _made)

    @example("cadenza schedules delete sched-a7b3c")
    def delete(self, schedule: ASchedule, /, *, way: Way = HERE) -> int:
        """Delete a schedule; it fires no more."""
        done = said(f"Deleted the schedule {schedule}.")
        return self.answer(way, lambda asker: asker.ask("delete_schedule", {"schedule_id": schedule}), done)


def _given(words: dict[str, Any]) -> dict[str, Any]:
    return {name: word for name, word in words.items() if word is not None}


def _made(schedule: Any) -> Any:
    from cadenza.surfaces.cli.output.formatting import card

    fires = "\n".join(schedule["next_fires"])
    yield card({"schedule": schedule["name"], "id": schedule["id"], "fires": fires})
