/** The records of one kind: listed, created, changed, copied and deleted. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Json } from "../../forms/fields";
import { DeleteDialog, RecordDialog, type Editing } from "../../forms/record_dialog";
import { nameOf, type Resource } from "../../forms/resource";
import { hasScope, type ListPage } from "../../lib/api";
import { useData } from "../../lib/data";
import { Card, Empty, Loading, ProblemNotice } from "../../ui/parts";

const PAGE_SIZE = 100;

export function Records({ resource }: { resource: Resource }): JSX.Element {
  const cursors = useSignal<string[]>([]);
  const editing = useSignal<Editing | null>(null);
  const deleting = useSignal<Json | null>(null);
  const data = useData<ListPage<Json>>(resource.list, { query: { ...resource.query, limit: PAGE_SIZE, cursor: cursors.value.at(-1) }, when: (change) => change.steered });
  const page = data.value.value;
  const next = page?.next_cursor;
  const writable = hasScope(resource.scope);
  const create = writable && (
    <button class="button" type="button" onClick={() => (editing.value = {})}>
      New {resource.one}
    </button>
  );
  const isEmpty = page?.items.length === 0 && cursors.value.length === 0;
  return (
    <Card title={resource.title} aside={!isEmpty && create}>
      {data.problem.value && <ProblemNotice problem={data.problem.value} retry={data.refresh} />}
      {!page && !data.problem.value && <Loading what={resource.title.toLowerCase()} />}
      {isEmpty && (
        <Empty title={`No ${resource.title} yet`.replace(/ [A-Z](?=[a-z])/, (start) => start.toLowerCase())}>
          <p>{resource.about}</p>
          {create}
        </Empty>
      )}
      <ul class="records">
        {page?.items.map((item) => (
          <Item
            key={item["id"] ?? nameOf(resource, item)}
            resource={resource}
            item={item}
            onEdit={(copy) => (editing.value = { item, copy })}
            onDelete={() => (deleting.value = item)}
          />
        ))}
      </ul>
      <div class="row">
        {cursors.value.length > 0 && (
          <button class="button plain" type="button" onClick={() => (cursors.value = cursors.value.slice(0, -1))}>
            Previous page
          </button>
        )}
        {next && (
          <button class="button plain" type="button" onClick={() => (cursors.value = [...cursors.value, next])}>
            Next page
          </button>
        )}
      </div>
      <RecordDialog resource={resource} editing={editing.value} onClose={() => (editing.value = null)} onSaved={data.refresh} />
      <DeleteDialog resource={resource} item={deleting.value} onClose={() => (deleting.value = null)} onDeleted={data.refresh} />
    </Card>
  );
}

interface ItemProps {
  resource: Resource;
  item: Json;
  onEdit: (copy: boolean) => void;
  onDelete: () => void;
}

function Item({ resource, item, onEdit, onDelete }: ItemProps): JSX.Element {
  const name = nameOf(resource, item);
  const details = resource.details(item);
  return (
    <li>
      <div>
        {resource.href ? <a href={resource.href(item)}>{name}</a> : <strong>{name}</strong>}
        {details && <div class="quiet">{details}</div>}
      </div>
      {hasScope(resource.scope) && (
        <div class="row">
          {resource.actions?.(item)}
          {resource.update && (
            <button class="button plain" type="button" aria-label={`Edit ${name}`} onClick={() => onEdit(false)}>
              Edit
            </button>
          )}
          <button class="button plain" type="button" aria-label={`Copy ${name}`} onClick={() => onEdit(true)}>
            Copy
          </button>
          <button class="button plain danger" type="button" aria-label={`Delete ${name}`} onClick={onDelete}>
            Delete
          </button>
        </div>
      )}
    </li>
  );
}
