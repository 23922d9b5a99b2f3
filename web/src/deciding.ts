/* What decided, in words: the pattern that a text begins with, or that there is none. */
import type { Explanation } from "./types";
import { percent, plural } from "./wording";

/** One sentence, or null where there is nothing to tell. */
export function decidingSentence(explanation: Explanation): string | null {
  const reading = explanation.automaton;
  if (!reading) return null;
  if (!reading.agrees) return "The model’s chart of patterns decides otherwise here, so it explains nothing of this text.";
  const pattern = explanation.pattern;
  if (pattern) {
    const sentences = (pattern.sentences ?? []).map((sentence) => `“${sentence}”`).join(", then ");
    return `What decided: texts that begin with a sentence like ${sentences} get “${pattern.label ?? reading.label}” in ${percent(pattern.purity)} of ${plural(pattern.support, "case")}.`;
  }
  return reading.accepts ? "No beginning gives the answer away here: the text as a whole decides." : null;
}
