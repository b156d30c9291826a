import { signal } from "@preact/signals";
import { render, type JSX } from "preact";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";
import { asProblem, session, type Problem } from "./lib/api";
import { stayLive } from "./lib/live";
import { followLinks, go, path } from "./lib/router";
import { recall } from "./lib/session";
import "./lib/theme";
import { Login } from "./pages/login/login";
import { ProblemNotice } from "./ui/parts";
import { Shell } from "./ui/shell";
import { Toasts } from "./ui/toast";

const AGAIN_MS = 3_000;
/** Why nobody knows who is logged in. */
const trouble = signal<Problem | undefined>(undefined);

function App(): JSX.Element {
  return (
    <>
      {session.value ? <Shell /> : session.value === null ? <Login /> : trouble.value && <Unreachable problem={trouble.value} />}
      <Toasts />
    </>
  );
}

function Unreachable({ problem }: { problem: Problem }): JSX.Element {
  return (
    <main class="alone">
      <ProblemNotice problem={problem} retry={() => void begin()} />
    </main>
  );
}

async function begin(): Promise<void> {
  try {
    await recall();
    if (session.value && path.value === "/login") go("/", { replace: true });
  } catch (error) {
    trouble.value = asProblem(error);
    setTimeout(() => session.value === undefined && void begin(), AGAIN_MS);
  }
}

followLinks();
stayLive();
render(<App />, document.getElementById("app")!);
if (location.pathname === "/login" && location.hash.length > 1) session.value = null;
else void begin();
