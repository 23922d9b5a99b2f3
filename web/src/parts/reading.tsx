/* How the model reads a text: its answer, the line, the sentences, and all of one of them. */
import { useMemo, useState } from "preact/hooks";
import type { PageProps } from "../context";
import { decidingSentence } from "../deciding";
import { around, type Edit, type Shown } from "../editing";
import { useMedia } from "../hooks";
import { huesFor, leading } from "../scale";
import type { Explanation, Step } from "../types";
import { hasFamilies, plural, points, unitOffset } from "../wording";
import { KeepReading } from "./keep-reading";
import { Notice } from "./common";
import { SentenceCard } from "./sentence-card";
import { SentenceEditor } from "./sentence-editor";
import { StepRow } from "./steps";
import { TrajectoryChart } from "./trajectory-chart";
import { Verdict, verdictOf } from "./verdict";

// Of a text of more sentences than these, the few that matter most are listed.
const MANY = 12;
const FEW = 8;

interface Props extends Pick<PageProps, "model" | "scale" | "announce"> {
  shown: Shown;
  original: Shown | null;
  edit: Edit | null;
  selected: number | null;
  select: (place: number) => void;
  beginEdit: (step: Step) => void;
  changeEdit: (draft: string) => void;
  endEdit: (keep: boolean) => void;
  leaveOut: (step: Step) => void;
  restore: () => void;
  /** Whether another text stands beside it, so that there is half the room. */
  isBeside: boolean;
  /** What it is called, for those who cannot see it. */
  name: string;
}

export function Reading(props: Props) {
  const { model, scale, shown, original, edit, selected, select } = props;
  const { explanation } = shown;
  const isWide = useMedia("(min-width: 60rem)") && !props.isBeside;
  const [showAll, setShowAll] = useState(false);
  const [showWords, setShowWords] = useState(false);
  const changed = original !== null && original.text !== shown.text;
  const decided = decidingSentence(explanation);
  const strange = explanation.sentences.filter((each) => each.unfamiliar).length;
  const parts = edit ? around(shown, edit) : { before: explanation.sentences.map((_, i) => i), behind: [] };
  const edited = edit && parts.before.length < explanation.sentences.length - parts.behind.length ? parts.before.length : null;
  const open = edited ?? selected ?? (isWide ? mostTelling(explanation) : null);
  const step = open === null ? null : explanation.sentences[open];
  const few = useMemo(() => mostTellingOf(explanation, FEW), [explanation]);
  const isCut = !showAll && edit === null && explanation.sentences.length > MANY;
  const listed = (places: number[]) => (isCut ? places.filter((place) => few.has(place) || place === selected) : places);
  const reached = open ?? 0;
  const card = step && (
    <SentenceCard
      {...{ model, scale, explanation, showWords, setShowWords }}
      place={open!}
      edit={edit ? undefined : () => { select(open!); props.beginEdit(step); }}
      leaveOut={edit ? undefined : () => props.leaveOut(step)}
    />
  );
  const row = (place: number) => (
    <StepRow
      key={place}
      step={explanation.sentences[place]!}
      place={place}
      scale={scale}
      selected={place === open}
      isReached={place === reached || (isCut && place === Math.min(...few) && !few.has(reached))}
      families={hasFamilies(model)}
      select={() => select(place)}
      activate={() => { select(place); props.beginEdit(explanation.sentences[place]!); }}
      hint="Press Enter to change this sentence."
    >
      {!isWide && place === selected && card}
    </StepRow>
  );
  return (
    <section class="panel reading" aria-label={props.name}>
      <header class="reading-head">
        <Verdict explanation={explanation} scale={scale} />
        <KeepReading {...props} decided={decided} />
      </header>
      {strange > 0 && 2 * strange >= explanation.sentences.length && (
        <Notice kind="warning">
          {`${strange} of ${plural(explanation.sentences.length, "sentence")} ${strange === 1 ? "is" : "are"} unlike anything the model learned from, so its answer says little.`}
        </Notice>
      )}
      {decided && <p class="decided">{decided}</p>}
      {changed && (
        <div class="what-if" role="status">
          <p>
            You changed the text. It was {verdictOf(original!.explanation)}, now it is {verdictOf(explanation)}.
            The grey line is how it was.
          </p>
          <button type="button" onClick={props.restore}>Put it back</button>
        </div>
      )}
      <ColouredText {...{ explanation, scale, select }} text={shown.text} selected={open} />
      <div class={isWide ? "reading-body wide" : "reading-body"}>
        <div class="reading-picture">
          <TrajectoryChart
            {...{ explanation, scale, select }}
            ghost={changed ? original!.explanation : null}
            selected={open}
            height={isWide ? 270 : 220}
          />
          <p class="soft small legend">
            The line is how sure the model is after each sentence; a mark’s shape and colour tell what the
            sentence’s prototype speaks for.
          </p>
        </div>
        <ol class="steps" aria-label="Sentences">
          {isCut && (
            <li class="cut">
              <span class="soft">Of {plural(explanation.sentences.length, "sentence")} these {few.size} change the answer most.</span>
              <button type="button" class="plain" onClick={() => setShowAll(true)}>Show all</button>
            </li>
          )}
          {listed(parts.before).map(row)}
          {edit && (
            <SentenceEditor edit={edit} hue={edited === null ? 7 : leading(scale, explanation.sentences[edited]!.scores).hue} change={props.changeEdit} end={props.endEdit}>
              {!isWide && edited !== null && card}
            </SentenceEditor>
          )}
          {parts.behind.map(row)}
        </ol>
        {isWide && card}
      </div>
    </section>
  );
}

