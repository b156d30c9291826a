/** The year of a calendar that is not saved yet, while it is typed. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { asProblem, callApi, type Problem } from "../lib/api";
import { serverNow } from "../lib/clock";
import type { Field, Json } from "../forms/fields";
import { inFormWords } from "../forms/messages";
import { readPreview, type PreviewAnswer, type YearPreview } from "./preview";
import { PreviewFacts, WouldRun } from "./preview_facts";
import { Year } from "./year";
import { YearChoice } from "./year_choice";

const TYPING_MS = 400;

/** `definition` makes what is sent, and may throw a Problem; null while there is too little to preview. */
export function DraftPreview({ definition, fields }: { definition: (() => Json) | null; fields: Field[] }): JSX.Element {
  const year = useSignal(new Date(serverNow()).getUTCFullYear());
  const found = useSignal<YearPreview | null>(null);
  const problem = useSignal<Problem | undefined>(undefined);
  const draft = definition === null ? null : attempted(definition);
  const key = JSON.stringify(draft instanceof Error ? draft.message : draft);
  useEffect(() => {
    if (draft === null || draft instanceof Error) {
      found.value = null;
      problem.value = draft === null ? undefined : asProblem(draft);
      return undefined;
    }
    const request = new AbortController();
    const timer = setTimeout(() => {
      callApi<PreviewAnswer>("POST", "/v1/calendars/preview", { body: { ...draft, year: year.value }, signal: request.signal }).then(
        (answer) => {
          found.value = readPreview(answer, serverNow());
          problem.value = undefined;
        },
        (error: unknown) => {
          if (!request.signal.aborted) problem.value = asProblem(error);
        },
      );
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      request.abort();
    };
  }, [key, year.value]);
  return (
    <div class="preview draft-preview whole" role="region" aria-label="Preview of the year">
      {problem.value ? (
        <p class="fault" role="status">{inFormWords(problem.value.message, fields)}</p>
      ) : found.value ? (
        <>
          <YearChoice year={year.value} onYear={(next) => (year.value = next)} />
          <Year preview={found.value} />
          <PreviewFacts preview={found.value} />
          {found.value.endpoints.length > 0 && <WouldRun preview={found.value} />}
        </>
      ) : (
        <p class="quiet">The year is shown here while you type.</p>
      )}
    </div>
  );
}

function attempted(make: () => Json): Json | Error {
  try {
    return make();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
