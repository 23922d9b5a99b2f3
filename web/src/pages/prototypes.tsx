/* Prototypes: what the model thinks in, and a draft in which it is changed. */
import { useEffect, useState } from "preact/hooks";
import { ask, modelPath, query } from "../api";
import type { PageProps } from "../context";
import type { Draft, Edits, ListedPrototype, MistakePage, PrototypePage } from "../desk";
import { useAction, useAnswer, useRested } from "../hooks";
import { LeaningBar, Notice, PageHead, Pager, Waiting } from "../parts/common";
import { DraftPanel } from "../parts/draft-panel";
import { ChangedTag, FamilyCard, NearestList, TargetForm, TextForm, type ItemProps } from "../parts/family";
import { PrototypeMap } from "../parts/prototype-map";
import { leading } from "../scale";
import { suggestionFor } from "../suggesting";
import { exactPercent, hasFamilies, percent, plural, shorten } from "../wording";

const SIZE = 25;
const MOST = 200;

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
  const all = useAnswer<PrototypePage>(`${base}/page${query({ size: MOST, draft: "true" })}`);
  const mistakes = useAnswer<MistakePage>(model.has_data ? `${modelPath(model.name, "mistakes")}?size=1` : null);
  const misled = new Map((mistakes.data?.filters.prototypes ?? []).map((each) => [each.id, each.n]));
  const { busy, error, act } = useAction();
  const [isPinnedOpen, setIsPinnedOpen] = useState(true);
  useEffect(() => setPage(1), [rested, sort]);

  const changed = () => {
    draft.reload();
    asked.reload();
    all.reload();
  };
  const edit = (edits: Edits, said: string) =>
    act(async () => {
      await ask(modelPath(model.name, "draft", "edits"), { body: { ...edits, revision: draft.data?.revision } });
      props.announce(said);
      changed();
    });
  const [chosen, setChosen] = useState<number | null>(null);
  const wanted = chosen ?? (place.state.id === undefined ? null : Number(place.state.id));
  const families = hasFamilies(model) || (draft.data !== null && hasFamilies(draft.data));
  const pinned = all.data?.items.find((each) => each.id === wanted);
  const Item = families ? FamilyCard : Row;
  const suggestions = new Map(
    (all.data?.items ?? []).map((each) => [each.id, suggestionFor(each, scale, misled.get(each.id), mistakes.data?.n_mistakes)]),
  );
  const suggested = new Set([...suggestions].filter(([, words]) => words).map(([id]) => id));
  const openFromMap = (id: number) => {
    setChosen(id);
    setIsPinnedOpen(true);
    requestAnimationFrame(() => document.querySelector(".pinned")?.scrollIntoView({ behavior: "smooth", block: "center" }));
  };
  const row = (item: ListedPrototype, isOpen: boolean, toggle: () => void) => (
    <Item
      key={item.id}
      {...{ model, scale, item, isOpen, toggle, edit, busy }}
      misled={misled.get(item.id) ?? 0}
      suggestion={suggestions.get(item.id) ?? null}
      others={(all.data?.items ?? []).filter((each) => each.id !== item.id)}
      isDraft={asked.data?.draft ?? false}
      frozen={draft.data?.stale || Boolean(draft.data?.job)}
      revision={draft.data?.revision ?? 0}
      search={rested}
    />
  );
  const safely = "nothing is changed in the model that is served until you publish.";
  return (
    <>
      {families ? (
        <PageHead title={`The ${plural(model.n_prototypes, "kind")} of sentences the model thinks in`}>
          Each <em>prototype</em> is made of real sentences from the texts it learned from,{" "}
          {model.n_members.toLocaleString("en")} in all. A sentence of a new text is matched to the one most like it, and
          counts as its prototype. If one is useless or misleading, change it here: {safely}
        </PageHead>
      ) : (
        <PageHead title={`The ${plural(model.n_prototypes, "sentence")} the model thinks in`}>
          Real sentences from the texts it learned from. Every sentence of a new text is matched to one of these. If one is
          useless or misleading, change it here: {safely}
        </PageHead>
      )}
      {families && all.data && all.data.items.length > 1 && <PrototypeMap items={all.data.items} {...{ scale, suggested }} open={openFromMap} />}
      <div class="with-side">
        <section class="panel list-panel" aria-label="Prototypes">
          <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
            <label class="field grow">
              <span>Search</span>
              <input type="search" value={search} placeholder={families ? "Words of its sentences or name" : "Words of the sentence or name"} onInput={(event) => setSearch(event.currentTarget.value)} />
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
            <ul class={`rows pinned ${families ? "families" : ""}`} aria-label="The prototype you came for">
              {row(pinned, isPinnedOpen, () => setIsPinnedOpen(!isPinnedOpen))}
            </ul>
          )}
          <Waiting asked={asked} label="Fetching the prototypes…">
            {(found) => (
              <>
                {found.stale_figures && <p class="soft small">How often each is used was counted before the changes in the draft.</p>}
                {found.items.length === 0 && <p class="soft">No prototype holds these words.</p>}
                {!families && (
                  <>
                    <h2 class="unseen">All prototypes</h2>
                    <div class="row-heads" aria-hidden="true">
                      <span /><span>Prototype</span><span>Alone, it says</span><span>Used by</span><span>Its texts</span>
                    </div>
                  </>
                )}
                <ul class={families ? "rows families" : "rows"} aria-busy={asked.loading}>
                  {found.items.map((item) => row(item, open === item.id, () => setOpen(open === item.id ? null : item.id)))}
                </ul>
                <Pager page={found.page} size={found.size} total={found.total} of="prototypes" go={setPage} />
                <p class="soft small">
                  Alone, it says: the model’s answer to a text of this sentence only. Used by: share of all sentences matched
                  to it. Its texts: share of the texts with such a sentence that bear the label it speaks for.
                  {families && " Members agree: how far the texts of its sentences differ in their labels."}
                </p>
              </>
            )}
          </Waiting>
        </section>
        <aside class="side">
          {draft.error ? <Notice>{draft.error}</Notice> : draft.data && (
            <DraftPanel {...props} draft={draft.data} changed={changed} published={() => { changed(); props.refresh(); }} />
          )}
        </aside>
      </div>
    </>
  );
}

