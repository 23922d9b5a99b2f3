/* A sentence of the list, changed in its place. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Edit } from "../editing";

interface Props {
  edit: Edit;
  hue: number;
  change: (draft: string) => void;
  end: (keep: boolean) => void;
  children: ComponentChildren;
}

export function SentenceEditor({ edit, hue, change, end, children }: Props) {
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    area.current?.focus();
    area.current?.select();
  }, []);
  return (
    <li class={`step editing hue-${hue}`}>
      <label class="unseen" for="sentence">Change the sentence</label>
      <textarea
        id="sentence"
        ref={area}
        rows={Math.min(Math.ceil(edit.draft.length / 48) + 1, 8)}
        value={edit.draft}
        onInput={(event) => change(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" || (event.key === "Enter" && !event.shiftKey)) {
            event.preventDefault();
            end(event.key === "Enter");
          }
        }}
      />
      <div class="buttons">
        <button type="button" class="primary" onClick={() => end(true)}>Done</button>
        <button type="button" class="plain" onClick={() => end(false)}>Cancel</button>
      </div>
      {children}
    </li>
  );
}
