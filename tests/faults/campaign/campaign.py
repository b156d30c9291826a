"""A campaign from its first process to its report."""

import asyncio
import time
from collections import Counter
from pathlib import Path
from random import Random

from tests.faults.agents.database_history import DatabaseHistory, read_history
from tests.faults.campaign.caller import PersistentCaller
from tests.faults.campaign.checks import Evidence, all_violations, given_up, read_runs, tracebacks
from tests.faults.campaign.faults import FaultInjector
from tests.faults.campaign.installation import Installation, open_installation
from tests.faults.campaign.listeners import Listener
from tests.faults.campaign.operator import Operator
from tests.faults.campaign.people import Person, SteeringLog
from tests.faults.campaign.plan import CampaignPlan
from tests.faults.campaign.report import CampaignReport
from tests.faults.scheduling.history_checks import History

from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.keys import daily_key
from cadenza.domain.scheduling.run import RunStatus

VERDICTS_S = 180.0
LOOK_S = 0.2


async def run_campaign(plan: CampaignPlan, folder: Path) -> CampaignReport:
    """Start everything, let faults strike while people steer, wait until all is quiet, and check."""
    report, began = CampaignReport(plan.seed, plan.profile), time.monotonic()
    async with open_installation(folder, plan) as installation:
        await Campaign(plan, installation, report).run()
    report.seconds = time.monotonic() - began
    return report


class Campaign:
    """One campaign on an installation that has been started."""

    def __init__(self, plan: CampaignPlan, installation: Installation, report: CampaignReport) -> None:
        self._plan = plan
        self._on = installation
        self._report = report
        self._log = SteeringLog()
        self._listeners = [Listener(user, token) for user, token in installation.tokens.items()]
        self._callers = [
            PersistentCaller(installation.callers, Random(plan.seed + n)) for n in range(plan.people + 1)
        ]
        self._operator = Operator(installation.store, self._callers[-1])

    async def run(self) -> None:
        """Everything, in its order."""
        await self._under_faults()
        await self._on.processes.all_ready()
        await self._operator.come_to_rest()
        await self._wait_for_days()
        await self._deliver_the_rest()
        still_there = await self._on.processes.stop()
        self._report.violations += [f"{name} would not stop" for name in still_there]
        await self._check()

    async def _under_faults(self) -> None:
        """Faults strike while people steer and users listen; what people began is done in the end."""
        stop, chance = asyncio.Event(), Random(self._plan.seed)
        people = [
            Person(number, caller, self._log, chance=Random(self._plan.seed * 100 + number))
            for number, caller in enumerate(self._callers[:-1])
        ]
        steering = [asyncio.create_task(one.steer(self._on.receiver, stop)) for one in people]
        background = [
            asyncio.create_task(one.listen_to_any(self._on.addresses, chance)) for one in self._listeners
        ]
        background.append(asyncio.create_task(self._operator.look_after()))
        injector = FaultInjector(self._on.cluster, self._on.proxy, self._on.processes)
        await injector.run(self._plan)
        self._report.faults = injector.done
        stop.set()
        await asyncio.gather(*steering)
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)

    async def _wait_for_days(self) -> None:
        """Until every daily user has a verdict, or it takes too long; the checks say who has none."""
        limit, daily = time.monotonic() + VERDICTS_S, self._on.store.daily
        for user in self._log.daily_users:
            while time.monotonic() < limit and not await daily.verdicts_of(  # noqa: ASYNC110 - It tells nobody.
                daily_key("default", user)
            ):
                await asyncio.sleep(LOOK_S)

    async def _deliver_the_rest(self) -> None:
        keys = [UserKey("default", one.user) for one in self._listeners]
        last = await self._on.store.deliveries.last_seqs(keys)
        for listener, key in zip(self._listeners, keys, strict=True):
            await listener.catch_up(self._on.addresses[0], last[key], self._log.answered[key.id])

    async def _check(self) -> None:
        store, receiver = self._on.store, self._on.receiver
        history = await read_runs(store)
        messages = await read_history(self._on.settings, self._on.tokens)
        functions = Counter(self._on.dispatch_log.read_text().split())
        evidence = Evidence(self._log, receiver, functions, self._operator.resumed)
        self._report.violations += [
            *self._operator.violations,
            *(told for one in self._listeners for told in one.violations),
            *await all_violations(store, history, messages, evidence),
            *tracebacks(self._on.dispatch_log.parent),
        ]
        self._report.steering = self._log.counts
        self._report.figures = self._figures(history, messages, evidence)

    def _figures(self, history: History, messages: DatabaseHistory, evidence: Evidence) -> dict[str, int]:
        runs = [run for _, of_endpoint in history.values() for run in of_endpoint]
        return {
            "endpoints": len(history),
            "slots": len({(run.endpoint_id, run.slot) for run in runs}),
            "runs": len(runs),
            "verdicts": sum(run.verdict for run in runs),
            "runs lost and marked so": sum(run.status is RunStatus.ABANDONED for run in runs),
            "requests that arrived": evidence.receiver.runs.total(),
            "functions called": evidence.functions.total(),
            "prompts fired": sum(messages.verdicts[one] for one in self._log.schedules),
            "prompts that failed at each attempt": sum(
                given_up(history[one][1]) for one in self._log.schedules
            ),
            "messages received": sum(len(one.seen) for one in self._listeners),
            "sockets opened": sum(one.sockets for one in self._listeners),
            "daily users, with one verdict each": len(self._log.daily_users),
            "requests sent again": sum(one.repeated for one in self._callers),
            "endpoints paused after deaths alone, and resumed": len(evidence.resumed),
            "processes that ended by themselves": self._on.processes.exits.total(),
        }
