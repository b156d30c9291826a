import { signal } from "@preact/signals";
import { render, type JSX } from "preact";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";
import { asProblem, session, type Problem } from "./lib/api";
import { connectWhileLoggedIn } from "./lib/live";
import { followLinks, go, path } from "./lib/router";
import { loadSession } from "./lib/session";
import "./lib/theme";
import { Login } from "./pages/login/login";
import { ProblemNotice } from "./ui/parts";
import { Shell } from "./ui/shell";
import { Toasts } from "./ui/toast";

const RETRY_MS = 3_000;
/** Why the session could not be loaded. */
const startProblem = signal<Problem | undefined>(undefined);

function App(): JSX.Element {
  return (
    <>
      {session.value ? <Shell /> : session.value === null ? <Login /> : startProblem.value && <Unreachable problem={startProblem.value} />}
      <Toasts />
    </>
  );
}

function Unreachable({ problem }: { problem: Problem }): JSX.Element {
  return (
    <main class="alone">
      <ProblemNotice problem={problem} retry={() => void start()} />
    </main>
  );
}

async function start(): Promise<void> {
  try {
    await loadSession();
    if (session.value && path.value === "/login") go("/", { replace: true });
  } catch (error) {
    startProblem.value = asProblem(error);
    setTimeout(() => session.value === undefined && void start(), RETRY_MS);
  }
}

followLinks();
connectWhileLoggedIn();
render(<App />, document.getElementById("app")!);
if (location.pathname === "/login" && location.hash.length > 1) session.value = null;
else void start();