function Row(props: ItemProps) {
  const { scale, item, isOpen, toggle } = props;
  const says = leading(scale, item.scores);
  const observed = item.class_rate[says.label];
  return (
    <li class={`row hue-${says.hue}`}>
      <button type="button" class="row-body" aria-expanded={isOpen} onClick={toggle}>
        <span class="row-id">{item.id}</span>
        <span class="row-sentence">
          {item.name && <b>{item.name}: </b>}{item.sentence}
          {item.changed && <ChangedTag changed={item.changed} />}
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

function Details({ model, item, edit, busy, others, isDraft, frozen }: ItemProps) {
  const off = busy || frozen;
  return (
    <div class="row-details">
      <div>
        <h3>Real sentences most like it</h3>
        <NearestList {...{ model, isDraft }} id={item.id} />
      </div>
      <div class="edit-forms">
        <h3>Change it in the draft</h3>
        <TextForm label="Name" button="Rename" value={item.name ?? ""} placeholder="such as: dirty room" off={off} mayBeEmpty
          send={(name) => edit({ rename: { [item.id]: name } }, "Renamed in the draft.")} />
        <TextForm label="Sentence" button="Replace" value={item.sentence} off={off}
          send={(sentence) => edit({ replace: { [item.id]: sentence } }, "Replaced in the draft.")} />
        <TargetForm others={others} label="Merge into" button="Merge" off={off}
          send={(into) => edit({ merge: [[into, item.id]] }, "Merged in the draft.")} />
        <button type="button" class="danger" disabled={off} onClick={() => edit({ drop: [item.id] }, "Dropped in the draft.")}>
          Drop this prototype
        </button>
      </div>
    </div>
  );
}
