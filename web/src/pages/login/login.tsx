/** Logging in: by the one-time link, or with a key. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import icon from "../../icon.svg";
import { asProblem, sessionExpired, type Problem } from "../../lib/api";
import { go } from "../../lib/router";
import { logIn } from "../../lib/session";
import { Field, Form } from "../../ui/form";
import { Loading, ProblemNotice } from "../../ui/parts";
import "./login.css";

/** Stay on the page that was asked for; from the login page go to the overview. */
function leaveLoginPage(): void {
  if (location.pathname === "/login") go("/", { replace: true });
}

export function Login(): JSX.Element {
  const code = useSignal(location.pathname === "/login" ? location.hash.slice(1) : "");
  const problem = useSignal<Problem | undefined>(undefined);
  useEffect(() => {
    document.title = "Log in · Cadenza";
    if (!code.value) return;
    const given = code.value;
    // The code works once; it does not stay in the address or in the history.
    history.replaceState(null, "", "/login");
    logIn({ code: given }).then(leaveLoginPage, (error: unknown) => {
      code.value = "";
      problem.value = asProblem(error);
    });
  }, []);
  return (
    <main class="login">
      <h1>
        <img src={icon} alt="" />
        Cadenza
      </h1>
      {code.value ? <Loading what="your session" /> : <KeyForm problem={problem.value} />}
    </main>
  );
}

function KeyForm({ problem }: { problem: Problem | undefined }): JSX.Element {
  return (
    <div class="card stack">
      {problem && <ProblemNotice problem={problem} />}
      {sessionExpired.value && !problem && <p class="notice">Your session has expired. Log in again to continue.</p>}
      <Form
        submit="Log in"
        busy="Logging in…"
        fields={["key"]}
        send={async (values) => {
          await logIn({ key: String(values.get("key") ?? "").trim() });
          leaveLoginPage();
        }}
      >
        {(sent) => (
          <Field label="API key" name="key" problem={sent} help="Starts with cad_. It is not stored in this browser.">
            {(wiring) => <input {...wiring} type="password" autocomplete="off" spellcheck={false} required autofocus />}
          </Field>
        )}
      </Form>
      <p class="quiet">
        <code>cadenza up</code> prints a link that logs you in without a key. The link works once; <code>cadenza login</code> prints another.
      </p>
    </div>
  );
}
