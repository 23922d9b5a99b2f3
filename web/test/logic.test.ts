import { describe, expect, it } from "vitest";
import { beginsWith, edgesOf, layOut, walk, ways } from "../src/automaton";
import { decidingSentence } from "../src/deciding";
import { around, beginEdit, textOf, without } from "../src/editing";
import { fromPrototypes, plainestFirst } from "../src/example";
import { marked } from "../src/marking";
import { leadersOf, wordsOf } from "../src/parts/automaton-chart";
import { formatPlace, parsePlace } from "../src/routing";
import { escaped, pictureSvg, readingPage } from "../src/saving";
import { huesFor, leading, scaleOf, spread } from "../src/scale";
import { sparkline, standsOut, tallies } from "../src/tallying";
import { areaOf, dotsOf, frameOf, linesOf, numbered } from "../src/trajectory";
import type { Automaton, Explanation, Step } from "../src/types";
import { agreement, briefNames, hasFamilies, isTie, likeness, lines, listed, nameParts, percent, points, rowName, shorten, unitOffset, withoutBlamed } from "../src/wording";

const EVIL = `<script>alert("1")</script> & 'so'`;

function step(text: string, start: number, end: number, good: number, more: Partial<Step> = {}): Step {
  return {
    text, start, end, prototype: 1, prototype_sentence: "A joy.", member: 1, headline: "A joy.", unfamiliar: false, similarity: 0.8,
    runner_up: null, runner_up_similarity: null, runner_up_sentence: null,
    scores: { bad: 1 - good, good }, running: { bad: 1 - good, good }, effect: 0.1, ...more,
  };
}

const TEXT = "A 🏨 joy! Dirty. Fine.";
const EXPLANATION: Explanation = {
  label: "good",
  probabilities: { bad: 0.3, good: 0.7 },
  sentences: [step("A 🏨 joy!", 0, 8, 0.9), step("Dirty.", 9, 15, 0.2), step("Fine.", 16, 21, 0.7)],
  automaton: null,
  pattern: null,
};
const SCALE = scaleOf(["bad", "good"]);

describe("the address", () => {
  it("comes back as it was given, whatever the text holds", () => {
    const place = { page: "read" as const, model: "my.hotel-1", state: { text: `50% & more? #=\n🏨 ${EVIL}` } };
    expect(parsePlace(formatPlace(place))).toEqual(place);
  });
  it("leads to the first page where it is not understood", () => {
    expect(parsePlace("#/nonsense/%E0%A4%A")).toEqual({ page: "read", model: "%E0%A4%A", state: {} });
    expect(parsePlace("")).toEqual({ page: "read", model: null, state: {} });
  });
});

describe("wording", () => {
  it("cuts names between their parts", () => {
    expect(nameParts("comp.sys.mac.hardware")).toEqual(["comp.", "sys.", "mac.", "hardware"]);
    expect(nameParts("very_good")).toEqual(["very_", "good"]);
    expect(nameParts("fine...")).toEqual(["fine..."]);
  });

  it("calls prototypes by words that few others have", () => {
    const named = (id: number, words: string[]) => ({ id, name: null, sentence: "It rained.", words });
    const names = briefNames([named(1, ["film", "movie", "great", "loved"]), named(2, ["film", "movie", "scary"]), named(3, [])]);
    expect([...names.values()]).toEqual(["great, loved, film", "scary, film, movie", "It rained."]);
  });
  it("never rounds a probability to a certainty", () => {
    expect([0.934, 0.9991, 0.0004, 1, 0].map(percent)).toEqual(["93%", ">99%", "<1%", "100%", "0%"]);
  });
  it("signs differences", () => {
    expect([0.123, -0.04, -0.001].map((x) => points(x))).toEqual(["+12", "−4", "0"]);
  });
  it("says similarity in words, and lists names", () => {
    const like = (similarity: number, unfamiliar = false) => likeness({ similarity, unfamiliar }, [0.4, 0.6]);
    expect([like(0.3), like(0.5), like(0.7), like(0.5, true)]).toEqual(["less alike than usual", "as alike as usual", "more alike than usual", "hardly alike"]);
    expect(likeness({ similarity: 0.5, unfamiliar: false })).toBe("");
    expect([isTie({ similarity: 0.5, runner_up_similarity: 0.49 }), isTie({ similarity: 0.5, runner_up_similarity: 0.4 }), isTie({ similarity: 0.5, runner_up_similarity: null })]).toEqual([true, false, false]);
    expect(rowName(0)).toBe("row 2");
    expect([0.04, 0.15, 0.3].map((spread) => agreement(spread, 2))).toEqual(["agree (±4)", "mostly agree (±15)", "differ (±30)"]);
    expect(hasFamilies({ n_members: 20, n_prototypes: 20 })).toBe(false);
    expect(listed(["a", "b", "c"])).toBe("“a”, “b” or “c”");
  });
  it("cuts and breaks texts", () => {
    expect(shorten("NaturalPlace", 8)).toBe("Natural…");
    expect(lines("The light over the harbour alone is worth it.", 20, 2)).toEqual(["The light over the", "harbour alone is wo…"]);
  });
  it("counts as the server does, by code points", () => {
    expect(unitOffset(TEXT, 3)).toBe(4);
    expect(unitOffset("abc", 9)).toBe(3);
  });
});

