/* A whole document of the server's table, in a window. */
import { modelPath } from "../api";
import type { DocumentView } from "../desk";
import { useAnswer } from "../hooks";
import { formatPlace } from "../routing";
import type { Model } from "../types";
import { rowName } from "../wording";
import { Dialog, Waiting } from "./common";

export function DocumentDialog({ model, row, close }: { model: Model; row: number; close: () => void }) {
  const asked = useAnswer<DocumentView>(modelPath(model.name, "documents", row));
  return (
    <Dialog title={`${rowName(row).replace("r", "R")} of a spreadsheet`} close={close}>
      <Waiting asked={asked} label="Fetching the text…">
        {(found) => (
          <>
            <p class="soft">
              Counting from 0 without the headings, row {row.toLocaleString("en")}. Labelled “{found.label}”{found.split ? `, of the part “${found.split}”` : ""}.{" "}
              {found.explanation && <>The model says “{found.explanation.label}”.</>}
            </p>
            <p class="document">{found.text}</p>
            <p>
              <a href={formatPlace({ page: "read", model: model.name, state: { text: found.text } })}>See how the model reads it</a>
            </p>
          </>
        )}
      </Waiting>
    </Dialog>
  );
}
