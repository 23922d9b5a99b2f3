/* Which words of two sentences are marked, and how strongly: the same as in the reports. */
import type { Step, WordEffect } from "./types";
import { unitOffset } from "./wording";

const SHARES = [0.6, 0.3, 0.12];
const NOTHING = 1e-6;

export interface Piece {
  text: string;
  /** From 0, not marked, to 3. */
  strength: number;
}

/** Cut a sentence into marked words and what lies between. */
export function marked(text: string, words: WordEffect[], step: Pick<Step, "words" | "prototype_words">): Piece[] {
  const all = [...(step.words ?? []), ...(step.prototype_words ?? [])];
  const top = Math.max(...all.map((word) => word.effect), 0);
  const pieces: Piece[] = [];
  let end = 0;
  for (const word of words) {
    const strength = top < NOTHING ? 0 : SHARES.filter((share) => word.effect >= share * top).length;
    if (!strength) continue;
    const from = unitOffset(text, word.start);
    const to = unitOffset(text, word.end);
    if (end < from) pieces.push({ text: text.slice(end, from), strength: 0 });
    pieces.push({ text: text.slice(from, to), strength });
    end = to;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), strength: 0 });
  return pieces;
}
