/* Where a text is typed, pasted or dropped. */
import { useRef, useState } from "preact/hooks";
import type { Examples } from "../example";

const LARGEST_FILE = 400_000;

interface Props {
  text: string;
  start: (text: string) => void;
  examples: Examples;
  label: string;
  setProblem: (problem: string | null) => void;
}

export function TextBox({ text, start, examples: { texts: examples, areReal }, setProblem, label }: Props) {
  const [turn, setTurn] = useState(0);
  const [isOver, setIsOver] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  const open = async (file: File | undefined) => {
    if (!file) return;
    if (file.size > LARGEST_FILE) {
      setProblem(`“${file.name}” is too large to be read as one text. Use the page Batch for tables.`);
      return;
    }
    start(await file.text());
  };
  return (
    <div class="panel text-box">
      <textarea
        aria-label={label}
        ref={area}
        class={isOver ? "over" : ""}
        rows={3}
        spellcheck={false}
        placeholder="Type or paste a text, or drop a text file here."
        value={text}
        onInput={(event) => start(event.currentTarget.value)}
        onDragOver={(event) => { event.preventDefault(); setIsOver(true); }}
        onDragLeave={() => setIsOver(false)}
        onDrop={(event) => {
          setIsOver(false);
          const file = event.dataTransfer?.files[0];
          if (!file) return;
          event.preventDefault();
          void open(file);
        }}
      />
      <div class="text-box-foot">
        <div class="buttons">
          {examples.length > 0 && (
            <button type="button" onClick={() => { const next = (turn + 1) % examples.length; setTurn(next); start(examples[next]!); }}>
              Another example
            </button>
          )}
          <label class="button file">
            Open a file
            <input type="file" accept=".txt,.md,text/plain" onChange={(event) => void open(event.currentTarget.files?.[0])} />
          </label>
          {text && <button type="button" class="plain" onClick={() => { start(""); area.current?.focus(); }}>Clear</button>}
        </div>
        <p class="soft small">
          {!areReal && examples.includes(text) ? "An example made of the model’s own sentences. Edit it: the line moves as you type." : "Edit it: the line moves as you type."}
        </p>
      </div>
    </div>
  );
}
