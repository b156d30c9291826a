/** Forms with changes that are not saved, and the question before they are lost. */

import { useEffect, useRef } from "preact/hooks";

type IsUnsaved = () => boolean;
const open: IsUnsaved[] = [];

/** Ask before this form is left with unsaved changes. */
export function useUnsavedChanges(isUnsaved: IsUnsaved): void {
  const current = useRef(isUnsaved);
  current.current = isUnsaved;
  useEffect(() => {
    const form: IsUnsaved = () => current.current();
    open.push(form);
    return () => void open.splice(open.indexOf(form), 1);
  }, []);
}

/** How many forms are open; what is opened later asks about later forms alone. */
export function openForms(): number {
  return open.length;
}

/** Whether forms may be left, those that were open before not counted: nothing is unsaved, or the user agrees. */
export function mayLeave(before = 0): boolean {
  return !open.slice(before).some((form) => form()) || confirm("Discard unsaved changes?");
}

addEventListener("beforeunload", (event) => {
  if (open.some((form) => form())) event.preventDefault();
});
