import { render, type JSX } from "preact";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/parts.css";
import "./styles/shell.css";
import { session } from "./lib/api";
import { stayLive } from "./lib/live";
import { followLinks, go, path } from "./lib/router";
import { recall } from "./lib/session";
import "./lib/theme";
import { Login } from "./pages/login/login";
import { Shell } from "./ui/shell";
import { Toasts, toast } from "./ui/toast";

function App(): JSX.Element {
  return (
    <>
      {session.value === undefined ? null : session.value === null ? <Login /> : <Shell />}
      <Toasts />
    </>
  );
}

followLinks();
stayLive();
render(<App />, document.getElementById("app")!);
if (location.pathname === "/login" && location.hash.length > 1) {
  session.value = null;
} else {
  recall().then(
    () => session.value && path.value === "/login" && go("/", { replace: true }),
    (error: unknown) => {
      session.value = null;
      toast(error instanceof Error ? error.message : String(error), { bad: true });
    },
  );
}
