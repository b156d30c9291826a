/** API keys and secrets. */

import type { Resource } from "../forms/resource";
import { ShownOnce } from "../forms/record_dialog";
import { fullTime, localZone } from "../lib/format";

const SCOPES = [
  { value: "read", label: "read: see everything" },
  { value: "steer", label: "steer: also hints, pauses, run now" },
  { value: "write", label: "write: also create, change and delete" },
  { value: "admin", label: "admin: also keys and sessions" },
];

export const KEYS: Resource = {
  slug: "keys",
  title: "API keys",
  one: "key",
  about: "A key lets a program, or a person at the login page, do what its scope allows.",
  list: "/v1/keys",
  scope: "admin",
  create: "POST /v1/keys",
  remove: "DELETE /v1/keys/{id}",
  sections: [
    {
      fields: [
        { name: "name", label: "Name", help: "Who or what uses it. It stands in the audit." },
        { name: "scopes", label: "Scope", kind: "choice", initial: "read", options: SCOPES },
        { name: "expires_at", label: () => `Expires at (${localZone()})`, kind: "moment", help: "Empty: never." },
      ],
    },
  ],
  read: (key) => ({ ...key, scopes: (key["scopes"] as string[]).at(-1) }),
  prepare: (body) => ({ ...body, scopes: [body["scopes"]] }),
  details: (key) => `${String((key["scopes"] as string[]).at(-1))}, ${key["expires_at"] ? `expires ${fullTime(key["expires_at"] as string)}` : "never expires"}, created ${fullTime(key["created_at"] as string)}`,
  goesWith: () => Promise.resolve(["It stops working at once: what uses it is refused, and sessions that were opened with it are logged out."]),
  created: (answer) => <ShownOnce label={`Key ${String(answer["name"])}`} text={String(answer["key"])} />,
};

export const SECRETS: Resource = {
  slug: "secrets",
  title: "Secrets",
  one: "secret",
  about: "A secret is put into headers, bodies and signatures where ${secret:NAME} stands. Its value is never shown again.",
  list: "/v1/secrets",
  scope: "write",
  create: "PUT /v1/secrets/{secret_name}",
  update: "PUT /v1/secrets/{secret_name}",
  remove: "DELETE /v1/secrets/{secret_name}",
  read: (secret) => ({ secret_name: secret["name"] as string }),
  notCopied: ["secret_name"],
  sections: [
    {
      fields: [
        { name: "secret_name", label: "Name", fixed: true, help: "Letters, digits, dots, hyphens and underscores." },
        { name: "value", label: "Value", kind: "password", help: "Stored sealed, and never shown again." },
      ],
    },
  ],
  details: (secret) => `\${secret:${String(secret["name"])}}, changed ${fullTime(secret["updated_at"] as string)}`,
  goesWith: () => Promise.resolve(["Targets that refer to it fail from then on."]),
};
