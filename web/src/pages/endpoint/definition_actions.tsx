/** What can be done to the definition of an endpoint: edit, copy, delete, and a new URL for heartbeats. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { DeleteDialog, ShownOnce } from "../../forms/record_dialog";
import { asProblem, callApi, hasScope, type Problem } from "../../lib/api";
import { go } from "../../lib/router";
import { ENDPOINT } from "../../resources/endpoint_record";
import { Dialog } from "../../ui/dialog";
import { ProblemNotice } from "../../ui/parts";
import type { Endpoint } from "./types";

export function DefinitionActions({ endpoint }: { endpoint: Endpoint }): JSX.Element | null {
  const deleting = useSignal(false);
  const heartbeat = useSignal(false);
  if (!hasScope("write") || endpoint.target.kind === "prompt") return null;
  const path = `/endpoints/${encodeURIComponent(endpoint.id)}`;
  return (
    <div class="row definition-actions">
      <a class="button" href={`${path}/edit`}>
        Edit
      </a>
      <a class="button" href={`${path}/copy`}>
        Copy
      </a>
      {endpoint.target.kind === "heartbeat" && (
        <button class="button" type="button" onClick={() => (heartbeat.value = true)}>
          Heartbeat URL
        </button>
      )}
      <button class="button danger" type="button" onClick={() => (deleting.value = true)}>
        Delete
      </button>
      <DeleteDialog resource={ENDPOINT} item={deleting.value ? { ...endpoint } : null} onClose={() => (deleting.value = false)} onDeleted={() => go("/endpoints")} />
      <Dialog title="Heartbeat URL" open={heartbeat.value} onClose={() => (heartbeat.value = false)}>
        {heartbeat.value && <HeartbeatUrl endpoint={endpoint} />}
      </Dialog>
    </div>
  );
}

function HeartbeatUrl({ endpoint }: { endpoint: Endpoint }): JSX.Element {
  const url = useSignal<string | null>(null);
  const problem = useSignal<Problem | undefined>(undefined);
  async function create(): Promise<void> {
    try {
      const answer = await callApi<{ path: string }>("POST", `/v1/endpoints/${encodeURIComponent(endpoint.id)}/heartbeat-token`, { body: {} });
      url.value = location.origin + answer.path;
    } catch (error) {
      problem.value = asProblem(error);
    }
  }
  if (url.value) {
    return (
      <ShownOnce label="Heartbeat URL" text={url.value}>
        <p class="quiet">
          POST to it when the work has succeeded; with <code>/start</code>, <code>/success</code> or <code>/fail</code> behind it, to say which.
        </p>
      </ShownOnce>
    );
  }
  return (
    <div class="stack tight">
      <p>The sender of the heartbeats needs a URL, which is shown once. A URL that was created before stops working.</p>
      {problem.value && <ProblemNotice problem={problem.value} />}
      <div>
        <button class="button primary" type="button" onClick={() => void create()}>
          Create URL
        </button>
      </div>
    </div>
  );
}
