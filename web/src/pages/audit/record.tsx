/** One audit record in a drawer: the difference, and the definition before it, which can be restored. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { callApi } from "../../lib/api";
import { useData } from "../../lib/data";
import { fullTime } from "../../lib/format";
import { query, setQuery } from "../../lib/router";
import { Fact } from "../../run/details";
import { Drawer } from "../../ui/drawer";
import { Loading, ProblemNotice } from "../../ui/parts";
import { ReasonDialog, reasonOf } from "../../ui/reason_dialog";
import { toast } from "../../ui/toast";
import { Outcome, Subject } from "./subject";
import { operationName, type AuditDetails, type FieldChange } from "./types";

export function RecordDrawer(): JSX.Element | null {
  const id = query.value.get("record");
  return id ? <OpenRecord key={id} id={id} /> : null;
}

interface Restored {
  subject_kind: string;
  subject_id: string;
  created: boolean;
  note: string | null;
}

function OpenRecord({ id }: { id: string }): JSX.Element {
  const data = useData<AuditDetails>(`/v1/audit/${encodeURIComponent(id)}`, { when: () => false, every: 600_000 });
  const restoring = useSignal(false);
  const record = data.value.value;
  const problem = data.problem.value;
  async function restore(reason: string): Promise<void> {
    const answer = await callApi<Restored>("POST", `/v1/audit/${encodeURIComponent(id)}/restore`, { body: { ...reasonOf(reason) } });
    toast(`${answer.subject_kind} ${answer.subject_id} restored${answer.created ? ", created again" : ""}. ${answer.note ?? ""}`);
    restoring.value = false;
  }
  return (
    <Drawer
      title={record ? operationName(record.operation) : "Record"}
      name={id}
      onClose={() => setQuery({ record: null })}
      actions={
        record?.restorable && (
          <button class="button" type="button" onClick={() => (restoring.value = true)}>
            Restore the definition before this change
          </button>
        )
      }
    >
      {problem && <ProblemNotice problem={problem} retry={data.refresh} />}
      {!record && !problem && <Loading what="the record" />}
      {record && <Details record={record} />}
      <ReasonDialog title="Restore a definition" submit="Restore" open={restoring.value} onClose={() => (restoring.value = false)} send={restore}>
        <p>{record?.subject_kind} {record?.subject_id} is changed back to its definition before this change. What was deleted is created again; values of headers stay as they are now.</p>
      </ReasonDialog>
    </Drawer>
  );
}

function Details({ record }: { record: AuditDetails }): JSX.Element {
  return (
    <div class="stack run-facts">
      <dl class="facts">
        <Fact name="When">{fullTime(record.at)}</Fact>
        <Fact name="Who">
          {record.name ? `${record.name} (${record.by})` : record.by} <Outcome outcome={record.outcome} />
        </Fact>
        <Fact name="Surface">{record.surface}</Fact>
        <Fact name="Subject">
          <Subject record={record} />
        </Fact>
        {record.reason && <Fact name="Reason" wide>{record.reason}</Fact>}
      </dl>
      <section>
        <h3>Difference</h3>
        {record.changes.length === 0 ? <p class="muted">No field changed.</p> : record.changes.map((change) => <Change key={change.field} change={change} />)}
      </section>
      {record.definition && (
        <section>
          <h3>Definition before</h3>
          <pre class="text" tabIndex={0}>{JSON.stringify(record.definition, null, 2)}</pre>
        </section>
      )}
    </div>
  );
}

function Change({ change }: { change: FieldChange }): JSX.Element {
  return (
    <dl class="change">
      <dt>{change.field}</dt>
      {change.before !== null && (
        <dd class="removed">
          <span class="visually-hidden">before: </span>
          {text(change.before)}
        </dd>
      )}
      {change.after !== null && (
        <dd class="added">
          <span class="visually-hidden">after: </span>
          {text(change.after)}
        </dd>
      )}
    </dl>
  );
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value, null, 1);
}
