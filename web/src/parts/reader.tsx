/* A text that is typed and the model's reading of it; two of them stand side by side to be compared. */
import { useEffect, useState } from "preact/hooks";
import { ask, codeOf, isAborted, messageOf, modelPath } from "../api";
import type { PageProps } from "../context";
import { around, beginEdit, textOf, without, type Edit, type Shown } from "../editing";
import type { Examples } from "../example";
import { useRested } from "../hooks";
import type { Explanation } from "../types";
import { Notice } from "./common";
import { Reading } from "./reading";
import { TextBox } from "./text-box";
import { verdictOf } from "./verdict";

interface Props extends Pick<PageProps, "model" | "scale" | "announce"> {
  text: string;
  setText: (change: string | ((before: string) => string)) => void;
  examples: Examples;
  /** Whether another text stands beside it. */
  isBeside?: boolean;
  /** What to call the field. */
  label: string;
  /** What to call the reading. */
  name: string;
  answered?: (explanation: Explanation) => void;
}

export function Reader({ model, scale, announce, text, setText, examples, isBeside = false, label, name, answered }: Props) {
  const [shown, setShown] = useState<Shown | null>(null);
  const [original, setOriginal] = useState<Shown | null>(null);
  const [edit, setEdit] = useState<Edit | null>(null);
  const [selected, setSelected] = useState<number | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const rested = useRested(text);
  useEffect(() => {
    if (!rested.trim()) {
      setShown(null);
      setProblem(null);
      return;
    }
    const leaving = new AbortController();
    ask<{ explanations: Explanation[] }>(modelPath(model.name, "explain"), {
      body: { texts: [rested] },
      signal: leaving.signal,
    })
      .then(({ explanations }) => {
        const explanation = explanations[0]!;
        setShown({ text: rested, explanation });
        answered?.(explanation);
        setProblem(null);
        setSelected((before) => (before !== null && before < explanation.sentences.length ? before : null));
        announce(`The model’s answer: ${verdictOf(explanation)}.`);
      })
      .catch((error) => {
        if (isAborted(error)) return;
        // What was answered to another text is no answer to this one.
        setShown(null);
        // Someone who has typed a full stop only has done nothing wrong.
        setProblem(codeOf(error) === "empty_text" ? null : messageOf(error));
      });
    return () => leaving.abort();
  }, [rested, model.name, model.version]);

  /** A new text: nothing of what was compared before is left. */
  function start(typed: string) {
    setText(typed);
    setOriginal(null);
    setEdit(null);
  }
  return (
    <div class="reader">
      <TextBox {...{ text, start, examples, setProblem, label }} />
      {problem && <Notice>{problem}</Notice>}
      {shown && (
        <Reading
          {...{ model, scale, shown, original, edit, selected, announce, isBeside, name }}
          select={setSelected}
          beginEdit={(step) => {
            setOriginal((before) => before ?? shown);
            setEdit(beginEdit(shown, step));
          }}
          changeEdit={(draft) => {
            const next = { ...edit!, draft };
            setEdit(next);
            setText(textOf(next));
          }}
          endEdit={(keep) => {
            const place = edit && shown ? around(shown, edit).before.length : null;
            if (!keep && edit) setText(edit.prefix + edit.before + edit.suffix);
            setEdit(null);
            // The keyboard stays where it was.
            requestAnimationFrame(() => document.querySelector<HTMLElement>(`[data-step="${place}"]`)?.focus());
          }}
          leaveOut={(step) => {
            setOriginal((before) => before ?? shown);
            setText(without(shown, step));
          }}
          restore={() => start(original!.text)}
        />
      )}
    </div>
  );
}
