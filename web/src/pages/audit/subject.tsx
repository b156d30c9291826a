/** What an audit record is about, and whether it took effect. */

import type { JSX } from "preact";
import { subjectHref, type AuditRecord } from "./types";

export function Outcome({ outcome }: { outcome: string }): JSX.Element | null {
  return outcome === "done" ? null : <span class="badge warn">{outcome.replaceAll("_", " ")}</span>;
}

export function Subject({ record }: { record: AuditRecord }): JSX.Element {
  const href = subjectHref(record);
  const text = `${record.subject_kind.replaceAll("_", " ")} ${record.subject_id ?? ""}`.trim();
  return href ? <a href={href}>{text}</a> : <>{text}</>;
}
