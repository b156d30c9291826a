/** Planners: their analyses, what they cost, what learning saves, and the rules. */

import type { JSX } from "preact";
import "./planners.css";
import { Rules } from "./rules";
import { Analyses } from "./analyses";
import { Costs, Learning } from "./spending";
import { Wakes } from "./wakes";

export default function PlannersPage(): JSX.Element {
  return (
    <div class="stack planners">
      <div class="planners-sides">
        <Analyses />
        <div class="stack">
          <Learning />
          <Wakes />
          <Costs />
        </div>
      </div>
      <Rules />
    </div>
  );
}
