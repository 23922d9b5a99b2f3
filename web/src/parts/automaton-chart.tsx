/* An automaton as a picture: a ladder of belief, and the sentences that lead up and down. */
import { edgeKey, RADIUS, type Arc, type Layout } from "../automaton";
import { linePath } from "../scale";
import type { Automaton } from "../types";
import { percent, shorten } from "../wording";

const FAINT = 0.01;
const LETTER = 8; // pixels, where it is bold; the chart has a margin for wide ones

/** What a prototype is called, in full and in a few words, and how far alone it speaks for the answer. */
export interface Named {
  whole: string;
  brief: string;
  score: number;
}

interface Props {
  automaton: Automaton;
  layout: Layout;
  label: string;
  /** The hues of the answer, and of what speaks against it. */
  hues: { given: number; other: number };
  names: Map<number, Named>;
  /** Edges that are pointed out. */
  marked: ReadonlySet<string>;
  /** The edge of the step just taken. */
  current: string | null;
  /** The state that is stood in. */
  state: number | null;
}

export function AutomatonPicture({ automaton, layout, label, hues, names, marked, current, state }: Props) {
  const { axis, places, width, height, given } = layout;
  const isMarked = (arc: Arc) => marked.has(edgeKey(arc.edge));
  // What is pointed out lies on top.
  const arcs = [...layout.arcs].sort((a, b) => Number(isMarked(a)) - Number(isMarked(b)));
  const quiet = marked.size > 0;
  const start = places[automaton.start]!;
  return (
    <svg class="automaton" viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={label}>
      {given !== null && (
        <g class="given">
          <line x1={axis - given.reach} x2={axis + given.reach} y1={given.y} y2={given.y} />
          <text x={given.label.x} y={given.label.y}>{givenWords(automaton.label, Math.floor(layout.room / LETTER))}</text>
        </g>
      )}
      {arcs.map((arc) => {
        const key = edgeKey(arc.edge);
        return <Way key={key} {...{ arc, hues, names }} look={key === current ? "current" : isMarked(arc) ? "marked" : quiet ? "quiet" : ""} />;
      })}
      {automaton.states.map((each, i) => (
        <g key={each.number} class={`state hue-${each.accepting ? hues.given : hues.other} ${each.number === state ? "here" : ""}`}>
          <title>
            {`Mean belief in “${automaton.label}” ${percent(each.belief)}, visited ${each.visits.toLocaleString("en")} times. A text that ends here is ${each.accepting ? "" : "not "}“${automaton.label}”.`}
          </title>
          <circle class="ground" cx={axis} cy={places[i]} r={RADIUS} />
          <circle class="ring" cx={axis} cy={places[i]} r={RADIUS} />
          <text class="belief" x={axis} y={places[i]! + 5}>{percent(each.belief)}</text>
        </g>
      ))}
      <text class="start" x={axis} y={start + RADIUS + 12}>start</text>
      {arcs
        .filter((arc) => arc.label)
        .map((arc) => {
          const { x, y, from } = arc.label!;
          const rises = arc.tip.rises;
          return (
            <g key={edgeKey(arc.edge)} class={`way-label ${isMarked(arc) ? "marked" : quiet ? "faded" : ""} ${rises ? "rises" : "falls"}`}>
              <line x1={from.x + (rises ? 1 : -1)} y1={from.y} x2={x - (rises ? 3 : -3)} y2={y - 4} />
              <text x={x} y={y}>{wordsOf(arc, names, Math.floor(layout.room / LETTER))}</text>
            </g>
          );
        })}
    </svg>
  );
}

function Way({ arc, hues, names, look }: Pick<Props, "hues" | "names"> & { arc: Arc; look: string }) {
  const { share, tip } = arc;
  const weight = share < FAINT ? 1 : 1 + 5 * Math.sqrt(share);
  const size = 3 + weight;
  const back = tip.rises ? size * 1.5 : -size * 1.5;
  const head = linePath([[tip.x, tip.y], [tip.x + back, tip.y - size * 0.8], [tip.x + back, tip.y + size * 0.8]]);
  return (
    <g class={`way hue-${tip.rises ? hues.given : hues.other} ${look}`}>
      <title>{describeArc(arc, names)}</title>
      <path class="curve" d={arc.path} stroke-width={weight} stroke-dasharray={share < FAINT ? "3 3" : undefined} />
      <path class="head" d={`${head}Z`} />
    </g>
  );
}

function givenWords(label: string, room: number): string {
  const whole = `↑ “${label}” given`;
  return whole.length <= room ? whole : "↑ given";
}

/** The prototypes that lead along an edge: first those that do so often, and alone speak for where it leads. */
export function leadersOf({ edge, tip }: Pick<Arc, "edge" | "tip">, names: Map<number, Named>): { id: number; count: number }[] {
  const weight = ({ id, count }: { id: number; count: number }) => {
    const score = names.get(id)?.score ?? 0.5;
    return count * (tip.rises ? score : 1 - score);
  };
  return edge.prototypes
    .map((id, i) => ({ id, count: edge.traffic[i]! }))
    .filter((each) => each.count || edge.total === 0)
    .sort((a, b) => weight(b) - weight(a));
}

function describeArc(arc: Arc, names: Map<number, Named>): string {
  const named = leadersOf(arc, names).map((each) => `${each.count.toLocaleString("en")}: ${shorten(names.get(each.id)?.whole ?? "", 100)}`);
  return [`${arc.edge.total.toLocaleString("en")} sentences like:`, ...named].join("\n");
}

export function wordsOf(arc: Pick<Arc, "edge" | "tip">, names: Map<number, Named>, most: number): string {
  const leaders = leadersOf(arc, names);
  const more = leaders.length > 1 ? ` +${leaders.length - 1}` : "";
  const brief = names.get(leaders[0]!.id)?.brief ?? `prototype ${leaders[0]!.id}`;
  const room = Math.max(most - more.length, 6);
  // Whole words, those that there is room for.
  const fitting = brief.split(", ").reduce((before, word) => {
    const joined = before ? `${before}, ${word}` : word;
    return joined.length <= room ? joined : before;
  }, "");
  return (fitting || shorten(brief, room)) + more;
}
