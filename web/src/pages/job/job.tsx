/** One job: whether it runs, its endpoints with failing ones first, and its runs. */

import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { CalendarLink } from "../../calendar/link";
import { asProblem, callApi, hasScope } from "../../lib/api";
import { useData } from "../../lib/data";
import { compact, counted } from "../../lib/format";
import { query, setQuery } from "../../lib/router";
import { Fact } from "../../run/details";
import { RunDrawer } from "../../run/drawer";
import { Redrive } from "../../run/redrive";
import { useRuns } from "../../run/run_list";
import { RunTable } from "../../run/table";
import { Card, Loading, ProblemNotice, RelativeTime } from "../../ui/parts";
import { heading } from "../../ui/shell";
import { Table, type Order } from "../../ui/table";
import { toast } from "../../ui/toast";
import type { CalendarRules } from "../../resources/calendar_rules";
import { COLUMNS, orderRows } from "../endpoints/columns";
import { isFailing, Rows } from "../endpoints/rows";
import type { PageProps } from "../page";
import { InFlight } from "../runs/in_flight";

interface Job {
  id: string;
  name: string;
  description: string | null;
  active: boolean;
  applied: boolean;
  created_at: string | null;
  metadata: Record<string, unknown>;
  pause_origin: string | null;
  calendar: CalendarRules | null;
  note: string | null;
}

export default function JobPage({ params }: PageProps): JSX.Element {
  const id = params["id"] ?? "";
  return <OneJob key={id} id={id} />;
}

function OneJob({ id }: { id: string }): JSX.Element {
  const data = useData<Job>(`/v1/jobs/${encodeURIComponent(id)}`, { when: (change) => change.steered, every: 30_000 });
  const job = data.value.value;
  const problem = data.problem.value;
  useEffect(() => {
    heading.value = job?.name ?? `Job ${id}`;
  }, [job?.name]);
  if (!job && !problem) return <Loading what="the job" />;
  return (
    <div class="stack">
      {problem && problem.status !== 404 && <ProblemNotice problem={problem} retry={data.refresh} />}
      {problem?.status === 404 && <p class="quiet">No details of this job are stored: it was declared in code, or deleted. <a href="/endpoints">See all endpoints</a></p>}
      {job && <Facts job={job} onDone={data.refresh} />}
      <Endpoints id={id} />
      <InFlight job_id={id} />
      <Runs id={id} />
      <RunDrawer />
    </div>
  );
}

function Facts({ job, onDone }: { job: Job; onDone: () => void }): JSX.Element {
  const metadata = Object.entries(job.metadata);
  return (
    <Card
      title={`Job ${job.id}`}
      aside={
        <span class="row">
          {job.active ? <span class="badge good">active</span> : <span class="badge warn">paused{job.pause_origin ? ` (${job.pause_origin})` : ""}</span>}
          {job.applied && <span class="badge">from a configuration file</span>}
          <Actions job={job} onDone={onDone} />
        </span>
      }
    >
      {job.description && <p>{job.description}</p>}
      <dl class="facts">
        <Fact name="Created">
          <RelativeTime at={job.created_at} none="not recorded" tense="past" />
        </Fact>
        {job.calendar && <JobCalendars rules={job.calendar} />}
        {metadata.map(([name, value]) => (
          <Fact key={name} name={name}>
            {typeof value === "string" ? value : JSON.stringify(value)}
          </Fact>
        ))}
      </dl>
    </Card>
  );
}

function JobCalendars({ rules: { only_during: only, never_during: never } }: { rules: CalendarRules }): JSX.Element {
  return (
    <>
      {only && <Fact name="Only during"><CalendarLink id={only} /></Fact>}
      {never && <Fact name="Never during"><CalendarLink id={never} /></Fact>}
    </>
  );
}

