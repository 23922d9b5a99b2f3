/* The address bar: everything after the #, which browsers never send to a server. */

export const PAGES = ["read", "prototypes", "patterns", "mistakes", "batch", "trust"] as const;
export type PageName = (typeof PAGES)[number];

export interface Place {
  page: PageName;
  model: string | null;
  /** What the page keeps in the link: a text, a class, a prototype… */
  state: Record<string, string>;
}

/** Read `#/read/hotel?text=…`; what is not understood leads to the first page. */
export function parsePlace(hash: string): Place {
  const [path = "", query = ""] = split(hash.replace(/^#/, ""), "?");
  const [page, model] = path.split("/").filter(Boolean).map(decoded);
  const state: Record<string, string> = {};
  for (const pair of query.split("&").filter(Boolean)) {
    const [key = "", value = ""] = split(pair, "=");
    state[decoded(key)] = decoded(value);
  }
  const known = PAGES.find((name) => name === page) ?? "read";
  return { page: known, model: model ?? null, state };
}

export function formatPlace(place: Place): string {
  const path = [place.page, place.model].filter((part) => part !== null).map(encodeURIComponent);
  const query = Object.entries(place.state)
    .filter(([, value]) => value !== "")
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`);
  return `#/${path.join("/")}${query.length ? `?${query.join("&")}` : ""}`;
}

function split(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
