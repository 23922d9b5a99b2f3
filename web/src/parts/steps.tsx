/* The sentences of a text as the model reads them, one below the other. */
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { leading, type Scale } from "../scale";
import type { Step } from "../types";
import { isTie, likeWords, percent, points } from "../wording";
import { Share } from "./common";

interface RowProps {
  step: Step;
  place: number;
  scale: Scale;
  selected?: boolean;
  /** Whether the Tab key reaches it. */
  isReached?: boolean;
  blamed?: boolean;
  /** Whether a prototype has more sentences than the one it is like. */
  families?: boolean;
  select?: () => void;
  activate?: () => void;
  /** What the button does, for those who cannot see it. */
  hint?: string;
  children?: ComponentChildren;
}

export function StepRow({ step, place, scale, selected, isReached, blamed, families, select, activate, hint, children }: RowProps) {
  const so = leading(scale, step.running);
  const says = leading(scale, step.scores);
  // By the time of the click, the focus that a tap brings has selected the sentence already.
  const wasSelected = useRef(false);
  const body = (
    <>
      <span class="step-said"><span class="step-number">{place + 1}</span>{step.text}{step.unfamiliar && <span class="tag">unfamiliar</span>}</span>
      <span class="step-like">{likeWords(step)} <q>{step.prototype_sentence}</q></span>
      {families && <span class="step-family"><span class="soft">prototype {step.prototype}</span> {step.headline}</span>}
      <span class="step-so-far">
        <span><span class="soft">so far</span> “{so.label}” {percent(so.value)}</span>
        <span title="What the answer gains by this sentence, in percentage points"><span class="soft">effect</span> {points(step.effect)}</span>
        <span title="How alike the two sentences are, of 1"><span class="soft">alike</span> {isTie(step) && <span class="tag" title={`As near: ${step.runner_up_sentence}`}>tie</span>} <Share value={step.similarity} class="likeness" /> {step.similarity.toFixed(2)}</span>
      </span>
      {blamed && <span class="step-blame">most to blame</span>}
      {hint && <span class="unseen">{hint}</span>}
    </>
  );
  return (
    <li
      class={`step hue-${says.hue} ${selected ? "selected" : ""} ${blamed ? "blamed" : ""} ${step.unfamiliar ? "unfamiliar" : ""}`}
      onPointerEnter={(event) => event.pointerType === "mouse" && select?.()}
    >
      {select ? (
        <button
          type="button"
          class="step-body"
          aria-pressed={selected}
          data-step={place}
          // One stop of the Tab key for the whole list: arrow keys walk it, and Tab leads on to what is told of the sentence.
          tabIndex={isReached ? 0 : -1}
          onPointerDown={() => (wasSelected.current = selected ?? false)}
          onFocus={select}
          onClick={(event) => {
            // A first tap shows; a click, a second tap or Enter changes.
            const touched = (event as unknown as PointerEvent).pointerType === "touch";
            if (touched && !wasSelected.current) select();
            else activate?.();
          }}
          onKeyDown={(event) => {
            const way = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
            if (!way) return;
            event.preventDefault();
            const list = [...event.currentTarget.closest("ol")!.querySelectorAll<HTMLElement>("[data-step]")];
            list[list.indexOf(event.currentTarget) + way]?.focus();
          }}
        >
          {body}
        </button>
      ) : (
        <div class="step-body">{body}</div>
      )}
      {children}
    </li>
  );
}
