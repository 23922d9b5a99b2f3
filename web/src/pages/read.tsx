/* Read: a text, and how the model makes up its mind about it, sentence by sentence. */
import { useEffect, useState } from "preact/hooks";
import { ask, codeOf, isAborted, messageOf, modelPath } from "../api";
import type { PageProps } from "../context";
import { around, beginEdit, textOf, without, type Edit, type Shown } from "../editing";
import { examplesFor } from "../example";
import { useRested } from "../hooks";
import { Notice, PageHead } from "../parts/common";
import { Reading } from "../parts/reading";
import { TextBox } from "../parts/text-box";
import { verdictOf } from "../parts/verdict";
import { rememberAnswer, rememberedText, rememberText } from "../session";
import type { Explanation } from "../types";
import { hasFamilies, listed, plural } from "../wording";

export function Read({ model, scale, place, announce }: PageProps) {
  const [text, setText] = useState(() => place.state.text ?? rememberedText());
  const [shown, setShown] = useState<Shown | null>(null);
  const [original, setOriginal] = useState<Shown | null>(null);
  const [edit, setEdit] = useState<Edit | null>(null);
  const [selected, setSelected] = useState<number | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const examples = useExamples(model, scale, (example) => setText((typed) => typed || example));
  const rested = useRested(text);

  useEffect(() => {
    // Another link was opened while this page stood here.
    if (place.state.text !== undefined) start(place.state.text);
  }, [place.state.text]);
  useEffect(() => {
    rememberText(text);
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
        rememberAnswer(explanation.label);
        setProblem(null);
        setSelected((before) => (before !== null && before < explanation.sentences.length ? before : null));
        announce(`The model’s answer: ${verdictOf(explanation)}.`);
      })
      .catch((error) => {
        if (isAborted(error)) return;
        // Someone who has typed a full stop only has done nothing wrong.
        const isEmpty = codeOf(error) === "empty_text";
        if (isEmpty) setShown(null);
        setProblem(isEmpty ? null : messageOf(error));
      });
    return () => leaving.abort();
  }, [rested, model.name, model.version]);

  /** A new text: nothing of what was compared before is left. */
  function start(typed: string) {
    setText(typed);
    setOriginal(null);
    setEdit(null);
  }
  function change(typed: string) {
    setOriginal((before) => before ?? shown);
    setText(typed);
  }
  return (
    <>
      <PageHead title="How does the model read your text?">
        It compares every sentence with {plural(model.n_members, "real sentence")} it kept from the texts it learned
        from, {hasFamilies(model)
          ? <>finds the one most alike, reads the text as a sequence of the {model.n_prototypes} <em>prototypes</em> these belong to,</>
          : <>its <em>prototypes</em>, finds the one most alike,</>} and so makes up its mind about{" "}
        {model.classes.length > 6 ? `${model.classes.length} possible answers` : listed(model.classes)} as it goes.
      </PageHead>
      <TextBox text={text} start={start} examples={examples} setProblem={setProblem} />
      {problem && <Notice>{problem}</Notice>}
      {shown && (
        <Reading
          {...{ model, scale, shown, original, edit, selected, announce }}
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
          leaveOut={(step) => change(without(shown, step))}
          restore={() => {
            const back = original!.text;
            setEdit(null);
            setOriginal(null);
            setText(back);
          }}
        />
      )}
    </>
  );
}

function useExamples(
  model: PageProps["model"], scale: PageProps["scale"], offer: (text: string) => void,
): string[] {
  const [examples, setExamples] = useState<string[]>([]);
  useEffect(() => {
    let left = false;
    examplesFor(model, scale).then((found) => {
      if (left) return;
      setExamples(found);
      if (found[0]) offer(found[0]);
    }, () => {});
    return () => void (left = true);
  }, [model.name]);
  return examples;
}
