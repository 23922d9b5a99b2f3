/* Prototypes: the sentences that the model thinks in, and a draft in which they are changed. */
import { useEffect, useState } from "preact/hooks";
import { ask, modelPath, query } from "../api";
import type { PageProps } from "../context";
import type { Draft, Edits, ListedPrototype, Nearest, PrototypePage } from "../desk";
import { useAction, useAnswer, useRested } from "../hooks";
import { LeaningBar, Notice, PageHead, Pager, Waiting } from "../parts/common";
import { DocumentDialog } from "../parts/document";
import { DraftPanel } from "../parts/draft-panel";
import { leading } from "../scale";
import type { Prototype } from "../types";
import { exactPercent, percent, plural, shorten } from "../wording";

const SIZE = 25;

export function Prototypes(props: PageProps) {
  const { model, scale, place } = props;
  const [search, setSearch] = useState("");
  const [sort, setSort] = useState("usage");
  const [page, setPage] = useState(1);
  const [open, setOpen] = useState<number | null>(null);
  const rested = useRested(search);
  const base = modelPath(model.name, "prototypes");
  const draft = useAnswer<Draft>(modelPath(model.name, "draft"));
  const asked = useAnswer<PrototypePage>(`${base}/page${query({ search: rested, sort, page, size: SIZE, draft: "true" })}`);
  const all = useAnswer<{ prototypes: Prototype[] }>(base);
  const { busy, error, act } = useAction();
  const [isPinnedOpen, setIsPinnedOpen] = useState(true);
  useEffect(() => setPage(1), [rested, sort]);

  const changed = () => {
    draft.reload();
    asked.reload();
  };
  const edit = (edits: Edits, said: string) =>
    act(async () => {
      await ask(modelPath(model.name, "draft", "edits"), { body: { ...edits, revision: draft.data?.revision } });
      props.announce(said);
      changed();
    });
  const wanted = place.state.id === undefined ? null : Number(place.state.id);
  const pinned = all.data?.prototypes.find((each) => each.id === wanted);
  const row = (item: ListedPrototype, isOpen: boolean, toggle: () => void) => (
    <Row
      key={item.id}
      {...{ model, scale, item, isOpen, toggle, edit, busy }}
      others={(all.data?.prototypes ?? []).filter((each) => each.id !== item.id)}
      isDraft={asked.data?.draft ?? false}
      frozen={draft.data?.stale || Boolean(draft.data?.job)}
    />
  );
  return (
    <>
      <PageHead title={`The ${plural(model.n_prototypes, "sentence")} the model thinks in`}>
        Real sentences from the texts it learned from. Every sentence of a new text is matched to one of these. If one is
        useless or misleading, change it here: nothing is changed in the model that is served until you publish.
      </PageHead>
      <div class="with-side">
        <section class="panel list-panel" aria-label="Prototypes">
          <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
            <label class="field grow">
              <span>Search</span>
              <input type="search" value={search} placeholder="Words of the sentence or name" onInput={(event) => setSearch(event.currentTarget.value)} />
            </label>
            <label class="field">
              <span>Sort by</span>
              <select value={sort} onChange={(event) => setSort(event.currentTarget.value)}>
                <option value="usage">most used</option>
                <option value="-usage">least used</option>
                {model.classes.map((name) => <option key={name} value={`score:${name}`}>speaks most for “{shorten(name, 24)}”</option>)}
                {model.classes.map((name) => <option key={`rate ${name}`} value={`rate:${name}`}>most often in “{shorten(name, 24)}”</option>)}
                <option value="sentence">sentence, A to Z</option>
                <option value="name">name</option>
                <option value="id">number</option>
              </select>
            </label>
          </form>
          {error && <Notice>{error}</Notice>}
          {pinned && (
            <ul class="rows pinned" aria-label="The prototype you came for">
              {row({ ...pinned, changed: null }, isPinnedOpen, () => setIsPinnedOpen(!isPinnedOpen))}
            </ul>
          )}
          <Waiting asked={asked} label="Fetching the prototypes…">
            {(found) => (
              <>
                {found.stale_figures && <p class="soft small">How often each is used was counted before the changes in the draft.</p>}
                {found.items.length === 0 && <p class="soft">No prototype holds these words.</p>}
                <div class="row-heads" aria-hidden="true">
                  <span /><span>Prototype</span><span>Alone, it says</span><span>Used by</span><span>Its texts</span>
                </div>
                <ul class="rows" aria-busy={asked.loading}>
                  {found.items.map((item) => row(item, open === item.id, () => setOpen(open === item.id ? null : item.id)))}
                </ul>
                <Pager page={found.page} size={found.size} total={found.total} of="prototypes" go={setPage} />
                <p class="soft small">
                  Alone, it says: the model’s answer to a text of this sentence only. Used by: share of all sentences matched
                  to it. Its texts: share of the texts with such a sentence that bear the label it speaks for.
                </p>
              </>
            )}
          </Waiting>
        </section>
        <aside class="side">
          {draft.error ? <Notice>{draft.error}</Notice> : draft.data && (
            <DraftPanel {...props} draft={draft.data} changed={changed} published={() => { changed(); all.reload(); props.refresh(); }} />
          )}
        </aside>
      </div>
    </>
  );
}

