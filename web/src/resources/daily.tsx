/** Users who are served daily. */

import type { Resource } from "../forms/resource";

export const DAILY_USERS: Resource = {
  slug: "daily-users",
  title: "Daily users",
  one: "daily user",
  about: "A daily user is served once a day, before a due time.",
  list: "/v1/daily/users",
  scope: "write",
  create: "PUT /v1/daily/users/{user_id}",
  update: "PUT /v1/daily/users/{user_id}",
  remove: "DELETE /v1/daily/users/{user_id}",
  notCopied: ["user_id"],
  nameOf: (user) => String(user["user_id"]),
  href: () => "/daily",
  submit: "Save",
  sections: [
    {
      fields: [
        { name: "user_id", label: "User", fixed: true },
        { name: "due_time", label: "Due time (UTC)", kind: "time", help: "The daily target is called from one hour before. A window that is already open keeps its time." },
      ],
    },
  ],
  details: (user) => `due at ${String(user["due_time"])} UTC`,
  goesWith: () => Promise.resolve(["The user is not served any more. Results of past days are kept."]),
};
