/** Puts a reference to a secret where the cursor was last within a field. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { hasScope, type ListPage } from "../lib/api";
import { useData } from "../lib/data";

type TextInput = HTMLInputElement | HTMLTextAreaElement;

interface Props {
  /** The element around the field. */
  box: { current: HTMLElement | null };
  label: string;
  onCreate?: (what: string, choose: (name: string) => void) => void;
}

/** What a reference can be put into: the values of pairs and the addresses of channels, not their names. */
const TEXTS = "textarea, input:not(.pair > :first-child, .channel > :not(.address))";

export function SecretPicker({ box, label, onCreate }: Props): JSX.Element {
  const data = useData<ListPage<{ name: string }>>("/v1/secrets", { query: { limit: 500 }, when: () => false });
  const last = useRef<TextInput | null>(null);
  useEffect(() => {
    const remember = (event: FocusEvent): void => {
      if ((event.target as Element).matches(TEXTS)) last.current = event.target as TextInput;
    };
    const around = box.current;
    around?.addEventListener("focusin", remember);
    return () => around?.removeEventListener("focusin", remember);
  }, []);
  function insert(name: string): void {
    const inputs = box.current?.querySelectorAll<TextInput>(TEXTS) ?? [];
    const into = last.current?.isConnected ? last.current : inputs[inputs.length - 1];
    if (!into) return;
    into.setRangeText(`\${secret:${name}}`, into.selectionStart ?? into.value.length, into.selectionEnd ?? into.value.length, "end");
    into.dispatchEvent(new Event("input", { bubbles: true }));
    into.focus();
  }
  const names = data.value.value?.items.map((one) => one.name) ?? [];
  return (
    <div class="row secret-picker">
      <select
        class="pick"
        aria-label={`Insert a secret into ${label.toLowerCase()}`}
        value=""
        onChange={(event) => {
          if (event.currentTarget.value) insert(event.currentTarget.value);
          event.currentTarget.value = "";
        }}
      >
        <option value="">{names.length ? "Insert a secret…" : "No secrets yet"}</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      {hasScope("write") && onCreate && (
        <button
          class="button plain"
          type="button"
          onClick={() =>
            onCreate("secret", (name) => {
              data.refresh();
              insert(name);
            })
          }
        >
          New secret
        </button>
      )}
    </div>
  );
}