interface RowProps extends Pick<PageProps, "model" | "scale"> {
  item: ListedPrototype;
  isOpen: boolean;
  toggle: () => void;
  edit: (edits: Edits, said: string) => void;
  busy: boolean;
  others: Prototype[];
  isDraft: boolean;
  frozen: boolean;
}

function Row(props: RowProps) {
  const { scale, item, isOpen, toggle } = props;
  const says = leading(scale, item.scores);
  const observed = item.class_rate[says.label];
  return (
    <li class={`row hue-${says.hue}`}>
      <button type="button" class="row-body" aria-expanded={isOpen} onClick={toggle}>
        <span class="row-id">{item.id}</span>
        <span class="row-sentence">
          {item.name && <b>{item.name}: </b>}{item.sentence}
          {item.changed && <span class="tag">{item.changed === "merged into" ? "others merged into it" : item.changed}</span>}
        </span>
        <span class="row-leaning"><span class="row-name">Alone, it says</span><LeaningBar scale={scale} distribution={item.scores} /></span>
        <span class="row-number"><span class="row-name">Used by</span> {exactPercent(item.usage)} <span class="row-name">of sentences</span></span>
        <span class="row-number">
          {observed !== undefined && <>{percent(observed)} <span class="row-name">of its texts are “{says.label}”</span></>}
        </span>
      </button>
      {isOpen && <Details {...props} />}
    </li>
  );
}

function Details({ model, item, edit, busy, others, isDraft, frozen }: RowProps) {
  const [row, setRow] = useState<number | null>(null);
  const [name, setName] = useState(item.name ?? "");
  const [sentence, setSentence] = useState(item.sentence);
  const [into, setInto] = useState("");
  const path = modelPath(model.name, "prototypes", item.id, "nearest");
  const asked = useAnswer<Nearest>(path + query({ n: 5, draft: isDraft ? "true" : undefined }));
  const off = busy || frozen;
  return (
    <div class="row-details">
      <div>
        <h3>Real sentences most like it</h3>
        <Waiting asked={asked} label="Looking for the nearest sentences…">
          {(found) => (
            <ol class="near">
              {found.items.map((each) => (
                <li key={each.text}>
                  <q>{each.text}</q> <span class="soft small number">({each.similarity.toFixed(2)})</span>
                  <span class="soft small near-rows">
                    in {each.documents.map((document) => (
                      <button key={document.row} type="button" class="plain" onClick={() => setRow(document.row)}>
                        row {document.row}, “{shorten(document.label, 24)}”
                      </button>
                    ))}
                    {each.n_documents > each.documents.length && ` and ${each.n_documents - each.documents.length} more`}
                  </span>
                </li>
              ))}
            </ol>
          )}
        </Waiting>
      </div>
      <div class="edit-forms">
        <h3>Change it in the draft</h3>
        <form onSubmit={(event) => { event.preventDefault(); edit({ rename: { [item.id]: name.trim() } }, "Renamed in the draft."); }}>
          <label class="field grow">
            <span>Name</span>
            <input value={name} maxLength={80} placeholder="such as: dirty room" onInput={(event) => setName(event.currentTarget.value)} />
          </label>
          <button disabled={off || name.trim() === (item.name ?? "")}>Rename</button>
        </form>
        <form onSubmit={(event) => { event.preventDefault(); edit({ replace: { [item.id]: sentence.trim() } }, "Replaced in the draft."); }}>
          <label class="field grow">
            <span>Sentence</span>
            <textarea rows={2} value={sentence} onInput={(event) => setSentence(event.currentTarget.value)} />
          </label>
          <button disabled={off || !sentence.trim() || sentence.trim() === item.sentence}>Replace</button>
        </form>
        <form onSubmit={(event) => { event.preventDefault(); edit({ merge: [[Number(into), item.id]] }, "Merged in the draft."); }}>
          <label class="field grow">
            <span>Merge into</span>
            <select value={into} onChange={(event) => setInto(event.currentTarget.value)}>
              <option value="">choose another…</option>
              {others.map((each) => <option key={each.id} value={each.id}>{each.id}: {shorten(each.name ?? each.sentence, 60)}</option>)}
            </select>
          </label>
          <button disabled={off || !into}>Merge</button>
        </form>
        <button type="button" class="danger" disabled={off} onClick={() => edit({ drop: [item.id] }, "Dropped in the draft.")}>
          Drop this prototype
        </button>
      </div>
      {row !== null && <DocumentDialog model={model} row={row} close={() => setRow(null)} />}
    </div>
  );
}
