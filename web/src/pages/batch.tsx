/* Batch: a whole table at once, and what its texts are about. */
import { useEffect, useState } from "preact/hooks";
import { ask, fetchFile, isAborted, messageOf, modelPath, query } from "../api";
import type { PageProps } from "../context";
import type { BatchView, Preview } from "../desk";
import { useAction, useAnswer } from "../hooks";
import { download, Notice, PageHead, Progress, Waiting } from "../parts/common";
import { OverviewPanel } from "../parts/overview";
import type { Job, Page } from "../types";
import { plural, shorten } from "../wording";

const KINDS = ".csv,.tsv,.jsonl,.ndjson,.parquet,.xlsx";
const TRIED = 100;

export function Batch(props: PageProps) {
  const [id, setId] = useState(props.place.state.batch ?? null);
  const [preview, setPreview] = useState<Preview | null>(null);
  const show = (batch: string | null) => {
    setId(batch);
    setPreview(null);
    props.keep(batch ? { batch } : {});
  };
  return (
    <>
      <PageHead title="What do all these texts say?">
        Give a table of texts. Every row gets an answer and its trajectory to download, and you see which prototypes,
        that is which kinds of sentences, come up how often.
      </PageHead>
      {id ? (
        <Result key={id} {...props} id={id} leave={() => show(null)} />
      ) : preview ? (
        <Mapping {...props} preview={preview} started={show} back={() => setPreview(null)} />
      ) : (
        <Upload {...props} ready={setPreview} />
      )}
    </>
  );
}

function Upload({ model, ready }: PageProps & { ready: (preview: Preview) => void }) {
  const [isOver, setIsOver] = useState(false);
  const { busy, error, act } = useAction();
  const send = (file: File | undefined) => {
    if (!file) return;
    void act(async () => ready(await sendTable(file)));
  };
  const sendTable = (file: File) => {
    const form = new FormData();
    form.append("file", file);
    return ask<Preview>(modelPath(model.name, "batches", "preview"), { form });
  };
  // A server that was given texts can show what this page does before anybody has a table.
  const tryOwn = () =>
    act(async () => {
      const found = await ask<Page<{ text: string; label: string }>>(modelPath(model.name, "documents") + query({ whole: "true", size: TRIED }));
      const lines = found.items.map(({ text, label }) => JSON.stringify({ text, label }));
      ready(await sendTable(new File([lines.join("\n")], "texts-of-this-server.jsonl")));
    });
  return (
    <section class="panel" aria-label="Upload a table">
      <label
        class={`drop ${isOver ? "over" : ""}`}
        onDragOver={(event) => { event.preventDefault(); setIsOver(true); }}
        onDragLeave={() => setIsOver(false)}
        onDrop={(event) => { event.preventDefault(); setIsOver(false); send(event.dataTransfer?.files[0]); }}
      >
        <span class="drop-title">{busy ? "Sending…" : "Choose a table, or drop it here"}</span>
        <span class="soft">CSV, TSV, JSON Lines, Parquet or Excel, one text per row</span>
        <input type="file" accept={KINDS} disabled={busy} onChange={(event) => send(event.currentTarget.files?.[0])} />
      </label>
      {model.has_data && (
        <p class="beside-switch">
          <span class="soft">No table at hand?</span> <button type="button" disabled={busy} onClick={() => void tryOwn()}>{`Try ${TRIED} texts of this server`}</button>
        </p>
      )}
      {error && <Notice>{error}</Notice>}
    </section>
  );
}