describe("a changed sentence", () => {
  const shown = { text: TEXT, explanation: EXPLANATION };
  it("is cut out of the text at the right place", () => {
    const edit = beginEdit(shown, EXPLANATION.sentences[1]!);
    expect(edit.before).toBe("Dirty.");
    expect(textOf({ ...edit, draft: "Clean." })).toBe("A 🏨 joy! Clean. Fine.");
    expect(around(shown, edit)).toEqual({ before: [0], behind: [2] });
  });
  it("can be left out", () => {
    expect(without(shown, EXPLANATION.sentences[1]!)).toBe("A 🏨 joy! Fine.");
    expect(without(shown, EXPLANATION.sentences[2]!)).toBe("A 🏨 joy! Dirty.");
  });
});

describe("the scale", () => {
  it("has two ends for two classes, but not for two labels", () => {
    expect(scaleOf(["bad", "good"]).pole).toBe("good");
    expect(scaleOf(["bad", "good"], "multilabel").pole).toBeNull();
    expect(leading(SCALE, { bad: 0.8, good: 0.2 })).toEqual({ label: "bad", value: 0.8, hue: 1 });
    expect(leading(scaleOf(["a", "b", "c"]), { a: 0.1, b: 0.2, c: 0.7 }).hue).toBe(2);
  });
  it("never gives an answer and what speaks against it one hue", () => {
    const many = scaleOf([..."abcdefghij"]);
    for (const scale of [SCALE, many]) for (const label of scale.classes) expect(huesFor(scale, label).given).not.toBe(huesFor(scale, label).other);
  });
  it("moves labels apart within bounds", () => {
    expect(spread([10, 12, 50], 8, 0, 60)).toEqual([10, 18, 50]);
    expect(spread([50, 51], 8, 0, 52)).toEqual([44, 52]);
  });
});

describe("the trajectory", () => {
  const frame = frameOf(600, 250, 3, SCALE);
  it("lies within its frame, high where the class is sure", () => {
    const [line] = linesOf(EXPLANATION, SCALE, frame);
    expect(line!.values).toEqual([0.9, 0.2, 0.7]);
    const dots = dotsOf(EXPLANATION, SCALE, frame);
    expect(dots[0]!.y).toBeLessThan(dots[1]!.y);
    expect(dots.every((dot) => dot.x >= frame.left && dot.x <= frame.right)).toBe(true);
    expect(areaOf(line!.values, frame, true)).toContain(`${frame.y(0.5).toFixed(2)}`);
  });
  it("draws the winner of several classes last", () => {
    const three = { ...EXPLANATION, probabilities: { a: 0.1, b: 0.7, c: 0.2 }, sentences: [step("x", 0, 1, 0.5, { running: { a: 0.1, b: 0.7, c: 0.2 } })] };
    expect(linesOf(three, scaleOf(["a", "b", "c"]), frame).at(-1)!.label).toBe("b");
  });
  it("numbers no more sentences than there is room for", () => {
    expect(numbered(400, frameOf(360, 200, 400, SCALE)).length).toBeLessThan(20);
  });
});

