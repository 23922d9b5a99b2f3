/* Patterns: what the model does, told with a text that walks through it, then as a chart. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ask, codeOf, isAborted, messageOf, modelPath, query } from "../api";
import { beginsWith, layOut, walk, ways } from "../automaton";
import type { PageProps } from "../context";
import { examplesFor } from "../example";
import { useAnswer, useRested, useWidth } from "../hooks";
import { AutomatonPicture, type Named } from "../parts/automaton-chart";
import { ClassName, Notice, PageHead, Share, Waiting } from "../parts/common";
import { hueOf, huesFor, leading } from "../scale";
import { rememberedAnswer, rememberedText, rememberText } from "../session";
import type { Automaton, Explanation, Pattern, Prototype } from "../types";
import { briefNames, captionOf, exactPercent, hasFamilies, percent, plural, shorten } from "../wording";

const MOST_BUTTONS = 6;

export function Patterns(props: PageProps) {
  const { model, scale, place, keep } = props;
  const wanted = [place.state.class, rememberedAnswer()].find((name) => name && model.classes.includes(name));
  const [label, setLabel] = useState(wanted ?? model.classes.at(-1)!);
  const isAsked = useRef(wanted !== undefined);
  const chart = useAnswer<Automaton>(
    model.has_automata ? modelPath(model.name, "automaton") + query({ label }) : null,
  );
  const prototypes = useAnswer<{ prototypes: Prototype[] }>(modelPath(model.name, "prototypes"));
  const names = useMemo(() => {
    const all = prototypes.data?.prototypes ?? [];
    const brief = briefNames(all);
    return new Map(all.map((each): [number, Named] => [each.id, { whole: captionOf(each), brief: brief.get(each.id)!, score: each.scores[label] ?? 0 }]));
  }, [prototypes.data, label]);
  const choose = (chosen: string) => {
    isAsked.current = true;
    setLabel(chosen);
    keep({ class: chosen });
  };
  // Where nobody has asked for a class, it is that of the text which is walked first.
  const answered = (answer: string) => {
    if (!isAsked.current && model.classes.includes(answer)) setLabel(answer);
    isAsked.current = true;
  };
  return (
    <>
      <PageHead title="What makes the model say so?">
        The model starts undecided. Every sentence moves its belief up or down, by the prototype that the sentence is
        like. Follow a text step by step; then see all that the model does, as one chart.
      </PageHead>
      {model.classes.length > MOST_BUTTONS ? (
        <label class="classes">
          <span class="soft">Answer</span>
          <select value={label} onChange={(event) => choose(event.currentTarget.value)}>
            {model.classes.map((name) => <option key={name} value={name}>{shorten(name, 60)}</option>)}
          </select>
        </label>
      ) : (
        <fieldset class="classes">
          <legend>Answer</legend>
          {model.classes.map((name) => (
            <label key={name} class={name === label ? "chosen" : ""}>
              <input type="radio" name="class" checked={name === label} onChange={() => choose(name)} />
              <ClassName scale={scale} label={name} />
            </label>
          ))}
        </fieldset>
      )}
      {model.has_automata ? (
        <Waiting asked={chart} label="Fetching the chart…">
          {(automaton) => automaton.label === label && <Chart key={label} {...props} automaton={automaton} names={names} answered={answered} />}
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

function Chart({ model, scale, automaton, names, answered, announce }: PageProps & { automaton: Automaton; names: Map<number, Named>; answered: (label: string) => void }) {
  const [text, setText] = useState(rememberedText);
  const [explanation, setExplanation] = useState<Explanation | null>(null);
  const [step, setStep] = useState<number | null>(null);
  const [pattern, setPattern] = useState<Pattern | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [attach, width] = useWidth(560);
  const rested = useRested(text);
  useEffect(() => {
    if (!text) examplesFor(model, scale).then(({ texts: [first] }) => first && setText((typed) => typed || first), () => {});
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
        answered(explanations[0]!.label);
        setPattern(null);
        setProblem(null);
      })
      .catch((error) => {
        if (isAborted(error)) return;
        setExplanation(null);
        // Someone who has typed a full stop only has done nothing wrong.
        setProblem(codeOf(error) === "empty_text" ? null : messageOf(error));
      });
    return () => leaving.abort();
  }, [rested, model.name]);

  const trajectory = explanation?.sentences.map((each) => each.prototype) ?? [];
  const states = walk(automaton, trajectory);
  const decided = explanation && accepts(automaton, states) ? beginsWith(automaton, trajectory) : null;
  const at = Math.min(step ?? states.length - 1, states.length - 1);
  const patternStates = pattern ? walk(automaton, pattern.prototypes) : [];
  const marked = new Set(pattern ? ways(patternStates) : explanation ? ways(states.slice(0, at + 1)) : []);
  const layout = layOut(automaton, Math.max(width, 260), new Set([...ways(states), ...ways(patternStates)]));
  const current = !pattern && at > 0 ? (ways(states)[at - 1] ?? null) : null;
  // The model's own, as on the page Read; before the first sentence, what most texts begin with.
  const beliefAt = (place: number) => explanation?.sentences[place - 1]?.running[automaton.label] ?? automaton.states[automaton.start]!.belief;
  const go = (next: number) => {
    setPattern(null);
    setStep(next);
    const read = explanation?.sentences[next - 1];
    announce(read ? `Sentence ${next}: ${read.text} Belief ${percent(beliefAt(next))}.` : `Start: belief ${percent(beliefAt(next))}.`);
  };
  const state = pattern ? (patternStates.at(-1) ?? null) : explanation ? (states[at] ?? null) : null;
  return (
    <>
      <div class="two-columns">
        <section class="panel" aria-labelledby="walk-title">
          <h2 id="walk-title">One text, step by step</h2>
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
              <p class="walk-belief">
                <span class="soft">before the first sentence</span> <Share value={beliefAt(0)} class={`hue-${hueOf(scale, automaton.label)}`} /> <span class="number">{percent(beliefAt(0))}</span> “{automaton.label}”
              </p>
              <ol class="walk">
                {explanation.sentences.slice(0, states.length - 1).map((each, i) => {
                  const isDeciding = decided !== null && i < decided.prototypes.length;
                  return (
                    <li key={i} class={`hue-${leading(scale, each.scores).hue} ${i + 1 === at ? "here" : ""} ${i + 1 > at ? "ahead" : ""}`}>
                      <button type="button" aria-current={i + 1 === at ? "step" : undefined} onClick={() => go(i + 1)}>
                        <span>{each.text}</span>
                        <span class="soft small">like <q>{hasFamilies(model) ? each.headline : each.prototype_sentence}</q></span>
                        <span class="walk-belief"><Share value={beliefAt(i + 1)} class={`hue-${hueOf(scale, automaton.label)}`} /> <span class="number">{percent(beliefAt(i + 1))}</span> {movement(beliefAt(i), beliefAt(i + 1))}</span>
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
                    ? `So the answer is “${automaton.label}”; no beginning alone decides.`
                    : `So the answer is not “${automaton.label}”.`}
                {explanation.automaton && accepts(automaton, states) !== (explanation.label === automaton.label) &&
                  " The model decides otherwise: of this text the chart explains nothing."}
              </p>
            </>
          )}
        </section>
        <section class="panel" aria-labelledby="chart-title">
          <h2 id="chart-title">All it does for “{automaton.label}”</h2>
          <p class="soft small">
            Each circle gathers texts of about the same belief. Sentences like those named at the right raise it, those at
            the left lower it; a text that ends above the dashed line is given “{automaton.label}”. Wide arrows are taken
            often; +3 means three more prototypes that do the same. Sentences that change nothing are left out.
          </p>
          <div ref={attach} class="ladder">
            <AutomatonPicture
              {...{ automaton, layout, names, marked, current, state }}
              label={described(automaton)}
              hues={huesFor(scale, automaton.label)}
            />
          </div>
          <p class="soft small">
            The chart decides as the model does for {exactPercent(automaton.fidelity)} of{" "}
            {plural(automaton.fidelity_held_out === null ? automaton.n_train : automaton.n_held_out, "text")}{" "}
            {automaton.fidelity_held_out === null ? "it was learned from" : "held out"}.
          </p>
        </section>
      </div>
      <section class="panel" aria-labelledby="patterns-title">
        <h2 id="patterns-title">Beginnings that give “{automaton.label}” away</h2>
        {automaton.patterns.length === 0 ? <p class="soft">None: texts are decided as a whole.</p> : <p class="soft small">Choose one to see it in the chart.</p>}
        <ol class="pattern-list">
          {automaton.patterns.map((each) => (
            <li key={each.prototypes.join(" ")}>
              <button
                type="button"
                aria-pressed={each === pattern}
                class={decided?.prototypes.join() === each.prototypes.join() ? "decides" : ""}
                onClick={() => setPattern(each === pattern ? null : each)}
              >
                {each.prototypes.map((id, i) => (
                  <span key={i}>{i > 0 && <span class="soft">then </span>}<q>{names.get(id)?.whole ?? `prototype ${id}`}</q></span>
                ))}
                <span class="soft small">{percent(each.purity)} of {plural(each.support, "text")}</span>
              </button>
            </li>
          ))}
        </ol>
      </section>
    </>
  );
}

function movement(before: number, after: number): string {
  const by = Math.round(100 * (after - before));
  return by === 0 ? "stays" : `${by > 0 ? "up" : "down"} ${Math.abs(by)}`;
}

function accepts(automaton: Automaton, states: number[]): boolean {
  return automaton.states[states.at(-1)!]?.accepting ?? false;
}

function described(automaton: Automaton): string {
  const levels = automaton.states.map((each) => `${percent(each.belief)}${each.accepting ? " (given)" : ""}`);
  return `Chart for “${automaton.label}”: ${plural(automaton.states.length, "level")} of belief: ${levels.join(", ")}. The walk and the beginnings are told in words beside it.`;
}