/** The text itself, each sentence in the colour of what it does to the answer: the stronger, the darker. */
function ColouredText({ explanation, scale, text, selected, select }: Pick<Props, "scale" | "select"> & { explanation: Explanation; text: string; selected: number | null }) {
  const { given, other } = huesFor(scale, explanation.label);
  const strongest = Math.max(...explanation.sentences.map((step) => Math.abs(step.effect)));
  let end = 0;
  return (
    <div class="coloured">
      {/* A long text scrolls, so the keyboard must reach it. */}
      <p class="document" dir="auto" role="group" aria-label="The text, coloured" tabIndex={0}>
        {explanation.sentences.map((step, i) => {
          const from = unitOffset(text, step.start);
          const to = unitOffset(text, step.end);
          const between = text.slice(end, from).replace(/\n{3,}/g, "\n\n");
          end = to;
          return (
            <>
              {between}
              <span
                key={i}
                class={`said hue-${step.effect < 0 ? other : given} said-${strengthOf(step.effect, strongest)} ${i === selected ? "selected" : ""}`}
                title={`Sentence ${i + 1}: ${points(step.effect)} points`}
                onPointerEnter={() => select(i)}
                onClick={() => document.querySelector<HTMLElement>(`[data-step="${i}"]`)?.focus()}
              >
                {text.slice(from, to)}
              </span>
            </>
          );
        })}
        {text.slice(end)}
      </p>
      <p class="soft small legend">
        <span class={`said said-3 hue-${given}`}>speaks for “{explanation.label}”</span> <span class={`said said-3 hue-${other}`}>against it</span>{" "}
        the darker, the more the answer would change without the sentence
      </p>
    </div>
  );
}

// Of the strongest effect in the text, so that a sure answer, which no sentence alone can shake, has colours too.
const STRENGTHS = [0.15, 0.4, 0.7];
const NOTHING = 0.01;

function strengthOf(effect: number, strongest: number): number {
  return STRENGTHS.filter((share) => Math.abs(effect) >= share * Math.max(strongest, NOTHING)).length;
}

/** The sentences that matter most. */
function mostTellingOf(explanation: Explanation, most: number): ReadonlySet<number> {
  const places = explanation.sentences.map((_, i) => i);
  const effect = (place: number) => Math.abs(explanation.sentences[place]!.effect);
  return new Set(places.sort((a, b) => effect(b) - effect(a)).slice(0, most));
}

/** The sentence that matters most, shown until the person points at one. */
function mostTelling(explanation: Explanation): number | null {
  return [...mostTellingOf(explanation, 1)][0] ?? null;
}
