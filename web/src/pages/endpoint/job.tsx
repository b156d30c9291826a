/** The job of an endpoint: its description and metadata, loaded when they are asked for. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useData } from "../../lib/data";
import { ProblemNotice } from "../../ui/parts";

interface Job {
  id: string;
  name: string;
  description: string | null;
  metadata: Record<string, unknown>;
}

export function AboutJob({ id }: { id: string }): JSX.Element {
  const opened = useSignal(false);
  return (
    <details class="about-job" onToggle={(event) => (opened.value = event.currentTarget.open)}>
      <summary>About this job</summary>
      {opened.value && <JobFacts id={id} />}
    </details>
  );
}

function JobFacts({ id }: { id: string }): JSX.Element | null {
  const data = useData<Job>(`/v1/jobs/${encodeURIComponent(id)}`);
  const job = data.value.value;
  const problem = data.problem.value;
  if (problem?.status === 404) return <p class="quiet">Declared in code: no further details are stored.</p>;
  if (problem) return <ProblemNotice problem={problem} retry={data.refresh} />;
  if (!job) return null;
  const metadata = Object.keys(job.metadata).length > 0;
  return (
    <>
      <p>
        <b>{job.name}</b> {job.description}
      </p>
      {metadata ? <pre class="wrap">{JSON.stringify(job.metadata, null, 2)}</pre> : <p class="quiet">No metadata.</p>}
    </>
  );
}
