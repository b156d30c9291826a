/** Export of the audit as it is filtered: CSV or JSON, one record a line. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { asProblem, callApi, type ListPage } from "../../lib/api";
import { counted } from "../../lib/format";
import { toast } from "../../ui/toast";
import type { AuditRecord } from "./types";

const PAGE = 200;
const MOST = 20_000;
const COLUMNS = ["at", "who", "name", "surface", "operation", "subject_kind", "subject_id", "outcome", "reason", "changes"] as const;

export function Export({ filter }: { filter: Record<string, string | undefined> }): JSX.Element {
  const busy = useSignal(false);
  async function save(format: "csv" | "jsonl"): Promise<void> {
    busy.value = true;
    try {
      const records = await all(filter);
      const lines = format === "csv" ? [COLUMNS.join(","), ...records.map(csvLine)] : records.map((one) => JSON.stringify(one));
      download(`audit.${format}`, `${lines.join("\n")}\n`, format === "csv" ? "text/csv" : "application/jsonl");
      toast(`${counted(records.length, "record")} exported${records.length >= MOST ? "; there are more: narrow the filters" : ""}.`);
    } catch (error) {
      toast(asProblem(error).message, { bad: true });
    } finally {
      busy.value = false;
    }
  }
  return (
    <>
      <button class="button" type="button" disabled={busy.value} onClick={() => void save("csv")}>
        Export CSV
      </button>
      <button class="button" type="button" disabled={busy.value} onClick={() => void save("jsonl")}>
        Export JSON
      </button>
    </>
  );
}

async function all(filter: Record<string, string | undefined>): Promise<AuditRecord[]> {
  const found: AuditRecord[] = [];
  let cursor: string | null = null;
  do {
    const page: ListPage<AuditRecord> = await callApi("GET", "/v1/audit", { query: { ...filter, limit: PAGE, cursor } });
    found.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor && found.length < MOST);
  return found;
}

function csvLine(record: AuditRecord): string {
  return COLUMNS.map((name) => csvCell(name === "changes" ? JSON.stringify(record.changes) : (record[name] ?? ""))).join(",");
}

/** A quoted cell; a leading sign would be read as a formula by spreadsheets. */
function csvCell(value: string): string {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return `"${text.replaceAll('"', '""')}"`;
}

function download(name: string, text: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.dataset["reload"] = "";
  link.click();
  URL.revokeObjectURL(address);
}
