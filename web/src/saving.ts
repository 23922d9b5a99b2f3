/* A reading as a file of its own: a page without scripts, or a picture. */
import { leading, linePath, markPath, opposite, PRINTED_HUES, dashes, type Scale } from "./scale";
import { areaOf, dotsOf, frameOf, levelOf, linesOf, numbered } from "./trajectory";
import type { Explanation } from "./types";
import { likeWords, lines as broken, percent, points, shorten } from "./wording";

const FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const INK = "#1d2127";
const SOFT = "#5c6067";
// Neither XML nor HTML can carry these, not even escaped.
const UNWRITABLE = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]/g;

export function escaped(text: string): string {
  const clean = text.toWellFormed().replace(UNWRITABLE, "\ufffd");
  return clean.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);
}

/** The trajectory with the sentences beneath, as an SVG that needs nothing else. */
export function pictureSvg(explanation: Explanation, scale: Scale, width = 960): { svg: string; height: number } {
  const plot = 260;
  const margin = 28;
  const parts: string[] = [];
  const name = leading(scale, explanation.probabilities);
  parts.push(text(`The model’s answer: ${name.label}, ${percent(name.value)}`, margin, 44, `font-size="20" font-weight="700"`));
  parts.push(`<g transform="translate(${margin - 14} 60)">${plotParts(explanation, scale, width - 2 * margin + 14, plot).join("")}</g>`);
  let y = 60 + plot + 34;
  const columns = Math.floor((width - 2 * margin - 170) / 7.6);
  explanation.sentences.forEach((step, i) => {
    const said = broken(`${i + 1}  ${step.text}`, columns, 4);
    const like = broken(`${likeWords(step)} “${step.prototype_sentence}”`, Math.floor(columns * 1.08), 2);
    const so = leading(scale, step.running);
    const height = said.length * 21 + like.length * 18;
    parts.push(`<rect x="${margin}" y="${y - 15}" width="4" height="${height}" fill="${PRINTED_HUES[leading(scale, step.scores).hue]}"/>`);
    parts.push(text(`so far “${shorten(so.label, 16)}” ${percent(so.value)}`, width - margin, y, `font-size="13" fill="${SOFT}" text-anchor="end"`));
    said.forEach((line, n) => parts.push(text(line, margin + 16, y + 21 * n, `font-size="15"`)));
    like.forEach((line, n) => parts.push(text(line, margin + 16, y + 21 * said.length + 18 * n - 1, `font-size="13" font-style="italic" fill="${SOFT}"`)));
    y += height + 14;
  });
  const height = y + 10;
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="${FONTS}" fill="${INK}">`;
  return { svg: `${head}<rect width="100%" height="100%" fill="#ffffff"/>${parts.join("")}</svg>`, height };
}

function plotParts(explanation: Explanation, scale: Scale, width: number, height: number): string[] {
  const count = explanation.sentences.length;
  const frame = frameOf(width, height, count, scale);
  const drawn = linesOf(explanation, scale, frame);
  const strong = drawn.at(-1)!;
  const parts = [0, 0.5, 1].map(
    (share) => `<path d="${linePath([[frame.left, frame.y(share)], [frame.right, frame.y(share)]])}" stroke="#d5d2ca"${share === 0.5 ? ' stroke-dasharray="4 4"' : ""}/>`,
  );
  if (scale.pole !== null) {
    parts.push(text(`↑ ${scale.pole}`, frame.left, frame.top - 9, `font-size="13" fill="${SOFT}"`));
    parts.push(text(`↓ ${opposite(scale)}`, frame.left, frame.bottom + 17, `font-size="13" fill="${SOFT}"`));
    for (const hue of [0, 1]) {
      parts.push(`<path d="${areaOf(strong.values, frame, hue === 0)}" fill="${PRINTED_HUES[hue]}" fill-opacity=".15"/>`);
    }
  }
  for (const line of drawn) {
    const colour = scale.pole !== null ? INK : PRINTED_HUES[line.hue];
    const style = line.strong ? `stroke-width="2.5"` : `stroke-width="1.3" stroke-opacity=".6" stroke-dasharray="${dashes(line.hue)}"`;
    parts.push(`<path d="${line.path}" fill="none" stroke="${colour}" ${style}/>`);
    const shown = scale.pole !== null ? percent(leading(scale, explanation.probabilities).value) : `${shorten(line.label, 22)} ${percent(line.values.at(-1) ?? 0)}`;
    parts.push(text(shown, frame.right + 10, line.labelY + 4, `font-size="13" font-weight="${line.strong ? 700 : 400}"`));
  }
  for (const dot of dotsOf(explanation, scale, frame)) {
    parts.push(`<path d="${markPath(dot.hue, dot.x, dot.y, dot.radius)}" fill="${PRINTED_HUES[dot.hue]}"/>`);
  }
  for (const share of [0, 0.5, 1]) {
    parts.push(text(levelOf(share, scale), frame.left - 6, frame.y(share) + 4, `font-size="12" fill="${SOFT}" text-anchor="end"`));
  }
  for (const i of numbered(count, frame)) {
    parts.push(text(String(i + 1), frame.x(i), height - 6, `font-size="12" fill="${SOFT}" text-anchor="middle"`));
  }
  return parts;
}

function text(content: string, x: number, y: number, attributes: string): string {
  return `<text x="${x}" y="${y}" xml:space="preserve" ${attributes}>${escaped(content)}</text>`;
}

/** The reading as a page that can be mailed and opened offline. */
export function readingPage(explanation: Explanation, scale: Scale, model: string, decided: string | null, families = false): string {
  const name = leading(scale, explanation.probabilities);
  const width = 900;
  const plot = plotParts(explanation, scale, width, 260).join("");
  const steps = explanation.sentences.map((step) => {
    const so = leading(scale, step.running);
    const hue = PRINTED_HUES[leading(scale, step.scores).hue];
    return `<li style="border-color:${hue}"><p>${escaped(step.text)}</p><p class="soft">${likeWords(step)} <q>${escaped(step.prototype_sentence)}</q> (${families ? "of " : ""}prototype ${step.prototype}${families ? ` “${escaped(step.headline)}”` : ""}, similarity ${step.similarity.toFixed(2)})</p><p class="soft">so far “${escaped(so.label)}” ${percent(so.value)}; left out, the answer loses ${points(step.effect)} points</p></li>`;
  });
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"><title>${escaped(name.label)}: a text as the model “${escaped(model)}” reads it</title>
<style>body{font:1rem/1.5 ${FONTS};color:${INK};background:#f7f6f3;margin:0;padding:clamp(1rem,4vw,3rem)}main{max-width:60rem;margin:auto}h1{line-height:1.2}svg{width:100%;height:auto;background:#fff;border:1px solid #e4e1da;border-radius:.75rem}ol{padding:0}li{list-style:none;border-left:.25rem solid;padding:0 0 0 .9rem;margin:1.1rem 0;overflow-wrap:anywhere}p{margin:.15rem 0}.soft{color:${SOFT};font-size:.92rem}q{font-style:italic}</style>
<main><h1>The model’s answer: ${escaped(name.label)}, ${percent(name.value)}</h1>
<p>Each sentence is matched to ${families ? "the one it resembles most of the" : "a prototype: of the few"} real sentences that the model “${escaped(model)}” keeps from the texts it learned from${families ? ", and counts as the prototype that this one belongs to" : ", the one it resembles most"}. The model decides from this sequence.</p>${decided ? `<p>${escaped(decided)}</p>` : ""}
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} 260" role="img" aria-label="The probability after each sentence" fill="${INK}">${plot}</svg>
<ol>${steps.join("\n")}</ol></main></html>
`;
}

/** Draw an SVG on a canvas. */
export async function picturePng(svg: string, width: number, height: number): Promise<Blob> {
  const scale = Math.min(2, 16_000 / height);
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) =>
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture could not be drawn."))), "image/png"),
    );
  } finally {
    URL.revokeObjectURL(address);
  }
}
