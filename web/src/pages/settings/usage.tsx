/** What the tenant has and spends this month, beside its limits. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { RecordDialog, type Editing } from "../../forms/record_dialog";
import { hasScope, session } from "../../lib/api";
import { useData } from "../../lib/data";
import { compact, span } from "../../lib/format";
import { LIMITS, TENANT_LIMITS } from "../../resources/tenant_limits";
import { Card, Loading, ProblemNotice, RelativeTime } from "../../ui/parts";

type Limits = Record<string, number | null>;

interface UsageAnswer {
  tenant_id: string;
  month: string;
  runs: number;
  planner_tokens: number;
  endpoints: number;
  endpoints_counted_all: boolean;
  limits: Limits;
  resets_at: string;
  history: { month: string; runs: number; planner_tokens: number }[];
}

/** What is counted against a limit. */
const USED: Record<string, (usage: UsageAnswer) => number> = {
  endpoints: (usage) => usage.endpoints,
  runs_per_month: (usage) => usage.runs,
  planner_tokens_per_month: (usage) => usage.planner_tokens,
};
/** The operator's own tenant; others cannot change their limits. */
const OPERATOR = "default";

const WARN_FROM = 0.8;
const BAD_FROM = 0.95;

export function Usage(): JSX.Element {
  const data = useData<UsageAnswer>("/v1/usage", { when: () => false });
  const editing = useSignal<Editing | null>(null);
  const usage = data.value.value;
  if (!usage) return data.problem.value ? <ProblemNotice problem={data.problem.value} retry={data.refresh} /> : <Loading what="usage" />;
  return (
    <div class="stack">
      <Card title="Usage and limits" aside={<>Counts reset <RelativeTime at={usage.resets_at} /></>}>
        <table class="small-table">
          <caption>Tenant {usage.tenant_id}, {usage.month} (UTC)</caption>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">Used</th>
              <th scope="col">Limit</th>
            </tr>
          </thead>
          <tbody>
            {LIMITS.map((line) => {
              const limit = usage.limits[line.name] ?? null;
              const used = USED[line.name]?.(usage);
              return (
                <tr key={line.name}>
                  <th scope="row">{line.label as string}</th>
                  <td class="number">{used !== undefined && <Used used={used} limit={limit} />}</td>
                  <td class="number">{limit === null ? "no limit" : line.kind === "duration" ? span(limit) : compact(limit)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
        {hasScope("admin") && session.value?.tenant_id === OPERATOR ? (
          <div>
            <button class="button" type="button" onClick={() => (editing.value = { item: { tenant_id: usage.tenant_id, ...usage.limits } })}>
              Change limits
            </button>
          </div>
        ) : (
          <p class="quiet">The operator of the server sets limits.</p>
        )}
        <RecordDialog resource={TENANT_LIMITS} editing={editing.value} onClose={() => (editing.value = null)} onSaved={data.refresh} />
      </Card>
      <Card title="Earlier months">
        <table class="small-table">
          <thead>
            <tr>
              <th scope="col">Month</th>
              <th scope="col">Runs</th>
              <th scope="col">Planner tokens</th>
            </tr>
          </thead>
          <tbody>
            {usage.history.map((one) => (
              <tr key={one.month}>
                <th scope="row">{one.month}</th>
                <td class="number">{compact(one.runs)}</td>
                <td class="number">{compact(one.planner_tokens)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {usage.history.length === 0 && <p class="quiet">No runs yet.</p>}
      </Card>
    </div>
  );
}

function Used({ used, limit }: { used: number; limit: number | null }): JSX.Element {
  const share = limit ? used / limit : 0;
  const tone = share >= BAD_FROM ? "bad" : share >= WARN_FROM ? "warn" : "";
  return <span class={tone ? `badge ${tone}` : ""}>{compact(used)}{limit ? ` (${Math.round(share * 100)} %)` : ""}</span>;
}
