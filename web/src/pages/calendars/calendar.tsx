/** One calendar: its year, what would run, and who uses it. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { readPreview, type PreviewAnswer } from "../../calendar/preview";
import { PreviewFacts, WouldRun } from "../../calendar/preview_facts";
import { Year } from "../../calendar/year";
import { YearChoice } from "../../calendar/year_choice";
import { DeleteDialog } from "../../forms/record_dialog";
import type { Json } from "../../forms/fields";
import { nameOf } from "../../forms/resource";
import { hasScope } from "../../lib/api";
import { serverNow } from "../../lib/clock";
import { useData } from "../../lib/data";
import { go, query, setQuery } from "../../lib/router";
import { CALENDARS } from "../../resources/calendars";
import { Card, Empty, Loading, ProblemNotice } from "../../ui/parts";
import { heading } from "../../ui/shell";
import type { PageProps } from "../page";
import "./calendars.css";
import { Uses } from "./uses";

export default function CalendarPage({ params }: PageProps): JSX.Element {
  const id = params["id"] ?? "";
  return <OneCalendar key={id} id={id} />;
}

function OneCalendar({ id }: { id: string }): JSX.Element {
  const path = `/v1/calendars/${encodeURIComponent(id)}`;
  const data = useData<Json>(path, { when: (change) => change.steered });
  const calendar = data.value.value;
  const year = Number(query.value.get("year")) || new Date(serverNow()).getUTCFullYear();
  const preview = useData<PreviewAnswer>(`${path}/preview`, { query: { year }, when: (change) => change.steered, every: 60_000 });
  useEffect(() => {
    if (calendar) heading.value = nameOf(CALENDARS, calendar);
  }, [calendar?.["name"]]);
  if (!calendar) {
    const problem = data.problem.value;
    if (problem?.status === 404) return <Missing />;
    return problem ? <ProblemNotice problem={problem} retry={data.refresh} /> : <Loading what="the calendar" />;
  }
  const found = preview.value.value && readPreview(preview.value.value, serverNow());
  return (
    <div class="stack">
      <Actions calendar={calendar} />
      <Card title={CALENDARS.details(calendar) as string} aside={<YearChoice year={year} onYear={(next) => setQuery({ year: String(next) })} />}>
        {preview.problem.value && <ProblemNotice problem={preview.problem.value} retry={preview.refresh} />}
        {!found && !preview.problem.value && <Loading what="the year" />}
        {found && (
          <div class="stack">
            <Year preview={found} />
            <PreviewFacts preview={found} />
          </div>
        )}
      </Card>
      {found && (
        <Card title="What would run">
          <WouldRun preview={found} />
        </Card>
      )}
      <Uses id={id} />
    </div>
  );
}

function Actions({ calendar }: { calendar: Json }): JSX.Element | null {
  const deleting = useSignal(false);
  if (!hasScope("write")) return null;
  const path = CALENDARS.href!(calendar);
  return (
    <div class="row">
      <a class="button" href={`${path}/edit`}>
        Edit
      </a>
      <a class="button" href={`${path}/copy`}>
        Copy
      </a>
      <button class="button danger" type="button" onClick={() => (deleting.value = true)}>
        Delete
      </button>
      <DeleteDialog resource={CALENDARS} item={deleting.value ? calendar : null} onClose={() => (deleting.value = false)} onDeleted={() => go("/calendars")} />
    </div>
  );
}

function Missing(): JSX.Element {
  return (
    <Empty title="Calendar not found">
      <p>
        It may have been deleted. <a href="/calendars">See all calendars</a>
      </p>
    </Empty>
  );
}
