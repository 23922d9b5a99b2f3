/* Where the line of a trajectory lies: pure geometry, for the page and for saved pictures. */
import { clamp, hueOf, leading, linePath, spread, type Scale } from "./scale";
import type { Explanation } from "./types";
import { percent } from "./wording";

export interface Frame {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
  step: number;
  x: (place: number) => number;
  y: (share: number) => number;
}

export interface Line {
  label: string;
  hue: number;
  strong: boolean;
  values: number[];
  path: string;
  /** Where the line's name stands. */
  labelY: number;
}

export interface Dot {
  x: number;
  y: number;
  hue: number;
  radius: number;
}

/** The plot's frame; several classes need room at the right for their names. */
export function frameOf(width: number, height: number, count: number, scale: Scale): Frame {
  const longest = Math.max(...scale.classes.map((name) => [...name].length), 1);
  const names = Math.min(Math.max(longest, 6) * 6.8 + 58, width * 0.38);
  const left = 42;
  const right = Math.max(width - (scale.pole === null ? names : 66), left + 40);
  const top = scale.pole === null ? 14 : 26;
  const bottom = height - (scale.pole === null ? 26 : 42);
  const step = count > 1 ? (right - left - 16) / (count - 1) : 0;
  return {
    width, height, left, right, top, bottom, step,
    x: (place) => (count > 1 ? left + 8 + place * step : (left + right) / 2),
    y: (share) => bottom - clamp(share) * (bottom - top),
  };
}

// Of more classes, those likeliest at the end have a line: the names of others would lie on one another.
const MOST_LINES = 6;

/** The lines of the running probabilities, the winner's last, so that it lies on top. */
export function linesOf(explanation: Explanation, scale: Scale, frame: Frame): Line[] {
  const chance = (label: string) => explanation.probabilities[label] ?? 0;
  const likeliest = () => [...scale.classes].sort((a, b) => chance(b) - chance(a)).slice(0, MOST_LINES);
  const names = scale.pole !== null ? [scale.pole] : likeliest();
  const winner = scale.pole ?? leading(scale, explanation.probabilities).label;
  const drawn = names.map((label) => {
    const values = explanation.sentences.map((step) => step.running[label] ?? 0);
    return { label, hue: hueOf(scale, label), strong: label === winner, values, path: pathOf(values, frame), labelY: 0 };
  });
  const ends = drawn.map((line) => frame.y(line.values.at(-1) ?? 0));
  const places = spread(ends, 15, frame.top - 4, frame.bottom - 2);
  drawn.forEach((line, i) => (line.labelY = places[i]!));
  return drawn.sort((a, b) => Number(a.strong) - Number(b.strong));
}

function pathOf(values: number[], frame: Frame): string {
  if (values.length === 1) {
    const x = frame.x(0);
    const y = frame.y(values[0]!);
    return linePath([[x - 28, y], [x + 28, y]]);
  }
  return linePath(values.map((value, i) => [frame.x(i), frame.y(value)]));
}

/** The surface between the line and one half, on one side of it. */
export function areaOf(values: number[], frame: Frame, above: boolean): string {
  if (values.length < 2) return "";
  const edge: [number, number][] = [];
  values.forEach((value, i) => {
    const before = i ? values[i - 1]! : value;
    if ((before - 0.5) * (value - 0.5) < 0) {
      const part = (0.5 - before) / (value - before);
      edge.push([frame.x(i - 1) + part * frame.step, frame.y(0.5)]);
    }
    edge.push([frame.x(i), frame.y(above ? Math.max(value, 0.5) : Math.min(value, 0.5))]);
  });
  const base: [number, number][] = [
    [frame.x(values.length - 1), frame.y(0.5)],
    [frame.x(0), frame.y(0.5)],
  ];
  return `${linePath([...edge, ...base])}Z`;
}

/** One mark per sentence, on the strong line, in the hue of what its prototype speaks for. */
export function dotsOf(explanation: Explanation, scale: Scale, frame: Frame): Dot[] {
  const winner = scale.pole ?? leading(scale, explanation.probabilities).label;
  const radius = explanation.sentences.length > 1 ? clamp(frame.step / 3, 1.6, 5.5) : 5.5;
  return explanation.sentences.map((step, i) => ({
    x: frame.x(i),
    y: frame.y(step.running[winner] ?? 0),
    hue: leading(scale, step.scores).hue,
    radius,
  }));
}

/** A level of the axis: between two classes, how sure the model is of the one that lies that way. */
export function levelOf(share: number, scale: Scale): string {
  return percent(scale.pole === null ? share : Math.max(share, 1 - share));
}

/** Which sentences are numbered below the plot, so that the numbers do not touch. */
export function numbered(count: number, frame: Frame): number[] {
  const apart = count > 1 ? Math.max(Math.ceil(24 / frame.step), 1) : 1;
  return Array.from({ length: count }, (_, i) => i).filter((i) => i % apart === 0);
}
