/* Which class a view shows, in which hue and shape: the same as in the package's reports. */
import type { Distribution } from "./types";

export const N_HUES = 8;

/** Colours of files that leave the page, where its style sheets do not reach. */
export const PRINTED_HUES = [
  "#1f67ad", "#a94e08", "#17724f", "#8a459a", "#766a10", "#a83e3b", "#176c7d", "#5f6771",
];

// One shape per hue, so that classes are told apart without colour. Unit paths.
const SHAPES: readonly (readonly [number, number])[][] = [
  [],
  [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
  [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  [[0, -1.2], [1.15, 0.9], [-1.15, 0.9]],
  [[0, 1.2], [1.15, -0.9], [-1.15, -0.9]],
  [[0, -1.2], [1.15, -0.35], [0.7, 1], [-0.7, 1], [-1.15, -0.35]],
  [[-1.2, -0.6], [1.2, -0.6], [1.2, 0.6], [-1.2, 0.6]],
  [[-0.6, -1.2], [0.6, -1.2], [0.6, 1.2], [-0.6, 1.2]],
];
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 3", "12 4", "1 4", "9 2 1 2 1 2"];

/** A class, its probability or score, and its hue. */
export interface Reading {
  label: string;
  value: number;
  hue: number;
}

/** One axis between two classes (`pole` is its upper end), or several classes (`pole` is null). */
export interface Scale {
  classes: string[];
  pole: string | null;
}

export function scaleOf(classes: string[], task = "multiclass"): Scale {
  // Two labels of a multi-label model do not add up to one, hence are no two ends of one axis.
  const oneAxis = classes.length === 1 || (classes.length === 2 && task !== "multilabel");
  return { classes, pole: oneAxis ? (classes.at(-1) ?? null) : null };
}

export function opposite(scale: Scale): string {
  return scale.classes.length === 2 ? scale.classes[0]! : `not ${scale.pole}`;
}

export function hueOf(scale: Scale, label: string): number {
  if (scale.pole !== null) return label === scale.pole ? 0 : 1;
  return Math.max(scale.classes.indexOf(label), 0) % N_HUES;
}

/** An answer's own hue, and that of what speaks against it: the other class, or of several all others, in grey. */
export function huesFor(scale: Scale, label: string): { given: number; other: number } {
  const given = hueOf(scale, label);
  if (scale.pole !== null) return { given, other: 1 - given };
  const grey = N_HUES - 1;
  return { given, other: given === grey ? 1 : grey };
}

/** The most probable class by its name. */
export function leading(scale: Scale, distribution: Distribution): Reading {
  if (scale.pole !== null) {
    const value = clamp(distribution[scale.pole] ?? 0);
    return value >= 0.5
      ? { label: scale.pole, value, hue: 0 }
      : { label: opposite(scale), value: 1 - value, hue: 1 };
  }
  let label = scale.classes[0] ?? "";
  for (const name of scale.classes) {
    if ((distribution[name] ?? 0) > (distribution[label] ?? 0)) label = name;
  }
  return { label, value: clamp(distribution[label] ?? 0), hue: hueOf(scale, label) };
}

export function dashes(hue: number): string {
  return DASHES[hue % N_HUES]!;
}

/** The path of a hue's mark. */
export function markPath(hue: number, x: number, y: number, radius: number): string {
  const shape = SHAPES[hue % N_HUES]!;
  if (!shape.length) {
    const r = radius.toFixed(2);
    return `M${(x - radius).toFixed(2)} ${y.toFixed(2)}a${r} ${r} 0 1 0 ${(2 * radius).toFixed(2)} 0a${r} ${r} 0 1 0 ${(-2 * radius).toFixed(2)} 0Z`;
  }
  return `${linePath(shape.map(([dx, dy]) => [x + radius * dx, y + radius * dy]))}Z`;
}

export function linePath(points: readonly (readonly [number, number])[]): string {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`).join("");
}

/** Places moved apart by at least a gap, kept in order and within bounds. */
export function spread(places: number[], gap: number, low: number, high: number): number[] {
  const order = places.map((_, i) => i).sort((a, b) => places[a]! - places[b]!);
  const moved = [...places];
  let floor = low;
  for (const i of order) {
    moved[i] = floor = Math.max(moved[i]!, floor);
    floor += gap;
  }
  let ceiling = high;
  for (const i of order.reverse()) {
    moved[i] = ceiling = Math.min(moved[i]!, ceiling);
    ceiling -= gap;
  }
  return moved;
}

export function clamp(value: number, low = 0, high = 1): number {
  return Math.min(Math.max(value, low), high);
}
