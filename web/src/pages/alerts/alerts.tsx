/** Alerts by state: firing, acknowledged, silenced, resolved; each leads to what it is about. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { asProblem, callApi, hasScope, type ListPage, type Problem } from "../../lib/api";
import { useData } from "../../lib/data";
import { counted, fullTime, isOpenEnded } from "../../lib/format";
import { announceOwnChange } from "../../lib/live";
import { query, setQuery } from "../../lib/router";
import { toast } from "../../ui/toast";
import { Card, Empty, Loading, ProblemNotice, RelativeTime, ServerText } from "../../ui/parts";
import { TextFilter } from "../runs/filters";
import "./alerts.css";
import { AcknowledgeDialog, SilenceDialog } from "./dialogs";
import { STATES, type Condition, type ConditionState } from "./types";

const LIMIT = 50;

type Counts = Partial<Record<ConditionState, number>>;

export default function AlertsPage(): JSX.Element {
  const counts = useData<Counts>("/v1/alerts/conditions/counts", { minGapMs: 2_000, every: 10_000 });
  const chosen = STATES.find((one) => one === query.value.get("state")) ?? "firing";
  return (
    <div class="stack">
      <div class="row spread">
        <div class="chips" role="group" aria-label="State of alerts">
          {STATES.map((state) => (
            <button key={state} class="button" type="button" aria-pressed={state === chosen} onClick={() => setQuery({ state: state === "firing" ? null : state })}>
              {state}
              {counts.value.value?.[state] !== undefined && <span class="number"> {counts.value.value[state]}</span>}
            </button>
          ))}
        </div>
        <div class="filters">
          <TextFilter label="Job id" name="job" />
          <TextFilter label="Endpoint id" name="endpoint" />
        </div>
      </div>
      <Conditions key={`${chosen} ${query.value.get("job") ?? ""} ${query.value.get("endpoint") ?? ""}`} state={chosen} counts={counts.value.value} onDone={counts.refresh} />
      {hasScope("write") && (
        <p class="quiet">
          Where alerts are sent: <a href="/settings/alert-routes">alert routes</a>
        </p>
      )}
    </div>
  );
}

function Conditions({ state, counts, onDone }: { state: ConditionState; counts: Counts | undefined; onDone: () => void }): JSX.Element {
  const filter = { state, job_id: query.value.get("job"), endpoint_id: query.value.get("endpoint"), limit: LIMIT };
  const data = useData<ListPage<Condition>>("/v1/alerts/conditions", { query: filter, minGapMs: 2_000, every: 10_000 });
  const older = useSignal<ListPage<Condition> | undefined>(undefined);
  const olderProblem = useSignal<Problem | undefined>(undefined);
  const first = data.value.value;
  const problem = data.problem.value ?? olderProblem.value;
  const seen = new Set(first?.items.map((one) => one.id));
  const items = [...(first?.items ?? []), ...(older.value?.items ?? []).filter((one) => !seen.has(one.id))];
  const cursor = older.value ? older.value.next_cursor : first?.next_cursor;
  async function loadOlder(): Promise<void> {
    try {
      const page = await callApi<ListPage<Condition>>("GET", "/v1/alerts/conditions", { query: { ...filter, cursor } });
      older.value = { items: [...(older.value?.items ?? []), ...page.items], next_cursor: page.next_cursor };
      olderProblem.value = undefined;
    } catch (error) {
      olderProblem.value = asProblem(error);
    }
  }
  function refresh(): void {
    older.value = undefined;
    data.refresh();
    onDone();
    announceOwnChange();
  }
  return (
    <Card title={`${state[0]!.toUpperCase()}${state.slice(1)}`} aside={first && `${counted(items.length, "alert")}${cursor ? " or more" : ""}, newest first`}>
      <div class="stack tight">
        {problem && <ProblemNotice problem={problem} retry={data.refresh} />}
        {!first && !problem && <Loading what="alerts" />}
        {first && items.length === 0 && <NoAlerts state={state} counts={counts} filtered={Boolean(filter.job_id ?? filter.endpoint_id)} />}
        <ul class="conditions" aria-label={`Alerts, ${state}`}>
          {items.map((one) => (
            <ConditionItem key={one.id} condition={one} onDone={refresh} />
          ))}
        </ul>
        {cursor && (
          <div>
            <button class="button" type="button" onClick={() => void loadOlder()}>
              Load older
            </button>
          </div>
        )}
      </div>
    </Card>
  );
}

interface NoAlertsProps {
  state: ConditionState;
  counts: Counts | undefined;
  filtered: boolean;
}

function NoAlerts({ state, counts, filtered }: NoAlertsProps): JSX.Element {
  return (
    <Empty title={state === "firing" ? "No alerts" : "No results"}>
      <p>{noAlertsText({ state, counts, filtered })}</p>
    </Empty>
  );
}

/** What is acknowledged or silenced is still wrong: that no alert fires does not say that all is well. */
function noAlertsText({ state, counts, filtered }: NoAlertsProps): string {
  if (filtered) return `No alert of this job or endpoint is ${state}.`;
  if (state !== "firing" || !counts) return `No alert is ${state}.`;
  const others = (["acknowledged", "silenced"] as const).filter((one) => counts[one]).map((one) => `${counts[one]} ${one}`);
  if (others.length > 0) return `No alert is firing: ${others.join(", ")}.`;
  return counts.firing ? "No alert is firing." : "SLOs OK, no endpoint failing repeatedly, no quota near its limit.";
}

