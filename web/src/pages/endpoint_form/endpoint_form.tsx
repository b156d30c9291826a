/** Create, edit or copy an endpoint; its target can be tested before it is saved. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { bodyOf, allFields, type Json } from "../../forms/fields";
import { RecordDialog } from "../../forms/record_dialog";
import { RecordForm, type FormAccess } from "../../forms/record_form";
import type { Resource } from "../../forms/resource";
import { callApi, hasScope, Problem } from "../../lib/api";
import { useData } from "../../lib/data";
import { span } from "../../lib/format";
import { go, query } from "../../lib/router";
import { ENDPOINT_SECTIONS } from "../../resources/endpoint";
import { SECRETS } from "../../resources/access";
import { rulesOf } from "../../resources/calendar_rules";
import { CALENDARS } from "../../resources/calendars";
import { JOBS } from "../../resources/jobs";
import { Empty, Loading, ProblemNotice, Status } from "../../ui/parts";
import { heading } from "../../ui/shell";
import { toast } from "../../ui/toast";
import type { PageProps } from "../page";

const TITLES: Record<string, string> = { new: "New endpoint", edit: "Edit endpoint", copy: "Copy endpoint" };
/** What can be created beside a field. */
const CREATED: Record<string, Resource> = { job: JOBS, secret: SECRETS, calendar: CALENDARS };
const NOT_RETRIED = ["max_attempts", "retry_delay_ms", "backoff"];

export default function EndpointFormPage({ params }: PageProps): JSX.Element {
  const { id = "", form = "" } = params;
  useEffect(() => {
    heading.value = TITLES[form] ?? null;
  }, [form]);
  if (!TITLES[form]) return <Empty title="Page not found" />;
  if (!hasScope("write")) return <Empty title="Read only"><p>To create or change endpoints, log in with a key that has the write scope.</p></Empty>;
  return form === "new" ? <EndpointForm form={form} record={startOfNew()} /> : <Loaded key={`${id} ${form}`} id={id} form={form} />;
}

/** A new endpoint may be meant for a job: `?job=shop`. */
function startOfNew(): Json | undefined {
  const job = query.peek().get("job");
  return job ? { job_id: job } : undefined;
}

function Loaded({ id, form }: { id: string; form: string }): JSX.Element {
  const data = useData<Json>(`/v1/endpoints/${encodeURIComponent(id)}`, { when: () => false, every: 86_400_000 });
  const endpoint = data.value.value;
  if (!endpoint) return data.problem.value ? <ProblemNotice problem={data.problem.value} retry={data.refresh} /> : <Loading what="the endpoint" />;
  if ((endpoint["target"] as Json)["kind"] === "prompt") return <Empty title="This endpoint belongs to a schedule"><p><a href="/settings/schedules">See the schedules</a></p></Empty>;
  const copy: Json = { ...endpoint, name: `${String(endpoint["name"])} (copy)` };
  delete copy["id"];
  return <EndpointForm form={form} record={form === "copy" ? copy : endpoint} />;
}

interface Trial {
  status: string;
  duration_ms: number;
  error: string | null;
  response: unknown;
}

function EndpointForm({ form, record }: { form: string; record: Json | undefined }): JSX.Element {
  const editing = form === "edit";
  const trial = useSignal<Trial | null>(null);
  const creating = useSignal<{ what: string; choose: (id: string) => void } | null>(null);
  async function send(body: Json): Promise<void> {
    if (!body["job_id"]) throw new Problem(422, "", "Choose a job.", [{ field: "job_id", message: "Choose a job, or create one." }]);
    const sent: Json = { ...withoutRetriesOfHeartbeats(body), calendar: rulesOf(body) };
    const saved = editing
      ? await callApi<Json>("PATCH", `/v1/endpoints/${encodeURIComponent(String(record?.["id"]))}`, { body: sent })
      : await callApi<Json>("POST", `/v1/jobs/${encodeURIComponent(String(sent["job_id"] ?? ""))}/endpoints`, { body: withoutJob(sent) });
    toast(saved["note"] ? String(saved["note"]) : editing ? "Endpoint saved." : "Endpoint created.");
    go(`/endpoints/${encodeURIComponent(String(saved["id"]))}`, { replace: true });
  }
  async function test(body: Json): Promise<void> {
    trial.value = null;
    const policy = body["policy"] as Json | undefined;
    const timeout = policy?.["timeout_ms"];
    trial.value = await callApi<Trial>("POST", "/v1/targets/test", { body: { target: body["target"], ...(timeout === undefined ? {} : { timeout_ms: timeout }) } });
  }
  return (
    <section class="card endpoint-form">
      <RecordForm
        sections={ENDPOINT_SECTIONS}
        record={record}
        editing={editing}
        submit={editing ? "Save" : "Create endpoint"}
        send={send}
        onCreate={(what, choose) => (creating.value = { what, choose })}
        result={trial.value && <TrialResult trial={trial.value} />}
        actions={(access) => <TestButton access={access} test={test} />}
        cancel={() => go(record?.["id"] ? `/endpoints/${encodeURIComponent(String(record["id"]))}` : "/endpoints")}
      />
      {Object.entries(CREATED).map(([what, resource]) => (
        <RecordDialog
          key={what}
          resource={resource}
          editing={creating.value?.what === what ? {} : null}
          onClose={() => (creating.value = null)}
          onSaved={(answer, body) => creating.value?.choose(String(answer?.["id"] ?? body["secret_name"]))}
        />
      ))}
    </section>
  );
}

/** A heartbeat that is missing cannot be retried: what was set for the target before it goes. */
function withoutRetriesOfHeartbeats(body: Json): Json {
  if ((body["target"] as Json)["kind"] !== "heartbeat") return body;
  const policy = Object.fromEntries(Object.entries((body["policy"] as Json | undefined) ?? {}).filter(([name]) => !NOT_RETRIED.includes(name)));
  return { ...body, policy };
}

function withoutJob(body: Json): Json {
  const { job_id: _, ...rest } = body;
  return rest;
}

const TARGET_FIELDS = allFields(ENDPOINT_SECTIONS).filter((field) => field.name.startsWith("target.") || field.name === "policy.timeout_ms");

function TestButton({ access, test }: { access: FormAccess; test: (body: Json) => Promise<void> }): JSX.Element | null {
  if (access.values["target.kind"] === "heartbeat") return null;
  const shown = TARGET_FIELDS.filter((field) => field.when?.(access.values) ?? true);
  return (
    <button class="button" type="button" disabled={access.busy} onClick={() => void access.attempt(() => test(bodyOf(shown, access.values)))}>
      Test
    </button>
  );
}

function TrialResult({ trial }: { trial: Trial }): JSX.Element {
  return (
    <div class="preview" role="status" aria-label="Test result">
      <p class="row">
        <Status status={trial.status} /> <span class="number">{span(trial.duration_ms)}</span>
        <span class="quiet">Called once; nothing was saved, and no run was recorded.</span>
      </p>
      {trial.error && <p class="fault">{trial.error}</p>}
      {trial.response !== null && <pre class="text" tabIndex={0} aria-label="Response">{typeof trial.response === "string" ? trial.response : JSON.stringify(trial.response, null, 2)}</pre>}
    </div>
  );
}