function Actions({ job, onDone }: { job: Job; onDone: () => void }): JSX.Element | null {
  const busy = useSignal(false);
  const redriving = useSignal(false);
  if (!hasScope("steer")) return null;
  async function toggle(): Promise<void> {
    busy.value = true;
    try {
      const answer = await callApi<Job>("POST", `/v1/jobs/${encodeURIComponent(job.id)}/${job.active ? "pause" : "resume"}`, { body: {} });
      toast(answer.note ?? (answer.active ? "Job resumed." : "Job paused."), { bad: answer.note !== null });
      onDone();
    } catch (error) {
      toast(asProblem(error).message, { bad: true });
    } finally {
      busy.value = false;
    }
  }
  return (
    <>
      <button class="button" type="button" disabled={busy.value} onClick={() => void toggle()}>
        {job.active ? "Pause job" : "Resume job"}
      </button>
      <button class="button" type="button" onClick={() => (redriving.value = true)}>
        Redrive failed…
      </button>
      <Redrive about={{ job_id: job.id }} open={redriving.value} onClose={() => (redriving.value = false)} />
    </>
  );
}

/** Shown at first: failing endpoints come first, and the runs are below. */
const ENDPOINTS_LISTED = 20;
const RUNS_LISTED = 25;

function Endpoints({ id }: { id: string }): JSX.Element {
  const rows = useMemo(() => new Rows({ job_id: id }), [id]);
  useEffect(() => rows.follow(), [rows]);
  const text = query.value.get("sort");
  const order: Order | undefined = text ? { key: text.replace(/^-/, ""), descending: text.startsWith("-") } : undefined;
  const failing = useComputed(() => rows.all.value.filter(isFailing).length);
  const shown = useMemo(() => orderRows(rows.all.value, order), [rows.all.value, text]);
  const problem = rows.problem.value;
  const all = query.value.get("show") === "all";
  const hidden = all ? 0 : Math.max(0, shown.length - ENDPOINTS_LISTED);
  return (
    <section class="stack tight endpoints" aria-label="Endpoints of this job">
      <div class="row spread">
        <h2>Endpoints</h2>
        <span class="quiet number" role="status">
          {counted(shown.length, "endpoint")}
          {failing.value > 0 && `, ${compact(failing.value)} failing`}
          {rows.loading.value && ", loading…"}
        </span>
      </div>
      {problem && <ProblemNotice problem={problem} retry={() => rows.reload()} />}
      {shown.length === 0 && !rows.loading.value && <p class="muted">This job has no endpoints.</p>}
      {shown.length > 0 && (
        <Table
          label="Endpoints"
          columns={COLUMNS}
          rows={all ? shown : shown.slice(0, ENDPOINTS_LISTED)}
          id={(row) => row.id}
          order={order}
          onOrder={(next) => setQuery({ sort: `${next.descending ? "-" : ""}${next.key}` })}
          onVisibleRows={(visible) => (rows.visibleIds = visible.map((row) => row.id))}
          href={(row) => `/endpoints/${encodeURIComponent(row.id)}`}
        />
      )}
      {hidden > 0 && (
        <div>
          <button class="button" type="button" onClick={() => setQuery({ show: "all" })}>
            Show {compact(hidden)} more
          </button>
        </div>
      )}
    </section>
  );
}


function Runs({ id }: { id: string }): JSX.Element {
  const list = useRuns({ job_id: id }, RUNS_LISTED);
  const items = list.items.value;
  return (
    <Card title="Newest runs" aside={<a href={`/runs?job=${encodeURIComponent(id)}`}>All runs of this job</a>}>
      {list.problem.value && <ProblemNotice problem={list.problem.value} retry={() => void list.refresh()} />}
      {!items && <Loading what="runs" />}
      {items?.length === 0 && <p class="muted">No results yet.</p>}
      {items && items.length > 0 && <RunTable runs={items.slice(0, RUNS_LISTED)} label="Runs of this job" without={["job"]} />}
    </Card>
  );
}
