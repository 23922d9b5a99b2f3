/* Figures of a table of texts: shares per group or period, and what stands out. */
import type { Overview } from "./desk";

export interface Tally {
  prototype: Overview["prototypes"][number];
  /** Share of all texts that hold it, or of those of the chosen group. */
  share: number;
  /** Share of all texts. */
  usual: number;
  /** Share per key. */
  shares: number[];
}

/** Prototypes by falling share, of all texts or of one key's. */
export function tallies(overview: Overview, key: string | null): Tally[] {
  const at = key === null ? -1 : overview.keys.indexOf(key);
  return overview.prototypes
    .map((prototype) => {
      const shares = prototype.counts.map((count, i) => count / Math.max(overview.documents[i] ?? 0, 1));
      const usual = prototype.n_documents / Math.max(overview.n_documents, 1);
      return { prototype, usual, shares, share: at < 0 ? usual : (shares[at] ?? 0) };
    })
    .sort((a, b) => b.share - a.share || b.usual - a.usual);
}

/** Points of a small line in a box of 100 by 24, its highest value told apart. */
export function sparkline(shares: number[], top: number): [number, number][] {
  const step = shares.length > 1 ? 100 / (shares.length - 1) : 0;
  return shares.map((share, i) => [shares.length > 1 ? i * step : 50, 22 - (20 * share) / Math.max(top, 1e-9)]);
}

const STANDARD_ERRORS = 2;

/** Whether so many of some texts are wrong, where this share of all is, that it is hardly chance. */
export function standsOut({ n_documents, n_wrong }: { n_documents: number; n_wrong: number }, usual: number): boolean {
  return n_wrong - n_documents * usual >= STANDARD_ERRORS * Math.sqrt(Math.max(n_documents * usual * (1 - usual), 1e-9));
}
