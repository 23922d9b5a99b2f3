/* The sentences of a text as the model reads them, one below the other. */
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { leading, type Scale } from "../scale";
import type { Step } from "../types";
import { likeWords, percent } from "../wording";

interface RowProps {
  step: Step;
  place: number;
  scale: Scale;
  selected?: boolean;
  blamed?: boolean;
  /** Whether a prototype has more sentences than the one it is like. */
  families?: boolean;
  select?: () => void;
  activate?: () => void;
  /** What the button does, for those who cannot see it. */
  hint?: string;
  children?: ComponentChildren;
}

export function StepRow({ step, place, scale, selected, blamed, families, select, activate, hint, children }: RowProps) {
  const so = leading(scale, step.running);
  const says = leading(scale, step.scores);
  // By the time of the click, the focus that a tap brings has selected the sentence already.
  const wasSelected = useRef(false);
  const body = (
    <>
      <span class="step-said"><span class="step-number">{place + 1}</span>{step.text}{step.unfamiliar && <span class="tag">unfamiliar</span>}</span>
      <span class="step-like">{likeWords(step)} <q>{step.prototype_sentence}</q></span>
      {families && <span class="step-family"><span class="soft">prototype {step.prototype}</span> {step.headline}</span>}
      <span class="step-so-far"><span class="soft">so far</span> “{so.label}” {percent(so.value)}</span>
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
            const list = event.currentTarget.closest("ol");
            list?.querySelector<HTMLElement>(`[data-step="${place + way}"]`)?.focus();
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
