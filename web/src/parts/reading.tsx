/* How the model reads a text: its answer, the line, the sentences, and all of one of them. */
import { useState } from "preact/hooks";
import type { PageProps } from "../context";
import { decidingSentence } from "../deciding";
import { around, type Edit, type Shown } from "../editing";
import { useMedia } from "../hooks";
import { leading } from "../scale";
import type { Explanation, Step } from "../types";
import { hasFamilies, plural } from "../wording";
import { KeepReading } from "./keep-reading";
import { Notice } from "./common";
import { SentenceCard } from "./sentence-card";
import { SentenceEditor } from "./sentence-editor";
import { StepRow } from "./steps";
import { TrajectoryChart } from "./trajectory-chart";
import { Verdict, verdictOf } from "./verdict";

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
}

export function Reading(props: Props) {
  const { model, scale, shown, original, edit, selected, select } = props;
  const { explanation } = shown;
  const isWide = useMedia("(min-width: 60rem)");
  const [showWords, setShowWords] = useState(false);
  const changed = original !== null && original.text !== shown.text;
  const decided = decidingSentence(explanation);
  const strange = explanation.sentences.filter((each) => each.unfamiliar).length;
  const parts = edit ? around(shown, edit) : { before: explanation.sentences.map((_, i) => i), behind: [] };
  const edited = edit && parts.before.length < explanation.sentences.length - parts.behind.length ? parts.before.length : null;
  const open = edited ?? selected ?? (isWide ? mostTelling(explanation) : null);
  const step = open === null ? null : explanation.sentences[open];
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
      families={hasFamilies(model)}
      select={() => select(place)}
      activate={() => { select(place); props.beginEdit(explanation.sentences[place]!); }}
      hint="Press Enter to change this sentence."
    >
      {!isWide && place === selected && card}
    </StepRow>
  );
  return (
    <section class="panel reading" aria-label="How the model reads it">
      <header class="reading-head">
        <Verdict explanation={explanation} scale={scale} />
        <KeepReading {...props} decided={decided} />
      </header>
      {2 * strange > explanation.sentences.length && (
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
      <div class="reading-body">
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
          {isWide && card}
        </div>
        <ol class="steps" aria-label="Sentences">
          {parts.before.map(row)}
          {edit && (
            <SentenceEditor edit={edit} hue={edited === null ? 7 : leading(scale, explanation.sentences[edited]!.scores).hue} change={props.changeEdit} end={props.endEdit}>
              {!isWide && edited !== null && card}
            </SentenceEditor>
          )}
          {parts.behind.map(row)}
        </ol>
      </div>
    </section>
  );
}

/** The sentence that matters most, shown until the person points at one. */
function mostTelling(explanation: Explanation): number | null {
  let best: number | null = null;
  explanation.sentences.forEach((step, i) => {
    if (best === null || Math.abs(step.effect) > Math.abs(explanation.sentences[best]!.effect)) best = i;
  });
  return best;
}
