/** A modal dialog: the browser keeps the focus inside, and Escape closes it; unsaved changes inside are asked about. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { mayLeave, openForms } from "../lib/unsaved";
import { Icon } from "./icons";

interface Props {
  title: string;
  open: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, open, onClose, children }: Props): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  /** How many forms were open before this was; those inside register after it is rendered. */
  const formsBefore = useRef<number | null>(null);
  formsBefore.current = open ? (formsBefore.current ?? openForms()) : null;
  const leave = (): void => {
    if (mayLeave(formsBefore.current ?? 0)) onClose();
  };
  useEffect(() => {
    const dialog = element.current;
    if (open && dialog && !dialog.open) dialog.showModal();
    if (!open && dialog?.open) dialog.close();
  }, [open]);
  return (
    <dialog
      ref={element}
      aria-labelledby={heading}
      onClose={(event) => event.target === element.current && open && onClose()}
      onCancel={(event) => {
        if (event.target !== element.current) return;
        event.preventDefault();
        leave();
      }}
      onClick={(event) => event.target === element.current && leave()}
    >
      <header>
        <h2 id={heading}>{title}</h2>
        <button class="icon-button" type="button" aria-label="Close" onClick={leave}>
          <Icon name="close" />
        </button>
      </header>
      <div class="body">{open && children}</div>
    </dialog>
  );
}
