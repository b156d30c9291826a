/** A modal dialog: the browser keeps the focus inside, and Escape closes it. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
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
  useEffect(() => {
    const dialog = element.current;
    if (open && dialog && !dialog.open) dialog.showModal();
    if (!open && dialog?.open) dialog.close();
  }, [open]);
  return (
    <dialog
      ref={element}
      aria-labelledby={heading}
      onClose={onClose}
      onClick={(event) => event.target === element.current && onClose()}
    >
      <header>
        <h2 id={heading}>{title}</h2>
        <button class="icon-button" type="button" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="body">{open && children}</div>
    </dialog>
  );
}
