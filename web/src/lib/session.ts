/** Coming in and going out. */

import { Problem, ask, lapsed, session, type Session } from "./api";
import { toldClocks } from "./clock";

/** Ask who is logged in. */
export async function recall(): Promise<void> {
  try {
    admitted(await ask<Session>("GET", "/v1/session"));
  } catch (error) {
    if (error instanceof Problem && error.status !== 401) throw error;
    session.value = null;
  }
}

function admitted(who: Session): void {
  toldClocks(who);
  lapsed.value = false;
  session.value = who;
}

export async function enter(credentials: { code: string } | { key: string }): Promise<void> {
  admitted(await ask<Session>("POST", "/v1/session", { body: credentials }));
}

export async function leave(): Promise<void> {
  await ask("DELETE", "/v1/session");
  session.value = null;
}
