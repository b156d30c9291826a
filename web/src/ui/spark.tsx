/** The last results of an endpoint, oldest left: height is duration, colour is status. */

import type { JSX } from "preact";
import { counted, span } from "../lib/format";

export interface Result {
  status: string;
  duration_ms: number;
}

const BAR = 5;
const HEIGHT = 22;

export function Spark({ results }: { results: Result[] }): JSX.Element {
  if (results.length === 0) return <span class="quiet">no runs yet</span>;
  const most = Math.max(...results.map((one) => one.duration_ms), 1);
  const bad = results.filter((one) => one.status !== "success").length;
  const label = `Last ${counted(results.length, "run")}, ${bad === 0 ? "all succeeded" : `${bad} did not succeed`}; longest ${span(most)}`;
  return (
    <svg class="spark" role="img" aria-label={label} width={results.length * BAR} height={HEIGHT}>
      {results.map((one, place) => {
        const size = Math.max(3, Math.round((one.duration_ms / most) * HEIGHT));
        return (
          <rect
            key={place}
            class={`spark-${one.status}`}
            x={place * BAR}
            y={HEIGHT - size}
            width={BAR - 1.5}
            height={size}
            rx={1}
          />
        );
      })}
    </svg>
  );
}
