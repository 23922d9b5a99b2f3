/* Texts to try: real ones where the server has a table, else made of the model's own sentences. */
import { ask, modelPath, query } from "./api";
import type { DocumentView } from "./desk";
import { leading, type Scale } from "./scale";
import type { Explanation, Model, Page, Prototype } from "./types";

interface Row {
  row: number;
  label: string;
  n_characters: number;
  split: string | null;
}

const TRIED = 6;
const SHORTEST = 60;
const LONGEST = 600;

export async function examplesFor(model: Model, scale: Scale): Promise<string[]> {
  const texts = model.has_data === false ? [] : await fromTable(model, scale);
  if (texts.length) return texts;
  const { prototypes } = await ask<{ prototypes: Prototype[] }>(modelPath(model.name, "prototypes"));
  return fromPrototypes(prototypes, scale);
}

async function fromTable(model: Model, scale: Scale): Promise<string[]> {
  try {
    const found = await ask<Page<Row>>(modelPath(model.name, "documents") + query({ size: 200 }));
    const rows = fittingRows(found.items, model);
    const path = (row: Row) => modelPath(model.name, "documents", row.row);
    const documents = await Promise.all(rows.map((row) => ask<DocumentView>(path(row))));
    return documents
      .map((each) => ({ text: each.text, doubt: each.explanation ? doubts(each.explanation, scale) : 0 }))
      .sort((a, b) => b.doubt - a.doubt)
      .map((each) => each.text);
  } catch {
    // A server without a table has no documents; that is no failure here.
    return [];
  }
}

/** Rows of this model's labels (the table may be another's), not too long, unseen ones first. */
function fittingRows(rows: Row[], model: Model): Row[] {
  const fitting = rows.filter(
    (row) => model.classes.includes(row.label) && row.n_characters >= SHORTEST && row.n_characters <= LONGEST,
  );
  const isUnseen = (row: Row) => Number(row.split !== null && row.split !== "train");
  const ordered = fitting.sort((a, b) => isUnseen(b) - isUnseen(a) || b.n_characters - a.n_characters);
  return ordered.slice(0, TRIED);
}

/** How much the model hesitates: a text that makes it do so shows best how it reads. */
export function doubts(explanation: Explanation, scale: Scale): number {
  const { label } = leading(scale, explanation.probabilities);
  const course = explanation.sentences.map((step) => step.running[label] ?? 0);
  return course.reduce((sum, share, i) => sum + Math.max((course[i - 1] ?? share) - share, 0), 0);
}

/** Texts whose sentences speak for different classes, so that the line has somewhere to go. */
export function fromPrototypes(prototypes: Prototype[], scale: Scale): string[] {
  const byClass = new Map<string, string[]>();
  for (const each of [...prototypes].sort((a, b) => b.usage - a.usage)) {
    const { label } = leading(scale, each.scores);
    byClass.set(label, [...(byClass.get(label) ?? []), each.sentence]);
  }
  const groups = [...byClass.values()];
  if (!groups.length) return [];
  return [0, 1, 2].map((turn) =>
    [0, 1, 2, 3]
      .map((place) => {
        const group = groups[(place + turn + (place > 1 ? 1 : 0)) % groups.length]!;
        return group[(turn + place) % group.length]!;
      })
      .filter((sentence, place, all) => all.indexOf(sentence) === place)
      .join(" "),
  );
}
