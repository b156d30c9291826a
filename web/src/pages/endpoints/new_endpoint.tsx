/** The way to the form of a new endpoint, for those who may create one. */

import type { JSX } from "preact";
import { hasScope } from "../../lib/api";

export function NewEndpoint(): JSX.Element | null {
  if (!hasScope("write")) return null;
  return (
    <a class="button primary" href="/endpoints/new/new">
      New endpoint
    </a>
  );
}
