/* Texts to try: real ones where the server has a table, else made of the model's own sentences. */
import { ask, modelPath, query } from "./api";
import { leading, type Scale } from "./scale";
import type { Explanation, Model, Page, Prototype } from "./types";

interface Row {
  label: string;
  text: string;
  n_characters: number;
}

const TRIED = 8;
const SHORTEST = 60;
const LONGEST = 600;
const LEAST = 0.05; // of an effect that one sees

export interface Examples {
  texts: string[];
  /** Whether they are texts of the server's table, not made up of the model's own sentences. */
  areReal: boolean;
}

export async function examplesFor(model: Model, scale: Scale): Promise<Examples> {
  const texts = model.has_data === false ? [] : await fromTable(model);
  if (texts.length) return { texts, areReal: true };
  const { prototypes } = await ask<{ prototypes: Prototype[] }>(modelPath(model.name, "prototypes"));
  return { texts: fromPrototypes(prototypes, scale), areReal: false };
}

async function fromTable(model: Model): Promise<string[]> {
  try {
    const path = modelPath(model.name, "documents");
    const pages = ["test", "validation", undefined].map((split) => () => ask<Page<Row>>(path + query({ split, whole: "true", size: 100 })));
    let rows: Row[] = [];
    // Unseen ones first.
    for (const page of pages) if (!rows.length) rows = fittingRows((await page()).items, model);
    if (!rows.length) return [];
    const body = { texts: rows.map((row) => row.text) };
    const { explanations } = await ask<{ explanations: Explanation[] }>(modelPath(model.name, "explain"), { body });
    return plainestFirst(rows, explanations, model.likeness?.[0]);
  } catch {
    // A server without a table has no documents; that is no failure here.
    return [];
  }
}

/** The first rows of this model's labels (the table may be another's) that are neither short, long nor full of markup. */
function fittingRows(rows: Row[], model: Model): Row[] {
  const fitting = rows.filter(
    (row) => model.classes.includes(row.label) && row.n_characters >= SHORTEST && row.n_characters <= LONGEST && !row.text.includes("<"),
  );
  return fitting.slice(0, TRIED);
}

/** Right answers first; of these, texts whose matches are as alike as usual; of these, those with a sentence that matters. */
export function plainestFirst(rows: Pick<Row, "label" | "text">[], explanations: Explanation[], usual = 0): string[] {
  const worth = (place: number) => {
    const { label, sentences } = explanations[place]!;
    const isRight = label === rows[place]!.label;
    const isAlike = sentences.every((step) => !step.unfamiliar && step.similarity >= usual);
    const matters = sentences.some((step) => Math.abs(step.effect) >= LEAST);
    return 4 * Number(isRight) + 2 * Number(isAlike) + Number(matters);
  };
  return [...rows.keys()].sort((a, b) => worth(b) - worth(a)).map((place) => rows[place]!.text);
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
