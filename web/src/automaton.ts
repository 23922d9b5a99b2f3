/* Where states and edges of an automaton lie: a ladder of belief, with arcs that climb at its right
   and fall at its left. And how a text walks through it. */
import { spread } from "./scale";
import type { Automaton, Pattern } from "./types";

export const RADIUS = 22;
const MARGIN = 26;
const SPACING = 78;
const NEAREST = 16;
const FURTHER = 15;
const LINE = 15;
const LEAST_NAMED = 112;
const MOST_NAMED = 9;
const SIDE = 15;
const INNER = 4;

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
  tip: { x: number; y: number; rises: boolean };
  /** Where its words stand, and from where a line leads to them; null for arcs that are too rare. */
  label: { x: number; y: number; from: { x: number; y: number } } | null;
  share: number;
}

export interface Layout {
  width: number;
  height: number;
  /** Where the circles stand, from the first state to the last. */
  axis: number;
  places: number[];
  arcs: Arc[];
  /** Pixels that the words at either side may take. */
  room: number;
  /** Height of the line from which on the answer is given, how far it reaches from the axis, and where its words stand. */
  given: { y: number; reach: number; label: { x: number; y: number } } | null;
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

/** Place the states above each other by rising belief; those most often taken, and some others, are named. */
export function layOut(automaton: Automaton, width: number, alsoNamed: ReadonlySet<string> = new Set()): Layout {
  const n = automaton.states.length;
  const height = 2 * (MARGIN + RADIUS) + SPACING * (n - 1);
  const axis = width / 2;
  const places = automaton.states.map((_, i) => height - MARGIN - RADIUS - SPACING * i);
  const taken = edgesOf(automaton).filter((edge) => edge.source !== edge.target && (edge.total > 0 || alsoNamed.has(edgeKey(edge))));
  const most = Math.max(1, ...taken.map((edge) => edge.total));
  const widest = width / 2 - RADIUS - LEAST_NAMED;
  const ports = portsOf(taken);
  const arcs = taken
    .sort((a, b) => a.total - b.total)
    .map((edge) => arcOf(edge, places, axis, ports.get(edgeKey(edge))!, edge.total / most, widest));
  const reach = Math.max(0, ...arcs.map((arc) => Math.abs(arc.apex.x - axis)));
  const first = automaton.states.findIndex((state) => state.accepting);
  const line = first > 0 ? places[first]! + SPACING / 2 : null;
  let given: Layout["given"] = null;
  for (const side of [true, false]) {
    const own = arcs.filter((arc) => arc.edge.target > arc.edge.source === side);
    const named = own.filter((arc, i) => own.length - i <= MOST_NAMED || alsoNamed.has(edgeKey(arc.edge)));
    // The words of the line stand among those of the arcs that fall, so that none lies on another.
    const wanted = [...named.map((arc) => arc.apex.y + 4), ...(!side && line !== null ? [line - 4] : [])];
    const ys = spread(wanted, LINE, 12, height - 6);
    const x = axis + (side ? 1 : -1) * (reach + 12);
    if (!side && line !== null) given = { y: line, reach: reach + 8, label: { x, y: ys.at(-1)! } };
    named.forEach((arc, i) => (arc.label = { x, y: ys[i]!, from: arc.apex }));
  }
  return { width, height, axis, places, arcs, room: width / 2 - reach - 14, given };
}

export function edgeKey(edge: { source: number; target: number }): string {
  return `${edge.source} ${edge.target}`;
}

/** Give every edge its own place on both circles, so that short arcs lie inside long ones. */
function portsOf(edges: Edge[]): Map<string, [number, number]> {
  const sides = new Map<string, Edge[]>();
  const put = (key: string, edge: Edge) => sides.set(key, [...(sides.get(key) ?? []), edge]);
  for (const edge of edges) {
    put(`${edge.source} out ${edge.target > edge.source}`, edge);
    put(`${edge.target} in ${edge.target > edge.source}`, edge);
  }
  const ports = new Map(edges.map((edge): [string, [number, number]] => [edgeKey(edge), [0, 0]]));
  for (const [key, bundle] of sides) {
    const [, end, rises] = key.split(" ");
    // Arcs leave towards their target; that is upwards for those that rise.
    const side = (end === "out") === (rises === "true") ? -1 : 1;
    bundle.sort((a, b) => Math.abs(a.target - a.source) - Math.abs(b.target - b.source));
    bundle.forEach((edge, rank) => {
      const away = SIDE - (SIDE - INNER) * (rank / Math.max(bundle.length - 1, 1));
      ports.get(edgeKey(edge))![end === "out" ? 0 : 1] = side * away;
    });
  }
  return ports;
}

function arcOf(edge: Edge, places: number[], axis: number, ports: [number, number], share: number, widest: number): Arc & { apex: { x: number; y: number } } {
  const side = edge.target > edge.source ? 1 : -1;
  const y1 = places[edge.source]! + ports[0];
  const y2 = places[edge.target]! + ports[1];
  const x1 = axis + side * rim(ports[0]);
  const x2 = axis + side * rim(ports[1]);
  const span = Math.abs(edge.target - edge.source);
  const bulge = RADIUS + Math.min(NEAREST + FURTHER * (span - 1), Math.max(widest, NEAREST));
  // A cubic curve goes three quarters of the way to its handles.
  const handle = ((axis + side * bulge - (x1 + x2) / 8) * 4) / 3;
  const path = `M${f(x1)} ${f(y1)}C${f(handle)} ${f(y1)} ${f(handle)} ${f(y2)} ${f(x2)} ${f(y2)}`;
  return { edge, path, tip: { x: x2, y: y2, rises: side > 0 }, label: null, share, apex: { x: axis + side * bulge, y: (y1 + y2) / 2 } };
}

function rim(dy: number): number {
  return Math.sqrt(RADIUS ** 2 - dy ** 2);
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
