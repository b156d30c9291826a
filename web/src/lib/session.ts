/** Logging in and out. */

import { Problem, callApi, sessionExpired, session, type Session } from "./api";
import { syncClocks } from "./clock";

/** Load the current session. */
export async function loadSession(): Promise<void> {
  try {
    setSession(await callApi<Session>("GET", "/v1/session"));
  } catch (error) {
    if (error instanceof Problem && error.status !== 401) throw error;
    session.value = null;
  }
}

function setSession(answer: Session): void {
  syncClocks(answer);
  sessionExpired.value = false;
  session.value = answer;
}

export async function logIn(credentials: { code: string } | { key: string }): Promise<void> {
  setSession(await callApi<Session>("POST", "/v1/session", { body: credentials }));
}

export async function logOut(): Promise<void> {
  await callApi("DELETE", "/v1/session");
  session.value = null;
}
