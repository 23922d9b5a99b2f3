/* Patterns: what the model does, as a chart that one can walk with one's own text. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { ask, codeOf, isAborted, messageOf, modelPath, query } from "../api";
import { beginsWith, layOut, walk, ways } from "../automaton";
import type { PageProps } from "../context";
import { examplesFor } from "../example";
import { useAnswer, useRested } from "../hooks";
import { AutomatonPicture } from "../parts/automaton-chart";
import { ClassName, Notice, PageHead, Waiting } from "../parts/common";
import { PanZoom } from "../parts/pan-zoom";
import { hueOf, leading, N_HUES, type Scale } from "../scale";
import { rememberedAnswer, rememberedText, rememberText } from "../session";
import type { Automaton, Explanation, Pattern, Prototype } from "../types";
import { captionOf, exactPercent, hasFamilies, percent, plural } from "../wording";

const GREY = N_HUES - 1;

export function Patterns(props: PageProps) {
  const { model, scale, place, keep } = props;
  const wanted = [place.state.class, rememberedAnswer(), model.classes.at(-1)];
  const [label, setLabel] = useState(wanted.find((name) => name && model.classes.includes(name))!);
  const chart = useAnswer<Automaton>(
    model.has_automata ? modelPath(model.name, "automaton") + query({ label }) : null,
  );
  const prototypes = useAnswer<{ prototypes: Prototype[] }>(modelPath(model.name, "prototypes"));
  const sentences = useMemo(
    () => new Map((prototypes.data?.prototypes ?? []).map((each) => [each.id, each.name && each.n_members === 1 ? `${each.name}: ${each.sentence}` : captionOf(each)])),
    [prototypes.data],
  );
  const choose = (chosen: string) => {
    setLabel(chosen);
    keep({ class: chosen });
  };
  return (
    <>
      <PageHead title="What makes the model say so?">
        All that the model does for one answer, as a chart: each circle is a level of belief, each arrow the sentences
        that raise or lower it. Give it a text and walk along.
      </PageHead>
      <fieldset class="classes">
        <legend>Answer</legend>
        {model.classes.map((name) => (
          <label key={name} class={name === label ? "chosen" : ""}>
            <input type="radio" name="class" checked={name === label} onChange={() => choose(name)} />
            <ClassName scale={scale} label={name} />
          </label>
        ))}
      </fieldset>
      {model.has_automata ? (
        <Waiting asked={chart} label="Fetching the chart…">
          {(automaton) => automaton.label === label && <Chart key={label} {...props} automaton={automaton} sentences={sentences} />}
        </Waiting>
      ) : (
        <Notice kind="hint">
          This model holds no chart: it was edited without training its reader again, or made before charts were kept.
          Train the reader again on the page Prototypes, or with <code>protorynet edit … --retrain</code>.
        </Notice>
      )}
    </>
  );
}

function Chart({ model, scale, automaton, sentences, announce }: PageProps & { automaton: Automaton; sentences: Map<number, string> }) {
  const [text, setText] = useState(rememberedText);
  const [explanation, setExplanation] = useState<Explanation | null>(null);
  const [step, setStep] = useState<number | null>(null);
  const [pattern, setPattern] = useState<Pattern | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const rested = useRested(text);
  useEffect(() => {
    if (!text) examplesFor(model, scale).then(([first]) => first && setText((typed) => typed || first), () => {});
  }, []);
  useEffect(() => {
    rememberText(rested);
    setStep(null);
    if (!rested.trim()) {
      setExplanation(null);
      return;
    }
    const leaving = new AbortController();
    ask<{ explanations: Explanation[] }>(modelPath(model.name, "explain"), { body: { texts: [rested] }, signal: leaving.signal })
      .then(({ explanations }) => {
        setExplanation(explanations[0]!);
        setPattern(null);
        setProblem(null);
      })
      .catch((error) => {
        if (isAborted(error)) return;
        // Someone who has typed a full stop only has done nothing wrong.
        const isEmpty = codeOf(error) === "empty_text";
        if (isEmpty) setExplanation(null);
        setProblem(isEmpty ? null : messageOf(error));
      });
    return () => leaving.abort();
  }, [rested, model.name]);

  const trajectory = explanation?.sentences.map((each) => each.prototype) ?? [];
  const states = walk(automaton, trajectory);
  const decided = explanation && accepts(automaton, states) ? beginsWith(automaton, trajectory) : null;
  const at = Math.min(step ?? states.length - 1, states.length - 1);
  const shownPattern = pattern ?? null;
  const patternStates = shownPattern ? walk(automaton, shownPattern.prototypes) : [];
  const marked = new Set(shownPattern ? ways(patternStates) : explanation ? ways(states.slice(0, at + 1)) : []);
  const layout = layOut(automaton, new Set(ways(states)));
  const current = !shownPattern && at > 0 ? (ways(states)[at - 1] ?? null) : null;
  const go = (next: number) => {
    setPattern(null);
    setStep(next);
    const read = explanation?.sentences[next - 1];
    const belief = automaton.states[states[next]!]!.belief;
    announce(read ? `Sentence ${next}: ${read.text} Belief ${percent(belief)}.` : `Start: belief ${percent(belief)}.`);
  };
  const state = shownPattern ? (patternStates.at(-1) ?? null) : explanation ? (states[at] ?? null) : null;
  const centre = state === null ? null : { x: layout.places[state]!, y: layout.axis };
  return (
    <>
      <section class="panel" aria-label="Chart">
        <PanZoom width={layout.width} height={layout.height} label={described(automaton)} centre={centre}>
          <AutomatonPicture
            {...{ automaton, layout, sentences, marked, current }}
            hues={huesFor(scale, automaton.label)}
            state={state}
          />
        </PanZoom>
        <p class="soft small">
          From left to right the belief in “{automaton.label}” rises; a text that ends in a double circle is given it. The
          numbers at the arrows are prototypes; point at one to read them. Drag to move; Ctrl and wheel, two fingers or the
          keys + and − enlarge. The chart decides as the model does for {exactPercent(automaton.fidelity)} of{" "}
          {plural(automaton.fidelity_held_out === null ? automaton.n_train : automaton.n_held_out, "text")}{" "}
          {automaton.fidelity_held_out === null ? "it was learned from" : "held out"}.
        </p>
      </section>
      <div class="two-columns">
        <section class="panel" aria-labelledby="walk-title">
          <h2 id="walk-title">Walk with your own text</h2>
          <label class="unseen" for="walk-text">Your text</label>
          <textarea id="walk-text" rows={3} placeholder="Type or paste a text." value={text} onInput={(event) => setText(event.currentTarget.value)} />
          {problem && <Notice>{problem}</Notice>}
          {explanation && (
            <>
              <div class="buttons walk-keys">
                <button type="button" disabled={at === 0} onClick={() => go(0)}>Start</button>
                <button type="button" disabled={at === 0} onClick={() => go(at - 1)}>Back</button>
                <button type="button" class="primary" disabled={at >= states.length - 1} onClick={() => go(at + 1)}>Next sentence</button>
                <span class="soft number">{at} of {states.length - 1}</span>
              </div>
              <ol class="walk">
                {explanation.sentences.slice(0, states.length - 1).map((each, i) => {
                  const isDeciding = decided !== null && i < decided.prototypes.length;
                  return (
                    <li key={i} class={`hue-${leading(scale, each.scores).hue} ${i + 1 === at ? "here" : ""} ${i + 1 > at ? "ahead" : ""}`}>
                      <button type="button" aria-current={i + 1 === at ? "step" : undefined} onClick={() => go(i + 1)}>
                        <span>{each.text}</span>
                        <span class="soft small">
                          {each.prototype}: <q>{hasFamilies(model) ? each.headline : each.prototype_sentence}</q> → {percent(automaton.states[states[i + 1]!]!.belief)}
                        </span>
                        {isDeciding && <span class="tag">decides</span>}
                      </button>
                    </li>
                  );
                })}
              </ol>
              <p class="walk-end">
                {decided
                  ? `Its beginning decides: ${percent(decided.purity)} of ${plural(decided.support, "text")} that begin so are given “${automaton.label}”.`
                  : accepts(automaton, states)
                    ? `The chart gives “${automaton.label}”, but no beginning alone decides.`
                    : `The chart does not give “${automaton.label}”.`}
                {explanation.automaton && accepts(automaton, states) !== (explanation.label === automaton.label) &&
                  " The model decides otherwise: of this text the chart explains nothing."}
              </p>
            </>
          )}
        </section>
        <section class="panel" aria-labelledby="patterns-title">
          <h2 id="patterns-title">Beginnings that give “{automaton.label}” away</h2>
          {automaton.patterns.length === 0 && <p class="soft">None: texts are decided as a whole.</p>}
          <ol class="pattern-list">
            {automaton.patterns.map((each) => (
              <li key={each.prototypes.join(" ")}>
                <button
                  type="button"
                  aria-pressed={each === shownPattern}
                  class={decided?.prototypes.join() === each.prototypes.join() ? "decides" : ""}
                  onClick={() => setPattern(each === shownPattern ? null : each)}
                >
                  {each.prototypes.map((id, i) => (
                    <span key={i}>{i > 0 && <span class="soft">then </span>}<q>{sentences.get(id) ?? `prototype ${id}`}</q> <span class="soft small">{id}</span></span>
                  ))}
                  <span class="soft small">{percent(each.purity)} of {plural(each.support, "text")}</span>
                </button>
              </li>
            ))}
          </ol>
        </section>
      </div>
    </>
  );
}

/** The answer in its own hue; against it speaks the other class, or with several all others, in grey. */
function huesFor(scale: Scale, label: string): { given: number; other: number } {
  const given = hueOf(scale, label);
  return { given, other: scale.pole === null ? GREY : 1 - given };
}

function accepts(automaton: Automaton, states: number[]): boolean {
  return automaton.states[states.at(-1)!]?.accepting ?? false;
}

function described(automaton: Automaton): string {
  const levels = automaton.states.map((each) => `${percent(each.belief)}${each.accepting ? " (given)" : ""}`);
  return `Chart for “${automaton.label}”: ${plural(automaton.states.length, "level")} of belief: ${levels.join(", ")}. The walk and the beginnings are described in words below. Arrow keys move, plus and minus zoom, 0 shows the whole.`;
}
