/* Where states and edges of an automaton lie, as in the reports: an arc diagram, from doubt to
   belief. And how a text walks through it. */
import type { Automaton, Pattern } from "./types";

export const RADIUS = 22;
const MARGIN = 60;
const LOOP = 32;
const FIRST = 58;
const FURTHER = 22;
const SIDE = 17;
const INNER = 5;

export interface Edge {
  source: number;
  target: number;
  prototypes: number[];
  traffic: number[];
  total: number;
}

export interface Arc {
  edge: Edge;
  path: string;
  tip: { x: number; y: number; down: boolean };
  label: { x: number; y: number };
  share: number;
}

export interface Layout {
  width: number;
  height: number;
  axis: number;
  spacing: number;
  places: number[];
  arcs: Arc[];
}

/** The ways between states that some text took, with the prototypes that lead along them. */
export function edgesOf(automaton: Automaton): Edge[] {
  const edges = new Map<string, Edge>();
  automaton.transitions.forEach((row, source) =>
    row.forEach((target, column) => {
      const count = automaton.traffic[source]?.[column] ?? 0;
      const key = `${source} ${target}`;
      const edge = edges.get(key) ?? { source, target, prototypes: [], traffic: [], total: 0 };
      edge.prototypes.push(automaton.prototypes[column]!);
      edge.traffic.push(count);
      edge.total += count;
      edges.set(key, edge);
    }),
  );
  return [...edges.values()];
}

/** Place the states side by side by rising belief; ways up run above them, ways down below. */
export function layOut(automaton: Automaton, alsoTaken: ReadonlySet<string> = new Set()): Layout {
  const n = automaton.states.length;
  const spacing = n <= 11 ? 112 : 90;
  const taken = edgesOf(automaton).filter((edge) => edge.total > 0 || alsoTaken.has(edgeKey(edge)));
  const up = Math.max(0, ...taken.map((edge) => edge.target - edge.source));
  const down = Math.max(0, ...taken.map((edge) => edge.source - edge.target));
  const axis = 20 + RADIUS + Math.max(heightOf(up), LOOP + 6) + 16;
  const width = Math.max(2 * MARGIN + spacing * (n - 1), 420);
  const first = (width - spacing * (n - 1)) / 2;
  const places = automaton.states.map((_, i) => first + spacing * i);
  const most = Math.max(1, ...taken.map((edge) => edge.total));
  const ports = portsOf(taken);
  const arcs = taken
    .sort((a, b) => a.total - b.total)
    .map((edge) => arcOf(edge, places, axis, ports.get(edgeKey(edge))!, edge.total / most));
  return { width, height: axis + RADIUS + heightOf(down) + 30, axis, spacing, places, arcs };
}

export function edgeKey(edge: { source: number; target: number }): string {
  return `${edge.source} ${edge.target}`;
}

function heightOf(span: number): number {
  return span ? FIRST + FURTHER * (span - 1) : 0;
}

/** Give every edge its own place on both circles, so that short arcs lie inside long ones. */
function portsOf(edges: Edge[]): Map<string, [number, number]> {
  const sides = new Map<string, Edge[]>();
  const put = (key: string, edge: Edge) => sides.set(key, [...(sides.get(key) ?? []), edge]);
  for (const edge of edges) {
    const span = edge.target - edge.source;
    if (!span) continue;
    put(`${edge.source} out ${span > 0}`, edge);
    put(`${edge.target} in ${span > 0}`, edge);
  }
  const ports = new Map(edges.map((edge): [string, [number, number]] => [edgeKey(edge), [0, 0]]));
  for (const [key, bundle] of sides) {
    const [, end, rises] = key.split(" ");
    // Arcs leave towards their target; that is to the right for those that rise.
    const side = (end === "out") === (rises === "true") ? 1 : -1;
    bundle.sort((a, b) => Math.abs(a.target - a.source) - Math.abs(b.target - b.source));
    bundle.forEach((edge, rank) => {
      const away = SIDE - (SIDE - INNER) * (rank / Math.max(bundle.length - 1, 1));
      ports.get(edgeKey(edge))![end === "out" ? 0 : 1] = side * away;
    });
  }
  return ports;
}

function arcOf(edge: Edge, places: number[], axis: number, ports: [number, number], share: number): Arc {
  const span = edge.target - edge.source;
  if (!span) return loopOf(edge, places[edge.source]!, axis, share);
  const up = span > 0 ? 1 : -1;
  const x1 = places[edge.source]! + ports[0];
  const x2 = places[edge.target]! + ports[1];
  const y1 = axis - up * rim(ports[0]);
  const y2 = axis - up * rim(ports[1]);
  const apex = axis - up * (RADIUS + heightOf(Math.abs(span)));
  // A cubic curve rises to three quarters of the way to its handles.
  const handle = ((apex - (y1 + y2) / 8) * 4) / 3;
  const path = `M${f(x1)} ${f(y1)}C${f(x1)} ${f(handle)} ${f(x2)} ${f(handle)} ${f(x2)} ${f(y2)}`;
  return { edge, path, tip: { x: x2, y: y2, down: up > 0 }, label: { x: (x1 + x2) / 2, y: apex + 4 - up * 9 }, share };
}

function loopOf(edge: Edge, x: number, axis: number, share: number): Arc {
  const y = axis - rim(INNER);
  const top = axis - RADIUS - (LOOP * 4) / 3;
  const path = `M${f(x - INNER)} ${f(y)}C${f(x - 22)} ${f(top)} ${f(x + 22)} ${f(top)} ${f(x + INNER)} ${f(y)}`;
  return { edge, path, tip: { x: x + INNER, y, down: true }, label: { x, y: axis - RADIUS - LOOP - 5 }, share };
}

function rim(dx: number): number {
  return Math.sqrt(RADIUS ** 2 - dx ** 2);
}

function f(value: number): string {
  return value.toFixed(1);
}

/** The states that a trajectory leads through, the start first; cut where a prototype is unknown. */
export function walk(automaton: Automaton, trajectory: number[]): number[] {
  const states = [automaton.start];
  for (const prototype of trajectory) {
    const column = automaton.prototypes.indexOf(prototype);
    const next = automaton.transitions[states.at(-1)!]?.[column];
    if (next === undefined) break;
    states.push(next);
  }
  return states;
}

/** The pattern that a trajectory begins with: the longest, or null. */
export function beginsWith(automaton: Automaton, trajectory: number[]): Pattern | null {
  const fitting = automaton.patterns.filter((pattern) =>
    pattern.prototypes.every((prototype, i) => trajectory[i] === prototype),
  );
  return fitting.sort((a, b) => b.prototypes.length - a.prototypes.length)[0] ?? null;
}

/** The edges between consecutive states. */
export function ways(states: number[]): string[] {
  return states.slice(1).map((target, i) => edgeKey({ source: states[i]!, target }));
}
