/** A table of any number of rows, of which only those in sight exist. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icons";
import "./table.css";

export interface Column<Row> {
  key: string;
  title: string;
  cell: (row: Row) => ComponentChildren;
  /** A share of the width, as CSS grid writes it; 1fr if left out. */
  width?: string;
  /** What it is sorted by; without it, the column cannot be sorted. */
  by?: (row: Row) => string | number;
  /** Shown on phones, too, as wide as this. */
  phone?: string;
}

export interface Order {
  key: string;
  down: boolean;
}

interface Props<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  id: (row: Row) => string;
  order?: Order | undefined;
  onOrder?: (order: Order) => void;
  /** Where a row leads; its first cell is the link. */
  href?: (row: Row) => string;
  /** Told which rows are in sight, to load what only they need. */
  onSight?: (rows: Row[]) => void;
  rowHeight?: number;
}

const BEYOND = 6;

/** Rows sorted as a header asks for; ties keep their order. */
export function sorted<Row>(rows: Row[], columns: Column<Row>[], order: Order | undefined): Row[] {
  const by = columns.find((column) => column.key === order?.key)?.by;
  if (!by || !order) return rows;
  const sign = order.down ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: by(row) }));
  keyed.sort((one, other) => sign * compared(one.key, other.key));
  return keyed.map((one) => one.row);
}

const WORDS = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function compared(one: string | number, other: string | number): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return WORDS.compare(String(one), String(other));
}

export function Table<Row>(props: Props<Row>): JSX.Element {
  const { columns, rows, rowHeight = 52 } = props;
  const body = useRef<HTMLDivElement>(null);
  const sight = useSignal<[number, number]>([0, 30]);

  useEffect(() => {
    function look(): void {
      const box = body.current?.getBoundingClientRect();
      if (!box) return;
      const first = Math.max(0, Math.floor(-box.top / rowHeight) - BEYOND);
      const last = Math.ceil((innerHeight - box.top) / rowHeight) + BEYOND;
      const [before, after] = sight.peek();
      if (first !== before || last !== after) sight.value = [first, Math.max(last, first)];
    }
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [rowHeight, rows.length > 0]);

  const [first, last] = sight.value;
  const shown = rows.slice(first, last);
  const seen = shown.map(props.id).join("\n");
  useEffect(() => props.onSight?.(shown), [seen]);

  const template = { "--columns": columns.map((column) => column.width ?? "1fr").join(" "), "--phone-columns": columns.flatMap((column) => column.phone ?? []).join(" ") };
  return (
    <div class="table" role="table" aria-label={props.label} aria-rowcount={rows.length + 1} style={template}>
      <div class="table-head" role="rowgroup">
        <div class="table-row" role="row" aria-rowindex={1}>
          {columns.map((column) => (
            <Head key={column.key} column={column} order={props.order} onOrder={props.onOrder} />
          ))}
        </div>
      </div>
      <div class="table-body" role="rowgroup" ref={body} style={{ height: `${rows.length * rowHeight}px` }}>
        {shown.map((row, place) => (
          <div
            key={props.id(row)}
            class="table-row"
            role="row"
            aria-rowindex={first + place + 2}
            style={{ transform: `translateY(${(first + place) * rowHeight}px)`, height: `${rowHeight}px` }}
          >
            {columns.map((column, at) => (
              <div key={column.key} role="cell" class={column.phone ? "cell" : "cell wide-only"}>
                {at === 0 && props.href ? (
                  <a class="clip" href={props.href(row)}>
                    {column.cell(row)}
                  </a>
                ) : (
                  column.cell(row)
                )}
              </div>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

interface HeadProps<Row> {
  column: Column<Row>;
  order: Order | undefined;
  onOrder: ((order: Order) => void) | undefined;
}

function Head<Row>({ column, order, onOrder }: HeadProps<Row>): JSX.Element {
  const here = order?.key === column.key;
  const state = !column.by ? undefined : here ? (order.down ? "descending" : "ascending") : "none";
  return (
    <div role="columnheader" class={column.phone ? "cell" : "cell wide-only"} {...(state ? { "aria-sort": state } : {})}>
      {column.by && onOrder ? (
        <button type="button" onClick={() => onOrder({ key: column.key, down: here && !order.down })}>
          {column.title}
          {here && <Icon name={order.down ? "down" : "up"} />}
        </button>
      ) : (
        column.title
      )}
    </div>
  );
}
