/* Which sentence a mistake is blamed on, and in what words. */
import type { Mistake } from "./desk";
import { percent } from "./wording";

// As in the reports: a sentence that changes less misleads nobody.
const LEAST = 0.05;

/** The sentence to blame, or null where none alone is. */
export function blameOf(mistake: Mistake): Mistake["blamed"] {
  return mistake.blamed && mistake.blamed.effect >= LEAST ? mistake.blamed : null;
}

export function withoutBlamed(label: string, confidence: number, effect: number): string {
  const then = Math.max(confidence - effect, 0);
  return `Without it, the model would be ${percent(then)} sure of “${label}” instead of ${percent(confidence)}.`;
}