describe("marked words", () => {
  it("are cut out by code points", () => {
    const words = [{ text: "joy", start: 4, end: 7, effect: 0.4 }];
    expect(marked("A 🏨 joy!", words, { words, prototype_words: [] })).toEqual([
      { text: "A 🏨 ", strength: 0 }, { text: "joy", strength: 3 }, { text: "!", strength: 0 },
    ]);
  });
});

const AUTOMATON: Automaton = {
  label: "good", prototypes: [7, 4], fidelity: 0.9, n_held_out: 10, n_train: 90, fidelity_held_out: 0.9, start: 1,
  patterns: [{ prototypes: [7], support: 5, purity: 0.9 }, { prototypes: [7, 4], support: 3, purity: 1 }],
  states: [0.1, 0.4, 0.9].map((belief, number) => ({ number, belief, accepting: belief > 0.5, visits: 3 })),
  transitions: [[1, 0], [2, 0], [2, 2]],
  traffic: [[1, 5], [9, 4], [3, 0]],
};

describe("the automaton", () => {
  it("names an arrow after what often leads along it and speaks for where it leads", () => {
    const edge = { source: 1, target: 2, prototypes: [7, 4], traffic: [9, 6], total: 15 };
    const names = new Map([7, 4].map((id) => [id, { whole: "", brief: "", score: id === 7 ? 0.9 : 0.4 }]));
    const first = (rises: boolean) => leadersOf({ edge, tip: { x: 0, y: 0, rises } }, names)[0]!.id;
    expect([first(true), first(false)]).toEqual([7, 4]);
  });
  it("names an arrow with those of its words that there is room for", () => {
    const arc = { edge: { source: 1, target: 2, prototypes: [7], traffic: [9], total: 9 }, tip: { x: 0, y: 0, rises: true } };
    const names = new Map([[7, { whole: "", brief: "recommend, loved, film", score: 0.9 }]]);
    expect([30, 14, 8, 3].map((most) => wordsOf(arc, names, most))).toEqual(["recommend, loved, film", "recommend", "loved", "loved"]);
  });
  it("is walked state by state", () => {
    expect(walk(AUTOMATON, [4, 7, 7])).toEqual([1, 0, 1, 2]);
    expect(walk(AUTOMATON, [99])).toEqual([1]);
    expect(ways([1, 0, 1])).toEqual(["1 0", "0 1"]);
  });
  it("finds the longest pattern that a text begins with", () => {
    expect(beginsWith(AUTOMATON, [7, 4, 4])!.support).toBe(3);
    expect(beginsWith(AUTOMATON, [4])).toBeNull();
  });
  it("places states by belief and all ways that were taken", () => {
    for (const width of [300, 640]) {
      const layout = layOut(AUTOMATON, width);
      expect(layout.places).toEqual([...layout.places].sort((a, b) => b - a));
      expect(layout.arcs).toHaveLength(edgesOf(AUTOMATON).filter((edge) => edge.total && edge.source !== edge.target).length);
      expect(layout.room).toBeGreaterThan(80);
      for (const rises of [true, false]) {
        const ys = layout.arcs.filter((arc) => arc.label && arc.tip.rises === rises).map((arc) => arc.label!.y).sort((a, b) => a - b);
        for (const [i, y] of ys.entries()) expect(y - (ys[i - 1] ?? -99)).toBeGreaterThanOrEqual(15);
      }
    }
  });
});

