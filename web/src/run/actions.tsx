/** What can be done about one run: cancel it, run it again, or go on to its endpoint's failed runs. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { callApi, hasScope } from "../lib/api";
import { ReasonDialog, reasonOf } from "../ui/reason_dialog";
import { toast } from "../ui/toast";
import { Backfill } from "./backfill";
import { Redrive } from "./redrive";

interface Run {
  id: string;
  endpoint_id: string;
  status: string | null;
}

export function RunActions({ run, onDone }: { run: Run; onDone: () => void }): JSX.Element | null {
  const open = useSignal<"cancel" | "rerun" | "redrive" | "backfill" | undefined>(undefined);
  const close = (): void => void (open.value = undefined);
  if (!hasScope("steer")) return <p class="quiet">Read only: actions need a key with the steer scope.</p>;
  function act(name: NonNullable<typeof open.value>, label: string): JSX.Element {
    return (
      <button class={`button ${name === "cancel" ? "danger" : ""}`} type="button" onClick={() => (open.value = name)}>
        {label}
      </button>
    );
  }
  return (
    <>
      {run.status === null ? act("cancel", "Cancel run") : act("rerun", "Run again")}
      {act("redrive", "Redrive failed…")}
      {act("backfill", "Backfill…")}
      <CancelDialog run={open.value === "cancel" ? run : undefined} onClose={close} onDone={onDone} />
      <RerunDialog run={open.value === "rerun" ? run : undefined} onClose={close} />
      <Redrive about={{ endpoint_id: run.endpoint_id }} open={open.value === "redrive"} onClose={close} />
      <Backfill endpointId={run.endpoint_id} open={open.value === "backfill"} onClose={close} />
    </>
  );
}

interface CancelProps {
  run: Pick<Run, "id" | "endpoint_id"> | undefined;
  onClose: () => void;
  onDone: () => void;
}

export function CancelDialog({ run, onClose, onDone }: CancelProps): JSX.Element {
  async function send(reason: string): Promise<void> {
    const answer = await callApi<{ status: string }>("POST", `/v1/runs/${encodeURIComponent(run!.id)}/cancel`, { body: { ...reasonOf(reason) } });
    toast(answer.status === "cancelled" ? "Run cancelled." : "Cancellation requested. The worker stops the run.");
    onClose();
    onDone();
  }
  return (
    <ReasonDialog title="Cancel run" submit="Cancel run" open={run !== undefined} onClose={onClose} send={send}>
      <p>The run of {run?.endpoint_id} is stopped and gets the status cancelled. The endpoint keeps its schedule.</p>
    </ReasonDialog>
  );
}

function RerunDialog({ run, onClose }: { run: Run | undefined; onClose: () => void }): JSX.Element {
  async function send(reason: string): Promise<void> {
    await callApi("POST", `/v1/runs/${encodeURIComponent(run!.id)}/rerun`, { body: { ...reasonOf(reason) } });
    toast("Run requested. It starts in the next free moment of its endpoint.");
    onClose();
  }
  return (
    <ReasonDialog title="Run again" submit="Run again" open={run !== undefined} onClose={onClose} send={send}>
      <p>A new run of the same due time is queued, with the same idempotency key. It is marked as a rerun.</p>
    </ReasonDialog>
  );
}
