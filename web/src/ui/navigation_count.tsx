/** Badges of the navigation: how much needs attention. */

import type { JSX } from "preact";
import { useData } from "../lib/data";
import { compact, counted } from "../lib/format";

export type Count = "failing" | "firing";

const COUNTS: Record<Count, { path: string; noun: string; adjective: string }> = {
  failing: { path: "/v1/rows/counts", noun: "endpoint", adjective: "failing" },
  firing: { path: "/v1/alerts/conditions/counts", noun: "alert", adjective: "firing" },
};

export function NavigationCount({ count }: { count: Count }): JSX.Element | null {
  const { path, noun, adjective } = COUNTS[count];
  const data = useData<Record<string, number>>(path, { minGapMs: 3_000, every: 10_000 });
  const size = data.value.value?.[count] ?? 0;
  if (size === 0) return null;
  return (
    <span class="count number" title={`${counted(size, noun)} ${adjective}`}>
      {compact(size)}
      <span class="visually-hidden"> {adjective}</span>
    </span>
  );
}
