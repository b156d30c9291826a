/** Dialogs that create, change, copy and delete a record. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { asProblem, type Problem } from "../lib/api";
import { Dialog } from "../ui/dialog";
import { ProblemNotice } from "../ui/parts";
import { toast } from "../ui/toast";
import type { Json } from "./fields";
import { RecordForm } from "./record_form";
import { nameOf, removeRecord, saveRecord, startOf, type Resource } from "./resource";

/** What a dialog is about: a new record, a copy of one, or one that is changed. */
export interface Editing {
  item?: Json;
  copy?: boolean;
}

interface Props {
  resource: Resource;
  editing: Editing | null;
  onClose: () => void;
  /** Called with what the API answered, and what was sent. */
  onSaved: (answer: Json | undefined, body: Json) => void;
  /** Values of a new record, instead of the usual ones. */
  initial?: Json;
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export function RecordDialog({ resource, editing, onClose, onSaved, initial }: Props): JSX.Element {
  const created = useSignal<ComponentChildren>(null);
  const item = editing?.item;
  const changing = item !== undefined && !editing?.copy;
  const title = created.value ? `${capitalized(resource.one)} created` : changing ? `Edit ${resource.one}` : `${editing?.copy ? "Copy" : "New"} ${resource.one}`;
  function close(): void {
    created.value = null;
    onClose();
  }
  async function send(body: Json): Promise<void> {
    const answer = await saveRecord(resource, body, changing ? item : undefined);
    onSaved(answer, body);
    if (!changing && answer && resource.created) {
      created.value = resource.created(answer);
      return;
    }
    toast(`${capitalized(resource.one)} ${changing ? "saved" : "created"}.`);
    onClose();
  }
  return (
    <Dialog title={title} open={editing !== null} onClose={close}>
      {created.value ? (
        <div class="stack" role="status">
          {created.value}
          <div>
            <button class="button primary" type="button" onClick={close}>
              Done
            </button>
          </div>
        </div>
      ) : (
        <RecordForm sections={resource.sections} record={startOf(resource, item, editing?.copy ?? false) ?? initial} editing={changing} submit={changing ? "Save" : (resource.submit ?? `Create ${resource.one}`)} send={send} />
      )}
    </Dialog>
  );
}

interface DeleteProps {
  resource: Resource;
  item: Json | null;
  onClose: () => void;
  onDeleted: () => void;
}

/** Asks before a record is deleted, and names what goes with it. */
export function DeleteDialog({ resource, item, onClose, onDeleted }: DeleteProps): JSX.Element {
  return (
    <Dialog title={`Delete ${resource.one}`} open={item !== null} onClose={onClose}>
      {item && <Confirmation resource={resource} item={item} onClose={onClose} onDeleted={onDeleted} />}
    </Dialog>
  );
}

function Confirmation({ resource, item, onClose, onDeleted }: DeleteProps & { item: Json }): JSX.Element {
  const consequences = useSignal<string[] | null>(null);
  const problem = useSignal<Problem | undefined>(undefined);
  const busy = useSignal(false);
  const name = nameOf(resource, item);
  useEffect(() => {
    (resource.goesWith?.(item) ?? Promise.resolve([])).then(
      (found) => (consequences.value = found),
      (error: unknown) => (problem.value = asProblem(error)),
    );
  }, []);
  async function remove(): Promise<void> {
    busy.value = true;
    try {
      await removeRecord(resource, item);
      toast(`Deleted ${name}.`);
      onDeleted();
      onClose();
    } catch (error) {
      problem.value = asProblem(error);
      busy.value = false;
    }
  }
  return (
    <div class="stack tight">
      <p>
        Delete {resource.one} <strong>{name}</strong>?
      </p>
      {consequences.value === null && !problem.value && <p class="quiet">Looking for what goes with it…</p>}
      {consequences.value?.map((sentence) => <p key={sentence}>{sentence}</p>)}
      {problem.value && <ProblemNotice problem={problem.value} />}
      <div class="row">
        <button class="button danger" type="button" disabled={busy.value || (consequences.value === null && !problem.value)} onClick={() => void remove()}>
          Delete
        </button>
        <button class="button" type="button" onClick={onClose}>
          Cancel
        </button>
      </div>
    </div>
  );
}

/** A text that is shown this once, with a button that copies it. */
export function ShownOnce({ label, text, children }: { label: string; text: string; children?: ComponentChildren }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      toast("Copied.");
    } catch {
      // Only pages over https and of this machine may write to the clipboard.
      input.current?.select();
      toast("Cannot copy here: the text is selected, press Ctrl or Cmd and C.", { bad: true });
    }
  }
  return (
    <div class="once">
      <p class="notice">Store it now: it is shown only this once.</p>
      <div class="field copy">
        <input ref={input} class="mono" readOnly aria-label={label} value={text} onFocus={(event) => event.currentTarget.select()} />
        <button class="button" type="button" onClick={() => void copy()}>
          Copy
        </button>
      </div>
      {children}
    </div>
  );
}
