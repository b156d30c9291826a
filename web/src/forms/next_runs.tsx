/** When something that is not stored yet would run: a preview, while its schedule is typed. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { asProblem, callApi, type Problem } from "../lib/api";
import { localZone } from "../lib/format";
import type { Field, Json } from "./fields";
import { inFormWords } from "./messages";
import { LOCAL_ZONE } from "./zones";

const TYPING_MS = 300;
const SHOWN = 5;

/** `null` while the schedule is incomplete; refusals are in the words of its fields. */
export function NextRuns({ schedule, fields }: { schedule: Json | null; fields: Field[] }): JSX.Element {
  /** The runs, and the zone of the schedule that they were asked for. */
  const found = useSignal<{ runs: { at: string }[]; zone: string | undefined } | null>(null);
  const problem = useSignal<Problem | undefined>(undefined);
  const key = JSON.stringify(schedule);
  useEffect(() => {
    if (schedule === null) {
      found.value = null;
      problem.value = undefined;
      return undefined;
    }
    const request = new AbortController();
    const timer = setTimeout(() => {
      callApi<{ runs: { at: string }[] }>("POST", "/v1/baselines/preview", { body: { ...schedule, runs: SHOWN }, signal: request.signal }).then(
        (answer) => {
          found.value = { runs: answer.runs, zone: (schedule["baseline"] as Json)["timezone"] as string | undefined };
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
  }, [key]);
  const runs = found.value?.runs;
  const zone = found.value?.zone;
  return (
    <div class="preview next-runs" role="status" aria-label="Next runs">
      {problem.value ? (
        <p class="fault">{inFormWords(problem.value.message, fields)}</p>
      ) : !runs ? (
        <p class="quiet">The next runs are shown here while you type.</p>
      ) : runs.length === 0 ? (
        <p>It would not run at all.</p>
      ) : (
        <>
          <p>Next runs, in {localZone()}{zone && zone !== LOCAL_ZONE && `, and in ${zone}`}:</p>
          <ol>
            {runs.map((one) => (
              <li key={one.at} class="number">
                <time dateTime={one.at}>{format(one.at)}</time>
                {zone && zone !== LOCAL_ZONE && <span class="quiet"> {format(one.at, zone)}</span>}
              </li>
            ))}
          </ol>
        </>
      )}
    </div>
  );
}

function format(moment: string, timeZone?: string): string {
  return new Intl.DateTimeFormat(undefined, {
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    ...(timeZone ? { timeZone } : {}),
  }).format(new Date(moment));
}
