/** Create, change or copy a calendar; its year is shown before it is saved. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { Json } from "../../forms/fields";
import { RecordForm } from "../../forms/record_form";
import { saveRecord, startOf } from "../../forms/resource";
import { hasScope } from "../../lib/api";
import { useData } from "../../lib/data";
import { go } from "../../lib/router";
import { CALENDARS } from "../../resources/calendars";
import { Empty, Loading, ProblemNotice } from "../../ui/parts";
import { heading } from "../../ui/shell";
import { toast } from "../../ui/toast";
import type { PageProps } from "../page";
import "./calendars.css";

const TITLES: Record<string, string> = { new: "New calendar", edit: "Edit calendar", copy: "Copy calendar" };

export default function CalendarFormPage({ params }: PageProps): JSX.Element {
  const { id = "", form = "" } = params;
  useEffect(() => {
    heading.value = TITLES[form] ?? null;
  }, [form]);
  if (!TITLES[form]) return <Empty title="Page not found" />;
  if (!hasScope("write")) return <Empty title="Read only"><p>To create or change calendars, log in with a key that has the write scope.</p></Empty>;
  return form === "new" ? <CalendarForm item={undefined} copy={false} /> : <Loaded key={`${id} ${form}`} id={id} copy={form === "copy"} />;
}

function Loaded({ id, copy }: { id: string; copy: boolean }): JSX.Element {
  const data = useData<Json>(`/v1/calendars/${encodeURIComponent(id)}`, { when: () => false, every: 86_400_000 });
  const calendar = data.value.value;
  if (!calendar) return data.problem.value ? <ProblemNotice problem={data.problem.value} retry={data.refresh} /> : <Loading what="the calendar" />;
  return <CalendarForm item={calendar} copy={copy} />;
}

function CalendarForm({ item, copy }: { item: Json | undefined; copy: boolean }): JSX.Element {
  const editing = item !== undefined && !copy;
  async function send(body: Json): Promise<void> {
    const saved = await saveRecord(CALENDARS, body, editing ? item : undefined);
    toast(editing ? "Calendar saved." : "Calendar created.");
    go(`/calendars/${encodeURIComponent(String(saved?.["id"] ?? body["calendar_id"]))}`, { replace: true });
  }
  return (
    <section class="card calendar-form">
      <RecordForm
        sections={CALENDARS.sections}
        record={startOf(CALENDARS, item, copy)}
        editing={editing}
        submit={editing ? "Save" : "Create calendar"}
        send={send}
        cancel={() => go(item ? CALENDARS.href!(item) : "/calendars")}
      />
    </section>
  );
}
