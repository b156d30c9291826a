/** The channels of a user: where messages go that no socket of theirs took, and when nothing is sent. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Json, Section } from "../forms/fields";
import type { ChannelRow } from "../forms/kinds";
import { ActionOnRecord, sayTested } from "../forms/record_action";
import { RecordForm } from "../forms/record_form";
import { callApi } from "../lib/api";
import { useData } from "../lib/data";
import { fullTime } from "../lib/format";
import { announceOwnChange } from "../lib/live";
import { Dialog } from "../ui/dialog";
import { ProblemNotice } from "../ui/parts";
import { toast } from "../ui/toast";

interface StoredChannel extends ChannelRow {
  problem: string | null;
  again_at: string | null;
}

interface Channels extends Json {
  channels: StoredChannel[];
}

const SECTIONS: Section[] = [
  {
    fields: [
      { name: "channels", label: "Channels", kind: "channels", secrets: true, help: "The first one that accepts a message gets it. Addresses may hold ${secret:NAME}, and are never shown in full: *** stays as it is stored." },
      { name: "quiet_hours.start", label: "Quiet from", kind: "time", help: "In the time zone of the user. Both empty: messages are sent at any time." },
      { name: "quiet_hours.end", label: "Quiet until", kind: "time" },
    ],
  },
];

export function UserChannels({ user }: { user: Json }): JSX.Element {
  const open = useSignal(false);
  const id = String(user["id"]);
  return (
    <>
      <button class="button plain" type="button" aria-label={`Channels of ${id}`} onClick={() => (open.value = true)}>
        Channels
      </button>
      <Dialog title={`Channels of ${id}`} open={open.value} onClose={() => (open.value = false)}>
        {open.value && <Content user={id} onClose={() => (open.value = false)} />}
      </Dialog>
    </>
  );
}

function Content({ user, onClose }: { user: string; onClose: () => void }): JSX.Element {
  const path = `/v1/users/${encodeURIComponent(user)}/channels`;
  const data = useData<Channels>(path);
  async function send(body: Json): Promise<void> {
    const hours = body["quiet_hours"] as Json | undefined;
    const given = hours && Object.keys(hours).length > 0;
    await callApi("PUT", path, { body: { ...body, quiet_hours: given ? hours : null } });
    announceOwnChange();
    toast("Channels saved.");
    onClose();
  }
  const stored = data.value.value;
  if (data.problem.value) return <ProblemNotice problem={data.problem.value} />;
  if (!stored) return <p class="quiet">Loading…</p>;
  return (
    <div class="stack">
      <p>A message that no open page or app of the user acknowledges is sent to the first channel that accepts it.</p>
      {stored.channels.map((one) => (
        <div class="row" key={one.id}>
          <span>
            <strong>{one.id}</strong> {one.problem === null ? "" : `refuses: ${one.problem}, again at ${fullTime(one.again_at!)}`}
          </span>
          <ActionOnRecord label="Test" name={one.id} path={`${path}/${encodeURIComponent(one.id)}/test`} say={sayTested} />
        </div>
      ))}
      <RecordForm sections={SECTIONS} record={stored} editing submit="Save" send={send} cancel={onClose} />
    </div>
  );
}
