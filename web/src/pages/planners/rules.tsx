/** Rules: listed, written, copied, tried, deleted, and turned on and off. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { asProblem, callApi, hasScope, type ListPage, type Problem } from "../../lib/api";
import { useData } from "../../lib/data";
import { span } from "../../lib/format";
import type { Json } from "../../forms/fields";
import { DeleteDialog, RecordDialog, type Editing } from "../../forms/record_dialog";
import { RULES } from "../../resources/rules";
import { Card, Empty, Loading, ProblemNotice } from "../../ui/parts";
import type { Rule, Step, Trial } from "./types";

const PAGE_SIZE = 200;
const INDEFINITE_MS = 365 * 86_400_000;

interface NamedEndpoint {
  id: string;
  name: string;
}

export function Rules(): JSX.Element {
  const data = useData<ListPage<Rule>>("/v1/rules", { query: { limit: PAGE_SIZE }, when: (change) => change.steered });
  const editing = useSignal<Editing | null>(null);
  const deleting = useSignal<Rule | null>(null);
  const page = data.value.value;
  const create = hasScope("write") && (
    <button class="button" type="button" onClick={() => (editing.value = {})}>
      New rule
    </button>
  );
  return (
    <Card
      title="Rules"
      aside={page?.items.length !== 0 && create}
    >
      {data.problem.value && <ProblemNotice problem={data.problem.value} retry={data.refresh} />}
      {!page && !data.problem.value && <Loading what="rules" />}
      {page?.items.length === 0 && (
        <Empty title="No rules yet">
          <p>{RULES.about}</p>
          {create}
        </Empty>
      )}
      <ul class="rules">
        {page?.items.map((rule) => (
          <RuleItem key={rule.id} rule={rule} onEdit={(copy) => (editing.value = { item: asJson(rule), copy })} onDelete={() => (deleting.value = rule)} onChange={data.refresh} />
        ))}
      </ul>
      {page?.next_cursor && <p class="quiet">The first {PAGE_SIZE} by id; <code>cadenza rules list</code> shows all.</p>}
      <RecordDialog resource={RULES} editing={editing.value} onClose={() => (editing.value = null)} onSaved={data.refresh} />
      <DeleteDialog resource={RULES} item={deleting.value && asJson(deleting.value)} onClose={() => (deleting.value = null)} onDeleted={data.refresh} />
    </Card>
  );
}

const asJson = (rule: Rule): Json => ({ ...rule });

function describeStep(step: Step): string {
  const endpoint = step.endpoint ? ` ${step.endpoint}` : "";
  if (step.tool === "propose_interval") return `run${endpoint} every ${span(step.intervalMs ?? 0)} for ${span((step.ttlMinutes ?? 60) * 60_000)}`;
  if (step.tool === "propose_next_time") return `run${endpoint} once, ${step.nextRunInMs ? `after ${span(step.nextRunInMs)}` : "now"}`;
  if (step.tool === "pause_until") return step.pauseMs ? `pause${endpoint} ${step.pauseMs < INDEFINITE_MS ? `for ${span(step.pauseMs)}` : "until resumed"}` : `resume${endpoint}`;
  return step.tool === "wake" ? `resume${endpoint} and run it soon` : `clear the interval hint${endpoint ? ` of${endpoint}` : ""}`;
}

interface RuleItemProps {
  rule: Rule;
  onEdit: (copy: boolean) => void;
  onDelete: () => void;
  onChange: () => void;
}

function RuleItem({ rule, onEdit, onDelete, onChange }: RuleItemProps): JSX.Element {
  const trial = useSignal<Trial | undefined>(undefined);
  const problem = useSignal<Problem | undefined>(undefined);
  const trialTarget = useSignal<TryButtonProps["trialTarget"]>(undefined);
  const path = `/v1/rules/${encodeURIComponent(rule.id)}`;
  async function attempt(action: () => Promise<void>): Promise<void> {
    try {
      await action();
      problem.value = undefined;
    } catch (error) {
      problem.value = asProblem(error);
    }
  }
  /** A rule about one endpoint is tried on that one; any other on the first endpoint of its job, or on the chosen one. */
  const test = (endpoint: string | null): Promise<void> =>
    attempt(async () => {
      if (rule.endpoint_id === null && !trialTarget.value) {
        const { items } = await callApi<ListPage<NamedEndpoint>>("GET", "/v1/endpoints", { query: { job_id: rule.job_id, limit: 100 } });
        trialTarget.value = items[0] && { options: items, chosen: items[0].id };
      }
      if (trialTarget.value && endpoint) trialTarget.value = { ...trialTarget.value, chosen: endpoint };
      const chosen = trialTarget.value?.chosen;
      trial.value = await callApi<Trial>("POST", `${path}/test`, { body: chosen ? { endpoint_id: chosen } : {} });
    });
  const toggle = (): Promise<void> =>
    attempt(async () => {
      await callApi("PATCH", path, { body: { enabled: !rule.enabled } });
      onChange();
    });
  return (
    <li class={rule.enabled ? "" : "off"}>
      <div class="row spread">
        <strong class="rule-name">{rule.name}</strong>
        <span class="quiet">
          {rule.job_id}, {rule.endpoint_id ?? "every endpoint"} {!rule.enabled && <span class="badge warn">disabled</span>}
        </span>
      </div>
      <div>
        when <code class="when">{rule.when}</code>
      </div>
      <div>then {describeStep(rule.then)}</div>
      {rule.relax && <div>otherwise {describeStep(rule.relax)}</div>}
      {rule.escalate.map((one) => (
        <div key={one.after_ms} class="quiet">
          after {span(one.after_ms)}: {describeStep(one.then)}
        </div>
      ))}
      <div class="row rule-acts">
        <TryButton rule={rule} trialTarget={trialTarget.value} onTry={(endpoint) => void test(endpoint)} />
        {hasScope("write") && (
          <>
            <button class="button plain" type="button" onClick={() => onEdit(false)} aria-label={`Edit ${rule.name}`}>
              Edit
            </button>
            <button class="button plain" type="button" onClick={() => onEdit(true)} aria-label={`Copy ${rule.name}`}>
              Copy
            </button>
            <button class="button plain" type="button" onClick={() => void toggle()} aria-label={`${rule.enabled ? "Disable" : "Enable"} ${rule.name}`}>
              {rule.enabled ? "Disable" : "Enable"}
            </button>
            <button class="button plain danger" type="button" onClick={onDelete} aria-label={`Delete ${rule.name}`}>
              Delete
            </button>
          </>
        )}
      </div>
      {problem.value && <ProblemNotice problem={problem.value} />}
      {trial.value && <TrialResult trial={trial.value} />}
    </li>
  );
}

