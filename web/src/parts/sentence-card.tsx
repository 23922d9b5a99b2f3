/* All there is to know of one sentence: its prototype, the next best, and what it does. */
import { useEffect, useState } from "preact/hooks";
import { ask, isAborted, messageOf, modelPath } from "../api";
import { marked } from "../marking";
import { formatPlace } from "../routing";
import { leading, type Scale } from "../scale";
import type { Explanation, Model, Step, WordEffect } from "../types";
import { hasFamilies, isTie, likeness, likeWords, percent } from "../wording";
import { LeaningBar, Notice, Share } from "./common";

interface Props {
  model: Model;
  scale: Scale;
  explanation: Explanation;
  place: number;
  showWords: boolean;
  setShowWords: (on: boolean) => void;
  edit?: () => void;
  leaveOut?: () => void;
}

type Words = Required<Pick<Step, "words" | "prototype_words">>;
const known = new Map<string, Words>();

export function SentenceCard({ model, scale, explanation, place, showWords, setShowWords, edit, leaveOut }: Props) {
  const step = explanation.sentences[place]!;
  const [words, problem] = useWords(model, step, showWords);
  const families = hasFamilies(model);
  const alone = explanation.sentences.length === 1;
  return (
    <div class="card" role="group" aria-label={`Sentence ${place + 1}`}>
      <p class="card-said">
        <span class="kicker">Sentence {place + 1}</span>
        <Marked text={step.text} words={words?.words} pair={words} hue={leading(scale, step.scores).hue} />
      </p>
      <p class="card-like">
        <span class="kicker">
          {families || step.unfamiliar ? likeWords(step) : `is most like the model’s prototype ${step.prototype}`}
        </span>
        <q><Marked text={step.prototype_sentence} words={words?.prototype_words} pair={words} hue={leading(scale, step.scores).hue} /></q>
      </p>
      <dl class="facts">
        {families && (
          <div>
            <dt>Prototype {step.prototype}</dt>
            <dd><b>{step.headline}</b></dd>
          </div>
        )}
        <div>
          <dt>How alike</dt>
          <dd>
            <Share value={step.similarity} class="likeness" />
            {likeness(step, model.likeness)} <span class="soft">({step.similarity.toFixed(2)} of 1)</span>
          </dd>
        </div>
        {step.runner_up_sentence !== null && (
          <div>
            <dt>{isTie(step) ? "As near: a tie" : "Next best"}</dt>
            <dd><q class="soft">{step.runner_up_sentence}</q> <span class="soft">({(step.runner_up_similarity ?? 0).toFixed(2)})</span></dd>
          </div>
        )}
        <div>
          <dt>Alone, it says</dt>
          <dd><LeaningBar scale={scale} distribution={step.scores} /></dd>
        </div>
        {!alone && (
          <div>
            <dt>Left out</dt>
            <dd>{withoutIt(explanation, step)}</dd>
          </div>
        )}
      </dl>
      {problem && <Notice>{problem}</Notice>}
      <div class="card-actions">
        <label class="switch">
          <input type="checkbox" checked={showWords} onChange={(event) => setShowWords(event.currentTarget.checked)} />
          <span>Mark the words that make them alike</span>
        </label>
        <div class="buttons">
          {edit && <button type="button" onClick={edit}>Change it</button>}
          {leaveOut && !alone && <button type="button" onClick={leaveOut}>Leave it out</button>}
          <a class="button" href={formatPlace({ page: "prototypes", model: model.name, state: { id: String(step.prototype) } })}>
            See prototype
          </a>
        </div>
      </div>
    </div>
  );
}

function withoutIt(explanation: Explanation, step: Step): string {
  const now = explanation.probabilities[explanation.label];
  if (now === undefined) return "unknown";
  const then = Math.min(Math.max(now - step.effect, 0), 1);
  if (percent(then) === percent(now)) return `hardly anything changes: “${explanation.label}” stays at ${percent(now)}`;
  return `“${explanation.label}” would be at ${percent(then)} instead of ${percent(now)}`;
}

function Marked({ text, words, pair, hue }: { text: string; words?: WordEffect[]; pair: Words | null; hue: number }) {
  if (!words || !pair) return <span>{text}</span>;
  return (
    <span class={`hue-${hue}`}>
      {marked(text, words, pair).map((piece, i) =>
        piece.strength ? <mark key={i} class={`word word-${piece.strength}`}>{piece.text}</mark> : piece.text,
      )}
    </span>
  );
}

/** The words of a sentence and its prototype, asked for when somebody wants to see them. */
function useWords(model: Model, step: Step, wanted: boolean): [Words | null, string | null] {
  const key = JSON.stringify([model.name, model.version, step.text, step.member]);
  const [, setTurn] = useState(0);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    setProblem(null);
    if (!wanted || known.has(key)) return;
    const leaving = new AbortController();
    ask<{ explanations: Explanation[] }>(modelPath(model.name, "explain"), {
      body: { texts: [step.text], words: true },
      signal: leaving.signal,
    })
      .then(({ explanations }) => {
        const same = explanations[0]?.sentences.find(
          (each) => each.text === step.text && each.member === step.member,
        );
        known.set(key, { words: same?.words ?? [], prototype_words: same?.prototype_words ?? [] });
        setTurn((turn) => turn + 1);
      })
      .catch((error) => !isAborted(error) && setProblem(messageOf(error)));
    return () => leaving.abort();
  }, [key, wanted]);
  return [wanted ? (known.get(key) ?? null) : null, problem];
}
