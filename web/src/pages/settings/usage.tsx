/** What the tenant has and spends this month, beside its limits. */

import type { JSX } from "preact";
import { useData } from "../../lib/data";
import { compact, span } from "../../lib/format";
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

/** Limits in the order in which they are shown: what is counted against them, if anything. */
const LINES: { limit: string; label: string; used?: (usage: UsageAnswer) => number; isSpan?: boolean }[] = [
  { limit: "endpoints", label: "Endpoints", used: (usage) => usage.endpoints },
  { limit: "runs_per_month", label: "Runs this month", used: (usage) => usage.runs },
  { limit: "planner_tokens_per_month", label: "Planner tokens this month", used: (usage) => usage.planner_tokens },
  { limit: "min_interval_ms", label: "Minimum interval", isSpan: true },
  { limit: "schedules_per_user", label: "Schedules of a user" },
  { limit: "schedule_min_interval_ms", label: "Minimum interval of a schedule", isSpan: true },
  { limit: "schedule_fires_per_day", label: "Schedule runs of a user per day" },
  { limit: "schedule_tokens_per_day", label: "Tokens of a user's schedules per day" },
];

const WARN_FROM = 0.8;
const BAD_FROM = 0.95;

export function Usage(): JSX.Element {
  const data = useData<UsageAnswer>("/v1/usage", { when: () => false });
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
            {LINES.map((line) => {
              const limit = usage.limits[line.limit] ?? null;
              const used = line.used?.(usage);
              return (
                <tr key={line.limit}>
                  <th scope="row">{line.label}</th>
                  <td class="number">{used !== undefined && <Used used={used} limit={limit} />}</td>
                  <td class="number">{limit === null ? "no limit" : line.isSpan ? span(limit) : compact(limit)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
        <p class="quiet">
          The operator of the server sets limits: <code>cadenza tenants set-limits {usage.tenant_id}</code>
        </p>
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
