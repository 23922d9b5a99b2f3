/* An automaton as a picture: levels of belief, and the sentences that lead from one to the next. */
import { edgeKey, RADIUS, type Arc, type Layout } from "../automaton";
import { linePath } from "../scale";
import type { Automaton } from "../types";
import { percent, shorten } from "../wording";

const FAINT = 0.01;

interface Props {
  automaton: Automaton;
  layout: Layout;
  /** The hues of the answer, and of what speaks against it. */
  hues: { given: number; other: number };
  sentences: Map<number, string>;
  /** Edges that are pointed out. */
  marked: ReadonlySet<string>;
  /** The edge of the step just taken. */
  current: string | null;
  /** The state that is stood in. */
  state: number | null;
}

export function AutomatonPicture({ automaton, layout, hues, sentences, marked, current, state }: Props) {
  const isMarked = (arc: Arc) => marked.has(edgeKey(arc.edge));
  // What is pointed out lies on top.
  const arcs = [...layout.arcs].sort((a, b) => Number(isMarked(a)) - Number(isMarked(b)));
  const quiet = marked.size > 0;
  const start = layout.places[automaton.start]!;
  return (
    <g class="automaton">
      {arcs.map((arc) => {
        const key = edgeKey(arc.edge);
        return (
          <Way
            key={key}
            {...{ arc, hues }}
            sentences={sentences}
            look={key === current ? "current" : isMarked(arc) ? "marked" : quiet ? "quiet" : ""}
          />
        );
      })}
      <g class="start">
        <path d={linePath([[start - RADIUS - 26, layout.axis], [start - RADIUS - 4, layout.axis]])} />
        <path class="head" d={`${linePath([[start - RADIUS - 2, layout.axis], [start - RADIUS - 11, layout.axis - 5], [start - RADIUS - 11, layout.axis + 5]])}Z`} />
        <text x={start - RADIUS - 27} y={layout.axis - 6}>start</text>
      </g>
      {automaton.states.map((each, i) => (
        <g key={each.number} class={`state hue-${each.accepting ? hues.given : hues.other} ${each.number === state ? "here" : ""}`}>
          <title>
            {`State ${each.number}: mean belief in “${automaton.label}” ${percent(each.belief)}, visited ${each.visits.toLocaleString("en")} times. A text that ends here is ${each.accepting ? "" : "not "}“${automaton.label}”.`}
          </title>
          <circle class="ground" cx={layout.places[i]} cy={layout.axis} r={RADIUS} />
          <circle class="ring" cx={layout.places[i]} cy={layout.axis} r={RADIUS} />
          {each.accepting && <circle class="ring inner" cx={layout.places[i]} cy={layout.axis} r={RADIUS - 4} />}
          <text class="belief" x={layout.places[i]} y={layout.axis + 5}>{percent(each.belief)}</text>
        </g>
      ))}
      {arcs
        .filter((arc) => (isMarked(arc) || arc.share >= FAINT) && (!quiet || isMarked(arc)))
        .map((arc) => (
          <text key={edgeKey(arc.edge)} class={`way-label ${isMarked(arc) ? "marked" : ""}`} x={arc.label.x} y={arc.label.y}>
            {idsOf(arc, layout.spacing)}
          </text>
        ))}
    </g>
  );
}

function Way({ arc, hues, sentences, look }: Pick<Props, "hues" | "sentences"> & { arc: Arc; look: string }) {
  const { edge, share, tip } = arc;
  const way = edge.source === edge.target ? "stays" : `hue-${edge.target > edge.source ? hues.given : hues.other}`;
  // Most sentences change nothing; drawn to scale, loops would hide everything else.
  const weight = share < FAINT ? 1 : 1 + (way === "stays" ? 2 : 6) * Math.sqrt(share);
  const size = 3 + weight;
  const back = tip.down ? -size * 1.5 : size * 1.5;
  const head = linePath([[tip.x, tip.y], [tip.x - size * 0.8, tip.y + back], [tip.x + size * 0.8, tip.y + back]]);
  return (
    <g class={`way ${way} ${look}`}>
      <title>{describeArc(arc, sentences)}</title>
      <path class="curve" d={arc.path} stroke-width={weight} stroke-dasharray={share < FAINT ? "3 3" : undefined} />
      <path class="head" d={`${head}Z`} />
    </g>
  );
}

function describeArc({ edge }: Arc, sentences: Map<number, string>): string {
  const named = edge.prototypes
    .map((id, i) => ({ id, count: edge.traffic[i]! }))
    .filter((each) => each.count)
    .sort((a, b) => b.count - a.count)
    .map((each) => `${each.id} (${each.count.toLocaleString("en")}): ${shorten(sentences.get(each.id) ?? "", 100)}`);
  return [`${edge.total.toLocaleString("en")} sentences like:`, ...named].join("\n");
}

function idsOf({ edge }: Arc, spacing: number): string {
  const ids = edge.prototypes
    .map((id, i) => ({ id, count: edge.traffic[i]! }))
    .filter((each) => each.count || edge.total === 0)
    .sort((a, b) => b.count - a.count)
    .map((each) => String(each.id));
  const room = Math.floor((spacing - 24) / 6.4);
  const shown = [...ids];
  const written = () => shown.join(" ") + (ids.length > shown.length ? ` +${ids.length - shown.length}` : "");
  while (shown.length > 1 && written().length > room) shown.pop();
  return written();
}
