/** Coming in and going out. */

import { Problem, ask, session, type Session } from "./api";

/** Ask who is logged in; a one-time code behind the address is used up first. */
export async function recall(): Promise<void> {
  try {
    session.value = await ask<Session>("GET", "/v1/session");
  } catch (error) {
    if (error instanceof Problem && error.status !== 401) throw error;
    session.value = null;
  }
}

export async function enter(credentials: { code: string } | { key: string }): Promise<void> {
  session.value = await ask<Session>("POST", "/v1/session", { body: credentials });
}

export async function leave(): Promise<void> {
  await ask("DELETE", "/v1/session");
  session.value = null;
}
