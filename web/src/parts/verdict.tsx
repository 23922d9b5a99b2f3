/* The model's answer. */
import type { Scale } from "../scale";
import type { Explanation } from "../types";
import { percent } from "../wording";
import { ClassName } from "./common";

export function Verdict({ explanation, scale }: { explanation: Explanation; scale: Scale }) {
  const labels = explanation.probabilities[explanation.label] !== undefined
    ? [explanation.label]
    : explanation.label.split(", ").filter((label) => label in explanation.probabilities);
  return (
    <p class="verdict">
      <span class="kicker">The model’s answer</span>
      {labels.length ? (
        labels.map((label) => (
          <span key={label} class="verdict-class">
            <ClassName scale={scale} label={label} strong /> <span class="number">{percent(explanation.probabilities[label]!)}</span>
          </span>
        ))
      ) : (
        <b>none of its classes</b>
      )}
    </p>
  );
}

/** The answer within a sentence. */
export function verdictOf(explanation: Explanation): string {
  const value = explanation.probabilities[explanation.label];
  return `“${explanation.label || "none"}”${value === undefined ? "" : `, ${percent(value)}`}`;
}
