/* The running probability over the sentences. */
import { useWidth } from "../hooks";
import { dashes, leading, markPath, opposite, type Scale } from "../scale";
import { areaOf, dotsOf, frameOf, levelOf, linesOf, numbered } from "../trajectory";
import type { Explanation } from "../types";
import { percent, plural, shorten } from "../wording";

interface Props {
  explanation: Explanation;
  scale: Scale;
  /** The text as it was before a sentence was changed. */
  ghost?: Explanation | null;
  selected?: number | null;
  select?: (place: number) => void;
  height?: number;
}

export function TrajectoryChart({ explanation, scale, ghost, selected = null, select, height = 250 }: Props) {
  const [attach, width] = useWidth(560);
  const count = explanation.sentences.length;
  const frame = frameOf(width, height, count, scale);
  const lines = linesOf(explanation, scale, frame);
  const strong = lines.at(-1)!;
  const dots = dotsOf(explanation, scale, frame);
  const before = ghost?.sentences.length ? ghostLine(ghost, scale, width, height, strong.label) : null;
  const name = leading(scale, explanation.probabilities);
  const title = `${name.label} ${percent(name.value)} after ${plural(count, "sentence")}`;
  const wide = frame.step || frame.right - frame.left;
  return (
    <div class="trajectory" ref={attach}>
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={described(explanation, scale, title)}>
        {[0, 0.5, 1].map((share) => (
          <line key={share} class={share === 0.5 ? "grid middle" : "grid"} x1={frame.left} x2={frame.right} y1={frame.y(share)} y2={frame.y(share)} />
        ))}
        {scale.pole !== null ? (
          <>
            <EndLabel x={frame.left} y={frame.top - 9} hue={0} name={scale.pole} />
            <EndLabel x={frame.left} y={frame.bottom + 17} hue={1} name={opposite(scale)} />
            <path class="area hue-0" d={areaOf(strong.values, frame, true)} />
            <path class="area hue-1" d={areaOf(strong.values, frame, false)} />
          </>
        ) : null}
        {[0, 0.5, 1].map((share) => (
          <text key={share} class="tick level" x={frame.left - 6} y={frame.y(share) + 4}>{levelOf(share, scale)}</text>
        ))}
        <text class="tick" x={frame.right + 8} y={height - 6}>sentence</text>
        {selected !== null && selected < count && (
          <line class="pointer" x1={frame.x(selected)} x2={frame.x(selected)} y1={frame.top} y2={frame.bottom} />
        )}
        {before && <path class="ghost" d={before} />}
        {lines.map((line) => (
          <path
            key={line.label}
            class={`line ${scale.pole !== null ? "ink" : `hue-${line.hue}`} ${line.strong ? "strong" : ""}`}
            d={line.path}
            stroke-dasharray={line.strong ? undefined : dashes(line.hue)}
          />
        ))}
        {dots.map((dot, i) => (
          <path key={i} class={`dot hue-${dot.hue} ${i === selected ? "selected" : ""}`} d={markPath(dot.hue, dot.x, dot.y, i === selected ? dot.radius + 2 : dot.radius)} />
        ))}
        {scale.pole !== null ? (
          <text class={`end hue-${name.hue}`} x={frame.right + 8} y={frame.y(strong.values.at(-1) ?? 0) + 4}>{percent(name.value)}</text>
        ) : (
          lines.map((line) => (
            <g key={line.label} class={`end-name ${line.strong ? "strong" : ""}`}>
              <path class={`dot hue-${line.hue}`} d={markPath(line.hue, frame.right + 10, line.labelY, 3.8)} />
              <text x={frame.right + 20} y={line.labelY + 4}>
                {shorten(line.label, Math.max(Math.floor((frame.width - frame.right - 54) / 6.6), 4))} {percent(line.values.at(-1) ?? 0)}
              </text>
            </g>
          ))
        )}
        {numbered(count, frame).map((i) => (
          <text key={i} class={`tick number ${i === selected ? "selected" : ""}`} x={frame.x(i)} y={height - 6}>{i + 1}</text>
        ))}
        {select &&
          dots.map((dot, i) => (
            <rect
              key={i}
              class="catch"
              x={dot.x - wide / 2}
              y={0}
              width={wide}
              height={height}
              onPointerEnter={() => select(i)}
              onPointerDown={() => select(i)}
            />
          ))}
      </svg>
    </div>
  );
}

function EndLabel({ x, y, hue, name }: { x: number; y: number; hue: number; name: string }) {
  return (
    <g class="axis-name">
      <path class={`dot hue-${hue}`} d={markPath(hue, x + 5, y - 4, 4)} />
      <text x={x + 15} y={y}>{hue === 0 ? "↑" : "↓"} {shorten(name, 40)}</text>
    </g>
  );
}

function ghostLine(ghost: Explanation, scale: Scale, width: number, height: number, label: string): string {
  const frame = frameOf(width, height, ghost.sentences.length, scale);
  const lines = linesOf(ghost, scale, frame);
  return (lines.find((line) => line.label === label) ?? lines.at(-1)!).path;
}

function described(explanation: Explanation, scale: Scale, title: string): string {
  const steps = explanation.sentences.slice(0, 20).map((step, i) => {
    const so = leading(scale, step.running);
    return `after sentence ${i + 1} ${so.label} ${percent(so.value)}`;
  });
  return `${title}: ${steps.join(", ")}`;
}
