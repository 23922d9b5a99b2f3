/* What to do about a prototype, in one sentence, from its figures. */
import type { ListedPrototype } from "./desk";
import { leading, type Scale } from "./scale";
import { apartness, percent, plural } from "./wording";

const HARDLY_USED = 0.005;
const DIFFER = 0.2;
const EXAGGERATES = 0.25;
const MISLEADS = 0.15; // of all mistakes

/** A suggestion, or null where the prototype is as it should be. */
export function suggestionFor(item: ListedPrototype, scale: Scale, misled = 0, mistakes = 0): string | null {
  const says = leading(scale, item.scores);
  const observed = item.class_rate[says.label];
  if (item.usage < HARDLY_USED) return "Hardly used: drop it, or merge it into one that says the same.";
  if (item.n_members > 1 && apartness(item.spread, scale.classes.length) >= DIFFER) {
    return "Its sentences are of several tones: move those that do not belong, or split them off.";
  }
  if (observed !== undefined && says.value - observed >= EXAGGERATES) {
    return `It says “${says.label}” with ${percent(says.value)}, but only ${percent(observed)} of its texts are: look for sentences that mislead.`;
  }
  if (misled >= 3 && misled >= MISLEADS * mistakes) {
    return `It misled the model in ${plural(misled, "text")}: look at these, and drop or move what they were taken for.`;
  }
  return null;
}