function Mapping({ model, preview, started, back }: PageProps & { preview: Preview; started: (batch: string) => void; back: () => void }) {
  const [columns, setColumns] = useState({ text: preview.guess.text, group: preview.guess.group ?? "", time: preview.guess.time ?? "" });
  const { busy, error, act } = useAction();
  const start = () =>
    act(async () => {
      const form = new FormData();
      form.append("upload", preview.upload);
      for (const [name, column] of Object.entries(columns)) if (column) form.append(name, column);
      const { batch } = await ask<{ batch: string; job: Job }>(modelPath(model.name, "batches"), { form });
      started(batch);
    });
  const choose = (name: keyof typeof columns, label: string, hint: string) => (
    <label class="field">
      <span>{label}</span>
      <select value={columns[name]} onChange={(event) => setColumns({ ...columns, [name]: event.currentTarget.value })}>
        {name !== "text" && <option value="">none</option>}
        {preview.columns.map((each) => <option key={each.name} value={each.name}>{each.name}</option>)}
      </select>
      <span class="small">{hint}</span>
    </label>
  );
  const sample = preview.columns.find((each) => each.name === columns.text)?.examples[0];
  return (
    <section class="panel" aria-labelledby="mapping-title">
      <h2 id="mapping-title">{preview.filename}: {plural(preview.n_rows, "row")}</h2>
      <form class="mapping" onSubmit={(event) => { event.preventDefault(); void start(); }}>
        {choose("text", "Column of the texts", sample ? `such as “${shorten(sample, 90)}”` : "")}
        {choose("group", "Column of groups", "such as product, branch or country, to compare")}
        {choose("time", "Column of dates", "to see how it changes over time")}
        {error && <Notice>{error}</Notice>}
        <div class="buttons">
          <button class="primary" disabled={busy}>Read all texts</button>
          <button type="button" class="plain" onClick={back}>Choose another file</button>
        </div>
      </form>
    </section>
  );
}

function Result(props: PageProps & { id: string; leave: () => void }) {
  const { model, id, leave, announce } = props;
  const asked = useAnswer<BatchView>(modelPath(model.name, "batches", id));
  const [now, setNow] = useState<BatchView | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const state = now ?? asked.data;
  useEffect(() => {
    if (!asked.data || asked.data.state === "done" || asked.data.state === "failed") return;
    const leaving = new AbortController();
    void follow(leaving.signal);
    return () => leaving.abort();
    async function follow(signal: AbortSignal) {
      try {
        for (let wait = 200; ; wait = Math.min(wait * 1.3, 1500)) {
          const view = await ask<BatchView>(modelPath(model.name, "batches", id), { signal });
          setNow(view);
          if (view.state === "done") announce("All texts have been read.");
          if (view.state === "done" || view.state === "failed") return;
          await new Promise((resolve) => setTimeout(resolve, wait));
          if (signal.aborted) return;
        }
      } catch (error) {
        if (!isAborted(error)) setProblem(messageOf(error));
      }
    }
  }, [asked.data]);
  const { busy, error, act } = useAction();
  const save = (kind: string) =>
    act(async () => {
      const stem = (state?.filename ?? "table").replace(/\.[^.]*$/, "");
      download(await fetchFile(`${modelPath(model.name, "batches", id)}/result.${kind}`), `${stem}-answers.${kind}`);
    });
  return (
    <>
      <section class="panel" aria-label="The table">
        <Waiting asked={asked} label="Looking…">
          {() => state && (
            <>
              <div class="list-head">
                <h2>{state.filename}</h2>
                <button type="button" onClick={leave}>Another table</button>
              </div>
              {state.state === "failed" && <Notice>{state.message}</Notice>}
              {problem && <Notice>{problem}</Notice>}
              {(state.state === "queued" || state.state === "running") && <Progress job={state} label={`Reading ${plural(state.n_rows, "row")}…`} />}
              {state.state === "done" && (
                <>
                  <p>
                    {plural(state.n_documents ?? 0, "text")} of the column “{state.text}” read
                    {state.n_skipped ? `; ${plural(state.n_skipped, "row")} without text left out` : ""}. The file to download is your
                    table with the answer, its probability and the trajectory of every row.
                  </p>
                  <div class="buttons">
                    <button type="button" class="primary" disabled={busy} onClick={() => save("csv")}>Download CSV</button>
                    <button type="button" disabled={busy} onClick={() => save("parquet")}>Download Parquet</button>
                  </div>
                </>
              )}
              {error && <Notice>{error}</Notice>}
            </>
          )}
        </Waiting>
      </section>
      {state?.state === "done" && <OverviewPanel {...props} batch={state} />}
    </>
  );
}