interface TryButtonProps {
  rule: Rule;
  /** The endpoints that a rule about a whole job can be tried on, once loaded, and the chosen one. */
  trialTarget: { options: NamedEndpoint[]; chosen: string } | undefined;
  onTry: (endpoint: string | null) => void;
}

function TryButton({ rule, trialTarget, onTry }: TryButtonProps): JSX.Element {
  return (
    <>
      <button class="button plain" type="button" onClick={() => onTry(trialTarget?.chosen ?? null)} aria-label={`Test ${rule.name}`}>
        Test
      </button>
      {trialTarget && (
        <select class="pick" aria-label={`Endpoint to test ${rule.name} with`} value={trialTarget.chosen} onChange={(event) => onTry(event.currentTarget.value)}>
          {trialTarget.options.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </select>
      )}
    </>
  );
}

function TrialResult({ trial }: { trial: Trial }): JSX.Element {
  const result = trial.holds === null ? `Error: the condition cannot be evaluated: ${trial.trouble ?? "there is no run yet"}` : trial.holds ? "The condition is true now." : "The condition is false now.";
  return (
    <div class="preview" role="status">
      <p>{result}</p>
      {trial.calls.length === 0 ? (
        <p class="quiet">Dry run, no changes made. It would call no tool.</p>
      ) : (
        <ul>
          {trial.calls.map((call, index) => (
            <li key={index}>
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
