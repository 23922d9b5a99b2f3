/* How numbers and texts are written on every page; the same as in the package's reports. */
import type { Step } from "./types";

/** A probability for reading, never rounded to a certainty it is not. */
export function percent(value: number): string {
  if (value > 0 && value < 0.005) return "<1%";
  if (value > 0.995 && value < 1) return ">99%";
  return `${Math.round(100 * value)}%`;
}

/** A share with one decimal, for accuracies that are compared. */
export function exactPercent(value: number): string {
  return `${(100 * value).toFixed(1)}%`;
}

/** A difference of probabilities in signed percentage points. */
export function points(effect: number, decimals = 0): string {
  const rounded = Number((100 * effect).toFixed(decimals));
  if (rounded === 0) return "0";
  return (rounded > 0 ? "+" : "−") + Math.abs(rounded).toFixed(decimals);
}

/** How alike two sentences are beside what is usual: the quarters of the matches of held-out sentences. */
export function likeness(step: Pick<Step, "similarity" | "unfamiliar">, usual: readonly number[] = []): string {
  const [low, high] = usual;
  if (step.unfamiliar) return "hardly alike";
  if (low === undefined || high === undefined) return "";
  if (step.similarity < low) return "less alike than usual";
  return step.similarity > high ? "more alike than usual" : "as alike as usual";
}

const TIE = 0.02;

/** Whether another prototype is as near, so that the match might as well be that one. */
export function isTie(step: Pick<Step, "similarity" | "runner_up_similarity">): boolean {
  return step.runner_up_similarity !== null && step.similarity - step.runner_up_similarity < TIE;
}

/** A row as a spreadsheet numbers it: the headings are row 1, and the server counts texts from 0. */
export function rowName(row: number): string {
  return `row ${(row + 2).toLocaleString("en")}`;
}

/** How a sentence is told to be like the one it is matched to. */
export function likeWords(step: { unfamiliar: boolean }): string {
  return step.unfamiliar ? "is unlike anything the model learned from; nearest is" : "is most like";
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Names in a row: “a”, “b” or “c”. */
export function listed(names: readonly string[], joint = "or"): string {
  const quoted = names.map((name) => `“${name}”`);
  if (quoted.length < 2) return quoted.join("");
  return `${quoted.slice(0, -1).join(", ")} ${joint} ${quoted.at(-1)}`;
}

/** The text cut to a number of characters, with an ellipsis where it was cut. */
export function shorten(text: string, limit: number): string {
  const marks = [...text];
  return marks.length <= limit ? text : `${marks.slice(0, limit - 1).join("").trimEnd()}…`;
}

/** The text broken into lines of at most `limit` characters, the last one cut if need be. */
export function lines(text: string, limit: number, most: number): string[] {
  const broken: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const joined = line ? `${line} ${word}` : word;
    if ([...joined].length <= limit) {
      line = joined;
      continue;
    }
    if (line) broken.push(line);
    line = word;
  }
  if (line) broken.push(line);
  if (broken.length > most) {
    const rest = broken.slice(most - 1).join(" ");
    return [...broken.slice(0, most - 1), shorten(rest, limit)];
  }
  return broken.map((each) => shorten(each, limit));
}

/** Where a character that the server counts by code points stands in a JavaScript string. */
export function unitOffset(text: string, codePoints: number): number {
  let units = 0;
  for (const mark of text) {
    if (codePoints-- <= 0) break;
    units += mark.length;
  }
  return units;
}

/** Whether prototypes are made of several sentences each; in the paper, of one. */
export function hasFamilies(counted: { n_members: number; n_prototypes: number }): boolean {
  return counted.n_members > counted.n_prototypes;
}

/** What a prototype is called. */
export function captionOf(prototype: { name: string | null; sentence: string }): string {
  return prototype.name ?? prototype.sentence;
}

/** Prototypes in a few words: its name, the words that mark it and few others, or its sentence. */
export function briefNames(prototypes: readonly { id: number; name: string | null; sentence: string; words: string[] }[]): Map<number, string> {
  const all = prototypes.flatMap((each) => each.words);
  const sharing = (word: string) => all.filter((each) => each === word).length;
  const own = (words: string[]) => [...words].sort((a, b) => sharing(a) - sharing(b)).slice(0, 3).join(", ");
  return new Map(prototypes.map((each) => [each.id, each.name ?? (own(each.words) || each.sentence)]));
}

/** The spread of class rates as if there were two classes: over many, most of which are 0, it would always be small. */
export function apartness(spread: number, classes: number): number {
  return spread * Math.sqrt(classes / 2);
}

/** How far a prototype's sentences agree, from the spread of their class rates; the same as in the reports. */
export function agreement(spread: number, classes: number): string {
  const apart = apartness(spread, classes);
  const words = apart < 0.1 ? "agree" : apart < 0.2 ? "mostly agree" : "differ";
  return `${words} (±${Math.round(100 * apart)})`;
}

/** The parts of a name such as comp.sys.mac.hardware, between which a line may end. */
export function nameParts(name: string): string[] {
  return name.split(/(?<=[._/])(?=[\p{L}\p{N}])/u);
}

/** What a mistake would be without the sentence to blame. */
export function withoutBlamed(label: string, confidence: number, effect: number): string {
  const then = Math.max(confidence - effect, 0);
  return `Without it, the model would be ${percent(then)} sure of “${label}” instead of ${percent(confidence)}.`;
}
