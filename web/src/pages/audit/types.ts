/** What the server answers about the audit. */

export interface FieldChange {
  field: string;
  before: unknown;
  after: unknown;
}

export interface AuditRecord {
  id: string;
  at: string;
  who: string;
  by: string;
  name: string | null;
  surface: string;
  operation: string;
  subject_kind: string;
  subject_id: string | null;
  reason: string | null;
  outcome: string;
  changes: FieldChange[];
  restorable: boolean;
}

export interface AuditDetails extends AuditRecord {
  definition: Record<string, unknown> | null;
}

/** `pause_until` as people read it. */
export function operationName(name: string): string {
  return name.replaceAll("_", " ");
}

/** The page of what a record is about; undefined if there is none. */
export function subjectHref(record: AuditRecord): string | undefined {
  const id = record.subject_id;
  if (id === null) return undefined;
  const pages: Record<string, string> = {
    endpoint: `/endpoints/${encodeURIComponent(id)}`,
    job: `/jobs/${encodeURIComponent(id)}`,
    run: `/runs?run=${encodeURIComponent(id)}`,
    rule: "/planners",
    user: `/agents?user=${encodeURIComponent(id)}`,
    daily_user: "/daily",
    condition: "/alerts",
    alert_route: "/settings/alert-routes",
  };
  return pages[record.subject_kind];
}
