/** Actions on the runs of one endpoint: redrive what failed, backfill what was not run. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { hasScope } from "../../lib/api";
import { Backfill } from "../../run/backfill";
import { Redrive } from "../../run/redrive";
import type { Endpoint } from "./types";

export function RunsActions({ endpoint }: { endpoint: Endpoint }): JSX.Element | null {
  const open = useSignal<"redrive" | "backfill" | undefined>(undefined);
  const close = (): void => void (open.value = undefined);
  if (!hasScope("steer") || endpoint.target.kind === "prompt") return null;
  return (
    <>
      <button class="button" type="button" onClick={() => (open.value = "redrive")}>
        Redrive failed…
      </button>
      {endpoint.baseline.kind !== "once" && (
        <button class="button" type="button" onClick={() => (open.value = "backfill")}>
          Backfill…
        </button>
      )}
      <Redrive about={{ endpoint_id: endpoint.id }} open={open.value === "redrive"} onClose={close} />
      <Backfill endpointId={endpoint.id} open={open.value === "backfill"} onClose={close} />
    </>
  );
}
