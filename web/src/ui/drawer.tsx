/** A drawer beside the page, on a phone a sheet: the page stays usable, Escape closes it. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import "./drawer.css";
import { Icon } from "./icons";

interface Props {
  title: string;
  /** What is shown; another key starts at the top again. */
  name: string;
  class?: string;
  onClose: () => void;
  children: ComponentChildren;
  actions?: ComponentChildren;
}

export function Drawer({ title, name, class: extra = "", onClose, children, actions }: Props): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const close = useRef(onClose);
  close.current = onClose;
  const id = useId();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    // Who moves from run to run on the timeline by keyboard stays there.
    if (before && before !== document.body && !before.closest(".timeline")) heading.current?.focus({ preventScroll: true });
    function onKeyDown(event: KeyboardEvent): void {
      if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      close.current();
    }
    document.addEventListener("keydown", onKeyDown);
    return () => {
      document.removeEventListener("keydown", onKeyDown);
      if (before?.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => body.current?.scrollTo(0, 0), [name]);
  return (
    <div class={`drawer ${extra}`} role="dialog" aria-labelledby={id}>
      <header>
        <h2 id={id} tabIndex={-1} ref={heading} class="clip">
          {title}
        </h2>
        <button class="icon-button" type="button" aria-label="Close" title="Close (Escape)" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="drawer-body" ref={body}>
        {children}
      </div>
      {actions && <footer>{actions}</footer>}
    </div>
  );
}
