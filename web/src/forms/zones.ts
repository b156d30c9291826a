/** Time zones to choose from. */

export const LOCAL_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The names that the browser knows; others can be typed. */
export function timeZones(): string[] {
  return ["UTC", ...Intl.supportedValuesOf("timeZone")];
}
