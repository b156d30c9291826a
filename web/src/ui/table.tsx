/** A table of any number of rows, of which only the visible ones are rendered. */

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
  /** The sort key of a row; without it, the column cannot be sorted. */
  sortKey?: (row: Row) => string | number;
  /** Shown on phones, too, as wide as this. */
  phone?: string;
}

export interface Order {
  key: string;
  descending: boolean;
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
  /** Called with the visible rows, to load what only they need. */
  onVisibleRows?: (rows: Row[]) => void;
  rowHeight?: number;
}

const OVERSCAN = 6;

/** Rows in the order of a column; ties keep their order. */
export function sortRows<Row>(rows: Row[], columns: Column<Row>[], order: Order | undefined): Row[] {
  const sortKey = columns.find((column) => column.key === order?.key)?.sortKey;
  if (!sortKey || !order) return rows;
  const sign = order.descending ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: sortKey(row) }));
  keyed.sort((one, other) => sign * compareKeys(one.key, other.key));
  return keyed.map((one) => one.row);
}

const COLLATOR = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function compareKeys(one: string | number, other: string | number): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return COLLATOR.compare(String(one), String(other));
}

export function Table<Row>(props: Props<Row>): JSX.Element {
  const { columns, rows, rowHeight = 52 } = props;
  const body = useRef<HTMLDivElement>(null);
  const visible = useSignal<[number, number]>([0, 30]);

  useEffect(() => {
    function updateVisible(): void {
      const box = body.current?.getBoundingClientRect();
      if (!box) return;
      const first = Math.max(0, Math.floor(-box.top / rowHeight) - OVERSCAN);
      const last = Math.ceil((innerHeight - box.top) / rowHeight) + OVERSCAN;
      const [before, after] = visible.peek();
      if (first !== before || last !== after) visible.value = [first, Math.max(last, first)];
    }
    updateVisible();
    addEventListener("scroll", updateVisible, { passive: true });
    addEventListener("resize", updateVisible);
    return () => {
      removeEventListener("scroll", updateVisible);
      removeEventListener("resize", updateVisible);
    };
  }, [rowHeight, rows.length > 0]);

  const [first, last] = visible.value;
  const shown = rows.slice(first, last);
  const visibleIds = shown.map(props.id).join("\n");
  useEffect(() => props.onVisibleRows?.(shown), [visibleIds]);

  const template = { "--columns": columns.map((column) => column.width ?? "1fr").join(" "), "--phone-columns": columns.flatMap((column) => column.phone ?? []).join(" ") };
  return (
    <div class="table" role="table" aria-label={props.label} aria-rowcount={rows.length + 1} style={template}>
      <div class="table-head" role="rowgroup">
        <div class="table-row" role="row" aria-rowindex={1}>
          {columns.map((column) => (
            <HeaderCell key={column.key} column={column} order={props.order} onOrder={props.onOrder} />
          ))}
        </div>
      </div>
      <div class="table-body" role="rowgroup" ref={body} style={{ height: `${rows.length * rowHeight}px` }}>
        {shown.map((row, index) => (
          <div
            key={props.id(row)}
            class="table-row"
            role="row"
            aria-rowindex={first + index + 2}
            style={{ transform: `translateY(${(first + index) * rowHeight}px)`, height: `${rowHeight}px` }}
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

interface HeaderCellProps<Row> {
  column: Column<Row>;
  order: Order | undefined;
  onOrder: ((order: Order) => void) | undefined;
}

function HeaderCell<Row>({ column, order, onOrder }: HeaderCellProps<Row>): JSX.Element {
  const here = order?.key === column.key;
  const state = !column.sortKey ? undefined : here ? (order.descending ? "descending" : "ascending") : "none";
  return (
    <div role="columnheader" class={column.phone ? "cell" : "cell wide-only"} {...(state ? { "aria-sort": state } : {})}>
      {column.sortKey && onOrder ? (
        <button type="button" onClick={() => onOrder({ key: column.key, descending: here && !order.descending })}>
          {column.title}
          {here && <Icon name={order.descending ? "down" : "up"} />}
        </button>
      ) : (
        column.title
      )}
    </div>
  );
}
