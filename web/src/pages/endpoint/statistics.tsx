/** Uptime and latency of an endpoint over an hour up to a month. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type uPlot from "uplot";
import { useData } from "../../lib/data";
import { compact, counted, fullTime, localZone, percent, shortSpan, span } from "../../lib/format";
import { query, setQuery } from "../../lib/router";
import { color } from "../../lib/theme";
import { axes, Chart, rangeFromZero, type Columns } from "../../ui/chart";
import { Card, Figures, Legend, Loading, ProblemNotice } from "../../ui/parts";

interface Bucket {
  at: string;
  runs: number;
  successes: number;
  uptime: number | null;
  p50_ms: number | null;
  p95_ms: number | null;
}

interface EndpointStatistics {
  now: string;
  since: string;
  span_ms: number;
  runs: number;
  uptime: number | null;
  p50_ms: number | null;
  p95_ms: number | null;
  complete: boolean;
  buckets: Bucket[];
}

const PERIODS = [
  { name: "1 h", hours: 1 },
  { name: "6 h", hours: 6 },
  { name: "24 h", hours: 24 },
  { name: "7 d", hours: 168 },
  { name: "30 d", hours: 720 },
];
const DEFAULT_HOURS = 24;

export function Statistics({ id }: { id: string }): JSX.Element {
  const period = PERIODS.find((one) => String(one.hours) === query.value.get("hours")) ?? PERIODS.find((one) => one.hours === DEFAULT_HOURS)!;
  const data = useData<EndpointStatistics>(`/v1/endpoints/${encodeURIComponent(id)}/statistics`, {
    query: { hours: period.hours },
    when: (change) => change.endpoints.has(id),
    minGapMs: 5_000,
    every: 60_000,
  });
  const found = data.value.value;
  return (
    <Card title="Uptime and latency" aside={`last ${period.name}, times in ${localZone()}`}>
      <div class="stack tight">
        <div class="row range-controls" role="group" aria-label="Period of uptime and latency">
          {PERIODS.map((one) => (
            <button key={one.hours} class="button" type="button" aria-pressed={one === period} onClick={() => setQuery({ hours: one.hours === DEFAULT_HOURS ? null : String(one.hours) })}>
              {one.name}
            </button>
          ))}
        </div>
        {data.problem.value && <ProblemNotice problem={data.problem.value} retry={data.refresh} />}
        {found ? <Found found={found} name={period.name} /> : !data.problem.value && <Loading what="uptime and latency" />}
      </div>
    </Card>
  );
}

function Found({ found, name }: { found: EndpointStatistics; name: string }): JSX.Element {
  if (found.runs === 0) return <p class="muted">No results yet in the last {name}.</p>;
  const shownSpan = (ms: number | null): string => (ms === null ? "–" : span(ms));
  return (
    <>
      <Figures
        items={[
          { name: "Uptime", value: found.uptime === null ? "–" : percent(found.uptime, 2), tone: tone(found.uptime) },
          { name: "Latency p50", value: shownSpan(found.p50_ms) },
          { name: "Latency p95", value: shownSpan(found.p95_ms) },
          { name: "Runs", value: compact(found.runs) },
        ]}
      />
      <UptimeBars found={found} />
      <LatencyChart found={found} />
      <Legend items={[{ class: "source-baseline", label: "latency p50" }, { class: "status-timeout", label: "latency p95" }]} />
      {!found.complete && <p class="quiet">Too many runs to count all: the newest {compact(found.runs)}, since {fullTime(found.since)}.</p>}
    </>
  );
}

function tone(uptime: number | null): string {
  if (uptime === null || uptime >= 0.99) return "";
  return uptime >= 0.9 ? "warn" : "bad";
}

const BAR = 10;
const HEIGHT = 26;

/** One bar for each bucket: green without failures, red with nothing else. */
function UptimeBars({ found }: { found: EndpointStatistics }): JSX.Element {
  const bad = found.buckets.filter((one) => one.successes < one.runs).length;
  const label = `Uptime ${found.uptime === null ? "unknown" : percent(found.uptime, 2)}: ${counted(bad, "interval")} of ${found.buckets.length} with failures`;
  return (
    <svg class="uptime-bars" role="img" aria-label={label} viewBox={`0 0 ${found.buckets.length * BAR} ${HEIGHT}`} preserveAspectRatio="none">
      {found.buckets.map((one, place) => (
        <rect key={one.at} class={barClass(one)} x={place * BAR + 1} y={0} width={BAR - 2} height={HEIGHT} rx={2}>
          <title>{describe(one)}</title>
        </rect>
      ))}
    </svg>
  );
}

function barClass(bucket: Bucket): string {
  if (bucket.uptime === null) return "uptime-none";
  return bucket.uptime === 1 ? "uptime-up" : bucket.uptime >= 0.5 ? "uptime-degraded" : "uptime-down";
}

function describe(bucket: Bucket | undefined): string {
  if (!bucket) return "";
  if (bucket.uptime === null) return `${fullTime(bucket.at)}: no results`;
  const latency = bucket.p50_ms === null ? "" : `, p50 ${span(bucket.p50_ms)}, p95 ${span(bucket.p95_ms ?? bucket.p50_ms)}`;
  return `${fullTime(bucket.at)}: uptime ${percent(bucket.uptime)}, ${counted(bucket.runs, "run")}${latency}`;
}

function LatencyChart({ found }: { found: EndpointStatistics }): JSX.Element {
  const data = useMemo<Columns>(
    () => [
      found.buckets.map((one) => (Date.parse(one.at) + found.span_ms / 2) / 1_000),
      found.buckets.map((one) => one.p95_ms),
      found.buckets.map((one) => one.p50_ms),
    ],
    [found],
  );
  return (
    <Chart
      label={`Latency: p50 ${span(found.p50_ms ?? 0)}, p95 ${span(found.p95_ms ?? 0)}`}
      data={data}
      height={160}
      describe={(index) => describe(found.buckets[index])}
      options={() => ({ scales: { y: { range: rangeFromZero } }, axes: latencyAxes(found.span_ms), series: [{}, line("--timeout"), line("--source-baseline")] })}
    />
  );
}

const HOUR = 3_600_000;
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/** Days on the axis where a bucket is hours long. */
function latencyAxes(spanMs: number): uPlot.Axis[] {
  const [time, latency] = axes(shortSpan);
  if (spanMs < HOUR || !time || !latency) return axes(shortSpan);
  return [{ ...time, values: (_, splits) => splits.map((one) => DAY.format(one * 1_000)) }, latency];
}

function line(name: string): uPlot.Series {
  return { stroke: color(name), width: 2, spanGaps: true, points: { show: isAlone, size: 7, fill: color(name) } };
}

/** A single value makes no line: it is shown as a point. */
function isAlone(plot: uPlot, series: number): boolean {
  return Array.from<unknown>(plot.data[series]!).filter((one) => typeof one === "number").length === 1;
}