describe("saved files", () => {
  const evil = { ...EXPLANATION, sentences: [step(EVIL, 0, 9, 0.9, { prototype_sentence: EVIL, headline: EVIL, unfamiliar: true })] };
  it("hold texts as text only", () => {
    for (const file of [pictureSvg(evil, SCALE).svg, readingPage(evil, SCALE, EVIL, EVIL, true)]) {
      expect(file).toContain("is unlike anything the model learned from");
      expect(file).not.toContain("<script");
      expect(file).toContain("&#60;script");
    }
    expect(readingPage(EXPLANATION, SCALE, "m", null)).toContain("(prototype 1, similarity 0.80)");
    expect(readingPage(EXPLANATION, SCALE, "m", null, true)).toContain("(of prototype 1 “A joy.”, similarity 0.80)");
    expect(escaped("a\u0000b\ud800")).toBe("a\ufffdb\ufffd");
  });
});

describe("what decided", () => {
  it("is one sentence", () => {
    const reading = { label: "good", states: [1, 2], accepts: true, agrees: true, fidelity: 0.9 };
    const pattern = { label: "good", prototypes: [7], sentences: ["A joy."], support: 212, purity: 0.97 };
    expect(decidingSentence({ ...EXPLANATION, automaton: reading, pattern })).toContain("“A joy.” get “good” in 97% of 212 cases");
    expect(decidingSentence({ ...EXPLANATION, automaton: reading })).toContain("as a whole");
    expect(decidingSentence(EXPLANATION)).toBeNull();
  });
});

describe("a mistake", () => {
  it("tells what would be without the sentence to blame", () => {
    expect(withoutBlamed("good", 0.9, 0.2)).toBe("Without it, the model would be 70% sure of “good” instead of 90%.");
  });
});

describe("a table of texts", () => {
  const top = { id: 1, sentence: "a", name: null, words: [], scores: { good: 1 }, n_documents: 5, n_sentences: 6, counts: [4, 1], top: [] };
  const overview = {
    by: "group" as const, column: "city", bucket: null, keys: ["x", "y"], n_documents: 10, n_sentences: 30, n_unfamiliar: 2, documents: [5, 5], sentences: [20, 10], unfamiliar: [2, 0], labels: [],
    prototypes: [top, { ...top, id: 2, n_documents: 4, counts: [0, 4] }],
  };
  it("is ranked by the chosen group", () => {
    expect(tallies(overview, null).map((each) => each.prototype.id)).toEqual([1, 2]);
    expect(tallies(overview, "y").map((each) => [each.prototype.id, each.share])).toEqual([[2, 0.8], [1, 0.2]]);
    expect(sparkline([0, 1], 1)).toEqual([[0, 22], [100, 2]]);
  });
  it("points out only what is hardly chance", () => {
    const slice = (n_documents: number, n_wrong: number) => standsOut({ n_documents, n_wrong }, 0.1);
    expect([slice(464, 48), slice(197, 34), slice(100, 0)]).toEqual([false, true, false]);
  });
});

describe("an example", () => {
  it("is answered rightly, its matches are as alike as usual, and a sentence matters", () => {
    const read = (label: string, similarity: number, effect: number): Explanation => ({ ...EXPLANATION, label, sentences: [step("x", 0, 1, 0.5, { similarity, effect })] });
    const rows = ["wrong", "far", "sure", "near", "nearer"].map((text) => ({ text, label: "good" }));
    const read5 = [read("bad", 0.9, 0.2), read("good", 0.2, 0.2), read("good", 0.6, 0), read("good", 0.5, 0.2), read("good", 0.6, 0.2)];
    expect(plainestFirst(rows, read5, 0.4)).toEqual(["near", "nearer", "sure", "far", "wrong"]);
  });
  it("is made of the model's own sentences where there is no table", () => {
    const made = fromPrototypes(
      ["x", "y", "z"].map((sentence, id) => ({ id, sentence, row: null, usage: id, scores: { bad: id % 2, good: 1 - (id % 2) }, class_rate: {}, name: null, words: [], members: [], n_members: 1, spread: 0 })),
      SCALE,
    );
    expect(made[0]!.split(" ").length).toBeGreaterThan(1);
    expect(fromPrototypes([], SCALE)).toEqual([]);
  });
});