const TONES: Record<ConditionState, string> = { firing: "bad", acknowledged: "warn", silenced: "", resolved: "good" };

function ConditionItem({ condition: one, onDone }: { condition: Condition; onDone: () => void }): JSX.Element {
  return (
    <li aria-label={one.text}>
      <div class="row">
        <span class={`badge ${TONES[one.state]}`}>{one.state}</span>
        <span class={`badge ${one.severity === "critical" ? "bad" : one.severity === "warning" ? "warn" : ""}`}>{one.severity}</span>
        <span class="quiet">{one.kind.replaceAll("_", " ")}</span>
        {one.grouped > 1 && <span class="badge" title="Its last message was about all of them.">grouped with {one.grouped - 1} more</span>}
      </div>
      <p class="condition-text">
        <ServerText text={one.text} />
      </p>
      <p class="quiet">
        since <RelativeTime at={one.since} tense="past" wall />
        {one.resolved_at && <>, resolved <RelativeTime at={one.resolved_at} tense="past" wall /></>}
        {one.acknowledged_at && (
          <>
            , acknowledged{one.acknowledged_by && ` by ${one.acknowledged_by}`} <RelativeTime at={one.acknowledged_at} tense="past" wall />
            {one.note && `: ${one.note}`}
          </>
        )}
        {one.silenced_until && (
          <>
            , silenced {isOpenEnded(one.silenced_until) ? "until ended" : `until ${fullTime(one.silenced_until)}`}
            {one.silence_reason && `: ${one.silence_reason}`}
          </>
        )}
        {one.suppressed_by && (
          <>
            , suppressed: parent <a href={`/endpoints/${encodeURIComponent(one.suppressed_by)}`}>{one.suppressed_by}</a> is down
          </>
        )}
      </p>
      <div class="row">
        <Links condition={one} />
        <Actions condition={one} onDone={onDone} />
      </div>
    </li>
  );
}

function Links({ condition: one }: { condition: Condition }): JSX.Element {
  const endpoint = one.endpoint_id && encodeURIComponent(one.endpoint_id);
  return (
    <>
      {endpoint && <a href={`/endpoints/${endpoint}`}>Endpoint {one.endpoint_id}</a>}
      {one.job_id && <a href={`/jobs/${encodeURIComponent(one.job_id)}`}>Job {one.job_id}</a>}
      {endpoint && <a href={`/runs?endpoint=${endpoint}&status=failure,timeout,abandoned`}>Failed runs</a>}
      {!endpoint && !one.job_id && <a href="/">Overview</a>}
    </>
  );
}

function Actions({ condition: one, onDone }: { condition: Condition; onDone: () => void }): JSX.Element | null {
  const open = useSignal<"acknowledge" | "silence" | undefined>(undefined);
  if (one.state === "resolved" || !hasScope("steer")) return null;
  const close = (): void => void (open.value = undefined);
  async function unsilence(): Promise<void> {
    try {
      await callApi("POST", `/v1/alerts/conditions/${encodeURIComponent(one.id)}/unsilence`, { body: {} });
      toast("Silence ended.");
      onDone();
    } catch (error) {
      toast(asProblem(error).message, { bad: true });
    }
  }
  return (
    <span class="row condition-actions">
      {one.state === "firing" && (
        <button class="button" type="button" onClick={() => (open.value = "acknowledge")}>
          Acknowledge
        </button>
      )}
      {one.state === "silenced" ? (
        <button class="button" type="button" onClick={() => void unsilence()}>
          End silence
        </button>
      ) : (
        <button class="button" type="button" onClick={() => (open.value = "silence")}>
          Silence
        </button>
      )}
      <AcknowledgeDialog condition={one} open={open.value === "acknowledge"} onClose={close} onDone={onDone} />
      <SilenceDialog condition={one} open={open.value === "silence"} onClose={close} onDone={onDone} />
    </span>
  );
}
