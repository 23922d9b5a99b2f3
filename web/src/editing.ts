/* A sentence changed within its text: where it begins and ends, before and while it is edited. */
import type { Explanation, Step } from "./types";
import { unitOffset } from "./wording";

export interface Shown {
  text: string;
  explanation: Explanation;
}

export interface Edit {
  prefix: string;
  suffix: string;
  before: string;
  draft: string;
}

export function beginEdit(shown: Shown, step: Step): Edit {
  const from = unitOffset(shown.text, step.start);
  const to = unitOffset(shown.text, step.end);
  const before = shown.text.slice(from, to);
  return { prefix: shown.text.slice(0, from), suffix: shown.text.slice(to), before, draft: before };
}

export function textOf(edit: Edit): string {
  return edit.prefix + edit.draft + edit.suffix;
}

/** The text without the sentence, and without the space that parted it from the next one. */
export function without(shown: Shown, step: Step): string {
  const edit = beginEdit(shown, step);
  return (edit.prefix + edit.suffix.replace(/^[^\S\n]+/, "")).trimEnd();
}

/** Which sentences stand before the edited part, and which behind; the rest is being edited. */
export function around(shown: Shown, edit: Edit): { before: number[]; behind: number[] } {
  const from = edit.prefix.length;
  const to = shown.text.length - edit.suffix.length;
  const before: number[] = [];
  const behind: number[] = [];
  shown.explanation.sentences.forEach((step, i) => {
    if (unitOffset(shown.text, step.end) <= from) before.push(i);
    else if (unitOffset(shown.text, step.start) >= to) behind.push(i);
  });
  return { before, behind };
}
