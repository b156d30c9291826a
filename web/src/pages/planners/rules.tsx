/** Rules: listed, written, tried and switched. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { asProblem, callApi, hasScope, type ListPage, type Problem } from "../../lib/api";
import { useData } from "../../lib/data";
import { span } from "../../lib/format";
import { Dialog } from "../../ui/dialog";
import { Card, Loading, ProblemNotice } from "../../ui/parts";
import { toast } from "../../ui/toast";
import { RuleForm } from "./rule_form";
import type { Rule, Step, Trial } from "./types";

const MOST = 200;
const LONG_MS = 365 * 86_400_000;

interface Named {
  id: string;
  name: string;
}

export function Rules(): JSX.Element {
  const data = useData<ListPage<Rule>>("/v1/rules", { query: { limit: MOST }, when: (change) => change.steered });
  /** The rule that is edited; null for a new one. */
  const edited = useSignal<Rule | null | undefined>(undefined);
  const told = data.value.value;
  const close = (): void => {
    edited.value = undefined;
    data.refresh();
  };
  return (
    <Card
      title="Rules"
      aside={
        hasScope("write") && (
          <button class="button" type="button" onClick={() => (edited.value = null)}>
            New rule
          </button>
        )
      }
    >
      {data.problem.value && <ProblemNotice problem={data.problem.value} retry={data.refresh} />}
      {!told && !data.problem.value && <Loading what="rules" />}
      {told?.items.length === 0 && <p class="muted">There are no rules yet. A rule says: when a condition holds, then a tool is called.</p>}
      <ul class="rules">
        {told?.items.map((rule) => (
          <OneRule key={rule.id} rule={rule} onEdit={() => (edited.value = rule)} onChange={data.refresh} />
        ))}
      </ul>
      {told?.next_cursor && <p class="quiet">The first {MOST}, by their ids; <code>cadenza rules list</code> shows all.</p>}
      <Dialog title={edited.value ? "Change the rule" : "New rule"} open={edited.value !== undefined} onClose={() => (edited.value = undefined)}>
        {edited.value !== undefined && <RuleForm rule={edited.value} onDone={close} />}
      </Dialog>
    </Card>
  );
}

function stepWords(step: Step): string {
  const whom = step.endpoint ? ` ${step.endpoint}` : "";
  if (step.tool === "propose_interval") return `run${whom} every ${span(step.intervalMs ?? 0)} for ${span((step.ttlMinutes ?? 60) * 60_000)}`;
  if (step.tool === "propose_next_time") return `run${whom} once, ${step.nextRunInMs ? `after ${span(step.nextRunInMs)}` : "at once"}`;
  if (step.tool === "pause_until") return step.pauseMs ? `pause${whom} ${step.pauseMs < LONG_MS ? `for ${span(step.pauseMs)}` : "until it is woken"}` : `resume${whom}`;
  return step.tool === "wake" ? `wake${whom}` : `clear the interval${whom ? ` of${whom}` : ""}`;
}

function OneRule({ rule, onEdit, onChange }: { rule: Rule; onEdit: () => void; onChange: () => void }): JSX.Element {
  const trial = useSignal<Trial | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  const sure = useSignal(false);
  const on = useSignal<TriedProps["on"]>(undefined);
  const path = `/v1/rules/${encodeURIComponent(rule.id)}`;
  async function act(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      problem.value = undefined;
    } catch (error) {
      problem.value = asProblem(error);
    }
  }
  /** A rule about one endpoint is tried on that; any other on the first of its job, or on one that is chosen. */
  const test = (endpoint: string | null): Promise<void> =>
    act(async () => {
      if (rule.endpoint_id === null && !on.value) {
        const { items } = await callApi<ListPage<Named>>("GET", "/v1/endpoints", { query: { job_id: rule.job_id, limit: 100 } });
        on.value = items[0] && { options: items, chosen: items[0].id };
      }
      if (on.value && endpoint) on.value = { ...on.value, chosen: endpoint };
      const chosen = on.value?.chosen;
      trial.value = await callApi<Trial>("POST", `${path}/test`, { body: chosen ? { endpoint_id: chosen } : {} });
    });
  const turn = (): Promise<void> =>
    act(async () => {
      await callApi("PATCH", path, { body: { enabled: !rule.enabled } });
      onChange();
    });
  const remove = (): Promise<void> =>
    act(async () => {
      await callApi("DELETE", path);
      toast("The rule is deleted.");
      onChange();
    });
  return (
    <li class={rule.enabled ? "" : "off"}>
      <div class="row spread">
        <strong class="rule-name">{rule.name}</strong>
        <span class="quiet">
          {rule.job_id}, {rule.endpoint_id ?? "each endpoint"} {!rule.enabled && <span class="badge warn">off</span>}
        </span>
      </div>
      <div>
        when <code class="when">{rule.when}</code>
      </div>
      <div>then {stepWords(rule.then)}</div>
      {rule.relax && <div>otherwise {stepWords(rule.relax)}</div>}
      {rule.escalate.map((one) => (
        <div key={one.after_ms} class="quiet">
          after {span(one.after_ms)}: {stepWords(one.then)}
        </div>
      ))}
      <div class="row rule-acts">
        <Tried rule={rule} on={on.value} onTry={(endpoint) => void test(endpoint)} />
        {hasScope("write") && (
          <>
            <button class="button plain" type="button" onClick={onEdit} aria-label={`Change ${rule.name}`}>
              Change
            </button>
            <button class="button plain" type="button" onClick={() => void turn()} aria-label={`Turn ${rule.enabled ? "off" : "on"} ${rule.name}`}>
              {rule.enabled ? "Turn off" : "Turn on"}
            </button>
            <button class="button plain danger" type="button" onClick={() => (sure.value ? void remove() : (sure.value = true))} aria-label={`${sure.value ? "Really delete" : "Delete"} ${rule.name}`}>
              {sure.value ? "Really delete" : "Delete"}
            </button>
          </>
        )}
      </div>
      {problem.value && <ProblemNotice problem={problem.value} />}
      {trial.value && <TrialWords trial={trial.value} />}
    </li>
  );
}

interface TriedProps {
  rule: Rule;
  /** Those that a rule about all of its job can be tried on, once somebody wants to; the one that was chosen. */
  on: { options: Named[]; chosen: string } | undefined;
  onTry: (endpoint: string | null) => void;
}

function Tried({ rule, on, onTry }: TriedProps): JSX.Element {
  return (
    <>
      <button class="button plain" type="button" onClick={() => onTry(on?.chosen ?? null)} aria-label={`Try ${rule.name}`}>
        Try
      </button>
      {on && (
        <select class="pick" aria-label={`Endpoint to try ${rule.name} on`} value={on.chosen} onChange={(event) => onTry(event.currentTarget.value)}>
          {on.options.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </select>
      )}
    </>
  );
}

function TrialWords({ trial }: { trial: Trial }): JSX.Element {
  const said = trial.holds === null ? `It cannot be told: ${trial.trouble ?? "there was no run"}` : trial.holds ? "Its condition holds now." : "Its condition does not hold now.";
  return (
    <div class="preview" role="status">
      <p>{said}</p>
      {trial.calls.length === 0 ? (
        <p class="quiet">It would do nothing at this moment.</p>
      ) : (
        <ul>
          {trial.calls.map((call, place) => (
            <li key={place}>
              <code>
                {call.tool}({JSON.stringify(call.arguments)})
              </code>{" "}
              on {call.endpoint}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
