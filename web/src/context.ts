/* What every page is given. */
import type { Place } from "./routing";
import type { Scale } from "./scale";
import type { Model } from "./types";

export interface PageProps {
  model: Model;
  scale: Scale;
  place: Place;
  /** Change what the link says of this page, without a new entry in the history. */
  keep: (state: Record<string, string>) => void;
  /** Say something to those who hear the page instead of seeing it. */
  announce: (message: string) => void;
  /** The model changed on the server. */
  refresh: () => void;
}
