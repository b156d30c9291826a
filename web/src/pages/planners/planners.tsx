/** Planners: what they thought and did, what that cost, what learning wins, and the rules. */

import type { JSX } from "preact";
import "./planners.css";
import { Rules } from "./rules";
import { Sittings } from "./sittings";
import { Costs, Learning } from "./spending";

export default function PlannersPage(): JSX.Element {
  return (
    <div class="stack planners">
      <div class="planners-sides">
        <Sittings />
        <div class="stack">
          <Learning />
          <Costs />
        </div>
      </div>
      <Rules />
    </div>
  );
}
