/** A button of a listed record that asks one operation and says what came of it. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { asProblem, callApi } from "../lib/api";
import { toast } from "../ui/toast";
import type { Json } from "./fields";

interface Props {
  label: string;
  /** Of the record. */
  name: string;
  path: string;
  say: (answer: Json) => { text: string; bad: boolean };
}

export function ActionOnRecord({ label, name, path, say }: Props): JSX.Element {
  const busy = useSignal(false);
  async function act(): Promise<void> {
    busy.value = true;
    try {
      const { text, bad } = say(await callApi<Json>("POST", path, { body: {} }));
      toast(text, { bad });
    } catch (error) {
      toast(asProblem(error).message, { bad: true });
    } finally {
      busy.value = false;
    }
  }
  return (
    <button class="button plain" type="button" aria-label={`${label} ${name}`} disabled={busy.value} onClick={() => void act()}>
      {label}
    </button>
  );
}

/** What came of a test message. */
export function sayTested(answer: Json): { text: string; bad: boolean } {
  return answer["accepted"] ? { text: "The test message was accepted.", bad: false } : { text: String(answer["problem"]), bad: true };
}
