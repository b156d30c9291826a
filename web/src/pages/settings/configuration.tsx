/** Import and export of everything as a file: what it would change is shown before it is applied. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { asProblem, callApi, hasScope, type Problem } from "../../lib/api";
import { counted } from "../../lib/format";
import { useUnsavedChanges } from "../../lib/unsaved";
import { Card, ProblemNotice } from "../../ui/parts";
import { toast } from "../../ui/toast";

interface Change {
  action: "create" | "update" | "revive" | "delete";
  kind: string;
  id: string;
  fields: { field: string; before: unknown; after: unknown }[];
}

interface Applied {
  applied: boolean;
  changes: Change[];
  counts: Record<string, number>;
}

/** What a comparison was made of: only this may be applied. */
interface Compared {
  text: string;
  prune: boolean;
  answer: Applied;
}

const NAME = "cadenza.yaml";
const MOST_SHOWN = 200;

async function exported(): Promise<string> {
  return (await callApi<{ text: string }>("GET", "/v1/export/file")).text;
}

function download(text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = NAME;
  link.dataset["reload"] = "";
  link.click();
  URL.revokeObjectURL(address);
}

export function Configuration(): JSX.Element {
  const text = useSignal("");
  const problem = useSignal<Problem | undefined>(undefined);
  async function attempt(action: () => Promise<void>): Promise<void> {
    try {
      await action();
      problem.value = undefined;
    } catch (error) {
      problem.value = asProblem(error);
    }
  }
  return (
    <div class="stack">
      <Card title="Export">
        <div class="stack tight">
          <p class="quiet">All jobs, endpoints and rules as {NAME}. Secrets are in it as references alone.</p>
          <div class="row">
            <button class="button" type="button" onClick={() => void attempt(async () => download(await exported()))}>
              Download {NAME}
            </button>
            {hasScope("write") && (
              <button class="button" type="button" onClick={() => void attempt(async () => void (text.value = await exported()))}>
                Edit it below
              </button>
            )}
          </div>
          {problem.value && <ProblemNotice problem={problem.value} />}
        </div>
      </Card>
      {hasScope("write") ? <Import text={text} /> : <p class="quiet">Read only: an import needs a key with the write scope.</p>}
    </div>
  );
}

function Import({ text }: { text: { value: string } }): JSX.Element {
  const prune = useSignal(false);
  const compared = useSignal<Compared | null>(null);
  const problem = useSignal<Problem | undefined>(undefined);
  const busy = useSignal(false);
  const seen = compared.value;
  const current = seen !== null && seen.text === text.value && seen.prune === prune.value;
  useUnsavedChanges(() => text.value.trim() !== "" && !seen?.answer.applied);
  async function send(dryRun: boolean): Promise<void> {
    const sent = { text: text.value, prune: prune.value };
    busy.value = true;
    try {
      const answer = await callApi<Applied>("POST", "/v1/apply/file", { body: { ...sent, dry_run: dryRun } });
      compared.value = { ...sent, answer };
      problem.value = undefined;
      if (answer.applied) toast("Configuration applied.");
    } catch (error) {
      problem.value = asProblem(error);
      compared.value = null;
    } finally {
      busy.value = false;
    }
  }
  return (
    <Card title="Import">
      <form
        class="stack tight"
        onSubmit={(event) => {
          event.preventDefault();
          void send(true);
        }}
      >
        <div class="field">
          <label for="config-file">File</label>
          <input id="config-file" type="file" accept=".yaml,.yml,.json" onChange={(event) => void event.currentTarget.files?.[0]?.text().then((read) => (text.value = read))} />
        </div>
        <div class="field">
          <label for="config-text">Content</label>
          <textarea id="config-text" class="mono" rows={14} spellcheck={false} aria-invalid={problem.value !== undefined} aria-describedby="config-problem" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
          <div id="config-problem">{problem.value && <Faults problem={problem.value} />}</div>
        </div>
        <label class="check">
          <input type="checkbox" checked={prune.value} onChange={(event) => (prune.value = event.currentTarget.checked)} /> Delete what files made earlier and this one does not name
        </label>
        {seen && current && <Difference answer={seen.answer} />}
        <div class="row">
          <button class={`button ${current ? "" : "primary"}`} type="submit" disabled={busy.value || text.value.trim() === ""}>
            Compare
          </button>
          <button class="button primary" type="button" disabled={busy.value || !current || seen.answer.applied || seen.answer.changes.length === 0} onClick={() => void send(false)}>
            Apply
          </button>
          {!current && <span class="quiet">Compare first: what would change is shown before it is applied.</span>}
        </div>
      </form>
    </Card>
  );
}

function Faults({ problem }: { problem: Problem }): JSX.Element {
  if (problem.errors.length === 0) return <ProblemNotice problem={problem} />;
  return (
    <ul class="faults" role="alert">
      {problem.errors.map((fault) => (
        <li key={fault.message} class="fault">
          {fault.message}
        </li>
      ))}
    </ul>
  );
}

const SIGNS: Record<Change["action"], string> = { create: "+", revive: "+", update: "~", delete: "−" };
const TONES: Record<Change["action"], string> = { create: "good", revive: "good", update: "warn", delete: "bad" };

function Difference({ answer }: { answer: Applied }): JSX.Element {
  const counts = Object.entries(answer.counts).filter(([action, count]) => count > 0 && action !== "unchanged");
  const said = counts.map(([action, count]) => `${action} ${count}`).join(", ") || "nothing";
  return (
    <div class="preview" role="status" aria-label="Difference">
      <p>{answer.applied ? `Applied: ${said}.` : answer.changes.length ? `Dry run, no changes made. It would: ${said}.` : "It would change nothing."}</p>
      <ul class="difference">
        {answer.changes.slice(0, MOST_SHOWN).map((change) => (
          <li key={`${change.kind} ${change.id}`}>
            <span class={`badge ${TONES[change.action]}`}>
              {SIGNS[change.action]} {change.action}
            </span>{" "}
            {change.kind} <strong>{change.id}</strong>
            {change.fields.map((field) => (
              <div key={field.field} class="mono">
                {field.field}: <del>{JSON.stringify(field.before)}</del> → <ins>{JSON.stringify(field.after)}</ins>
              </div>
            ))}
          </li>
        ))}
      </ul>
      {answer.changes.length > MOST_SHOWN && <p class="quiet">And {counted(answer.changes.length - MOST_SHOWN, "more change")}.</p>}
    </div>
  );
}
