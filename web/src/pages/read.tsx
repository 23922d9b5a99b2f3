/* Read: a text, and how the model makes up its mind about it, sentence by sentence. */
import { useEffect, useState } from "preact/hooks";
import type { PageProps } from "../context";
import { examplesFor, type Examples } from "../example";
import { PageHead } from "../parts/common";
import { Reader } from "../parts/reader";
import { rememberAnswer, rememberedText, rememberText } from "../session";
import { hasFamilies, listed, plural } from "../wording";

export function Read({ model, scale, place, announce }: PageProps) {
  const [text, setText] = useState(() => place.state.text ?? rememberedText());
  const [other, setOther] = useState<string | null>(null);
  const [examples, setExamples] = useState<Examples>({ texts: [], areReal: true });
  useEffect(() => {
    // Another link was opened while this page stood here.
    if (place.state.text !== undefined) setText(place.state.text);
  }, [place.state.text]);
  useEffect(() => rememberText(text), [text]);
  useEffect(() => {
    let left = false;
    examplesFor(model, scale).then((found) => {
      if (left) return;
      setExamples(found);
      setText((typed) => typed || (found.texts[0] ?? ""));
    }, () => {});
    return () => void (left = true);
  }, [model.name]);
  const shared = { model, scale, announce, examples, isBeside: other !== null };
  return (
    <>
      <PageHead title="How does the model read your text?">
        It compares every sentence with {plural(model.n_members, "real sentence")} it kept from the texts it learned
        from, {hasFamilies(model)
          ? <>finds the one most alike, reads the text as a sequence of the {model.n_prototypes} <em>prototypes</em> these belong to,</>
          : <>its <em>prototypes</em>, finds the one most alike,</>} and so makes up its mind about{" "}
        {model.classes.length > 6 ? `${model.classes.length} possible answers` : listed(model.classes)} as it goes.
      </PageHead>
      <div class={other === null ? "" : "side-by-side"}>
        <Reader {...shared} {...{ text, setText }} label="Your text" name="How the model reads it" answered={(explanation) => rememberAnswer(explanation.label)} />
        {other !== null && (
          <Reader {...shared} text={other} setText={(change) => setOther((before) => (typeof change === "string" ? change : change(before ?? "")))} label="The other text" name="How the model reads the other" />
        )}
      </div>
      <p class="beside-switch">
        <button type="button" aria-pressed={other !== null} onClick={() => setOther(other === null ? (examples.texts.find((each) => each !== text) ?? text) : null)}>
          {other === null ? "Compare with another text" : "Read one text only"}
        </button>
      </p>
    </>
  );
}
