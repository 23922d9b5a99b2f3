/* Mistakes: wrong answers on texts held out, what misled the model, and labels that are wrong. */
import { useEffect, useState } from "preact/hooks";
import { ask, fetchFile, modelPath, query } from "../api";
import type { PageProps } from "../context";
import type { Mistake, MistakePage, Slice } from "../desk";
import { useAction, useAnswer, useRested } from "../hooks";
import { ClassName, download, Name, Notice, PageHead, Pager, Share, Waiting } from "../parts/common";
import { Confusion } from "../parts/confusion";
import { StepRow } from "../parts/steps";
import { TrajectoryChart } from "../parts/trajectory-chart";
import { formatPlace } from "../routing";
import { standsOut } from "../tallying";
import { captionOf, hasFamilies, percent, plural, rowName, shorten, unitOffset, withoutBlamed } from "../wording";

const EMPTY = {
  truth: "", predicted: "", pattern: "", prototype: "", blamed: "", marked: "",
  min_sentences: "", max_sentences: "", min_confidence: "", max_confidence: "", search: "", word: "", sort: "-confidence",
};
type Filters = typeof EMPTY;

export function Mistakes(props: PageProps) {
  const { model } = props;
  const [filters, setFilters] = useState<Filters>({ ...EMPTY, ...askedFor(props.place.state) });
  const [page, setPage] = useState(1);
  const rested = useRested(filters);
  const path = modelPath(model.name, "mistakes");
  const sent = query({ ...rested, min_confidence: share(rested.min_confidence), max_confidence: share(rested.max_confidence) });
  const asked = useAnswer<MistakePage>(`${path}${sent ? `${sent}&` : "?"}page=${page}&size=10`);
  const { busy, error, act } = useAction();
  useEffect(() => setPage(1), [rested]);
  // A link from another page, or a cell of the matrix.
  useEffect(() => {
    const wanted = askedFor(props.place.state);
    if (Object.keys(wanted).length) setFilters({ ...EMPTY, ...wanted });
  }, [props.place.state]);
  const set = (change: Partial<Filters>) => setFilters((before) => ({ ...before, ...change }));
  return (
    <>
      <PageHead title="Where does it go wrong?">
        Texts that the model did not learn from and answers otherwise than their label says. Often one sentence is to
        blame; sometimes it is the label that is wrong.
      </PageHead>
      <Waiting asked={asked} label="Reading the texts held out: this is done once, and takes a while.">
        {(found) => (
          <>
            <Gathered {...props} found={found} filters={filters} choose={(holds) => setFilters({ ...EMPTY, ...holds })} />
            <FilterForm {...{ found, filters, set, model }} clear={() => { setFilters(EMPTY); props.keep({}); }} />
            <div class="list-head">
              <p>
                <b>{found.n_mistakes.toLocaleString("en")}</b> of {plural(found.n_documents, "text")} are answered wrongly
                {found.total !== found.n_mistakes && `; ${found.total.toLocaleString("en")} fit the filter`}.
              </p>
              <button
                type="button"
                disabled={busy || !found.total}
                onClick={() => act(async () => download(await fetchFile(`${path}.csv${sent}`), `${model.name}-mistakes.csv`))}
              >
                Save as CSV
              </button>
            </div>
            {error && <Notice>{error}</Notice>}
            <ul class="mistakes" aria-busy={asked.loading}>
              {found.items.map((item) => <Card key={item.row} {...props} item={item} changed={asked.reload} blame={(id) => set({ blamed: String(id) })} />)}
            </ul>
            {found.total === 0 && found.n_mistakes > 0 && <p class="soft">No mistake fits the filter.</p>}
            <Pager page={found.page} size={found.size} total={found.total} of="mistakes" go={(next) => { setPage(next); scrollTo({ top: 0 }); }} />
          </>
        )}
      </Waiting>
    </>
  );
}

function share(written: string): string {
  return written === "" ? "" : String(Math.min(Math.max(Number(written) / 100, 0), 1));
}

/** What of a link's state are filters. */
function askedFor(state: Record<string, string>): Partial<Filters> {
  return Object.fromEntries(Object.entries(state).filter(([name]) => name in EMPTY));
}

const KINDS: [Slice["kind"], string][] = [
  ["length", "By length"], ["class", "By label"], ["prototype", "Texts with a sentence like"], ["word", "Texts with the word"],
];

/** Where mistakes gather: the confusion matrix, and slices of the texts; each leads to its mistakes. */
function Gathered({ model, found, filters, choose }: PageProps & { found: MistakePage; filters: Filters; choose: (holds: Partial<Filters>) => void }) {
  const overall = found.n_mistakes / Math.max(found.n_documents, 1);
  return (
    <section class="panel gathered" aria-labelledby="gathered-title">
      <h2 id="gathered-title">Where they gather</h2>
      <p class="soft small">Shares answered wrongly; in all it is {percent(overall)} of {found.n_documents.toLocaleString("en")}. Choose any to see its mistakes.</p>
      {found.note && <p class="soft small">{found.note}</p>}
      <div class="gathered-body">
        {found.confusion && (
          <Confusion
            counts={found.confusion}
            names={model.classes}
            chosen={filters}
            href={(truth, predicted) => formatPlace({ page: "mistakes", model: model.name, state: { truth, predicted } })}
          />
        )}
        {KINDS.map(([kind, title]) => {
          const slices = found.slices.filter((each) => each.kind === kind && each.n_documents > 0);
          return slices.length > 0 && (
            <div key={kind} class={kind}>
              <h3>{title}</h3>
              <ul class="slices">
                {slices.map((each) => {
                  const share = each.n_wrong / each.n_documents;
                  const holds = Object.fromEntries(Object.entries(each.holds).map(([name, value]) => [name, String(value)]));
                  const isChosen = Object.entries(holds).every(([name, value]) => filters[name as keyof Filters] === value);
                  return (
                    <li key={each.name}>
                      <button type="button" aria-pressed={isChosen} class={standsOut(each, overall) ? "worse" : ""} onClick={() => choose(isChosen ? {} : holds)}>
                        <span><Name of={shorten(each.name, 60)} /></span>
                        <Share value={share / Math.max(3 * overall, 1e-9)} />
                        <span class="number">{percent(share)} <span class="soft">of {each.n_documents.toLocaleString("en")}</span></span>
                      </button>
                    </li>
                  );
                })}
              </ul>
            </div>
          );
        })}
      </div>
    </section>
  );
}

interface FormProps {
  found: MistakePage;
  filters: Filters;
  set: (change: Partial<Filters>) => void;
  clear: () => void;
}

function FilterForm({ found, filters, set, clear }: FormProps) {
  const { patterns, prototypes, truths, predicted, longest } = found.filters;
  const isFiltered = JSON.stringify(filters) !== JSON.stringify(EMPTY);
  const choice = (name: keyof Filters, label: string, options: [string, string][]) => (
    <label class="field">
      <span>{label}</span>
      <select value={filters[name]} onChange={(event) => set({ [name]: event.currentTarget.value })}>
        <option value="">any</option>
        {options.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </label>
  );
  const range = (low: keyof Filters, high: keyof Filters, label: string, max: number) => (
    <fieldset class="field">
      <legend class="soft">{label}</legend>
      <div class="range">
        {[low, high].map((name, i) => (
          <>
            {i > 0 && <span>to</span>}
            <input
              type="number"
              min={0}
              max={max}
              aria-label={`${label} ${i ? "at most" : "at least"}`}
              value={filters[name]}
              onInput={(event) => set({ [name]: event.currentTarget.value })}
            />
          </>
        ))}
      </div>
    </fieldset>
  );
  return (
    <details class="panel filter-panel" open={isFiltered || matchMedia("(min-width: 60rem)").matches}>
      <summary>Filter and sort</summary>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        {choice("truth", "Labelled", truths.map((name) => [name, shorten(name, 40)]))}
        {choice("predicted", "Answered", predicted.map((name) => [name, shorten(name, 40)]))}
        {choice("blamed", "Misled by prototype", prototypes.map((each) => [String(each.id), `${each.id}: ${shorten(captionOf(each), 44)} (${each.n})`]))}
        {choice("pattern", "Misled by beginning", [
          ...patterns.filter((each) => each.key !== "none").map((each): [string, string] => [each.key, `${each.prototypes.join(" → ")}, “${shorten(each.label, 20)}” (${each.n})`]),
          ["none", "no beginning alone"],
        ])}
        <label class="field">
          <span>Holds the words</span>
          <input type="search" value={filters.search} onInput={(event) => set({ search: event.currentTarget.value })} />
        </label>
        {choice("prototype", "Has a sentence of prototype", prototypes.map((each) => [String(each.id), `${each.id}: ${shorten(captionOf(each), 44)}`]))}
        {range("min_sentences", "max_sentences", "Number of sentences", longest)}
        {range("min_confidence", "max_confidence", "Certainty in percent", 100)}
        {choice("marked", "Label marked wrong", [["true", "yes"], ["false", "no"]])}
        <label class="field">
          <span>Sort by</span>
          <select value={filters.sort} onChange={(event) => set({ sort: event.currentTarget.value })}>
            <option value="-confidence">surest first</option>
            <option value="confidence">least sure first</option>
            <option value="sentences">shortest first</option>
            <option value="-sentences">longest first</option>
            <option value="row">row</option>
          </select>
        </label>
        {isFiltered && <button type="button" class="plain" onClick={clear}>Clear the filter</button>}
      </form>
    </details>
  );
}

function Card({ model, scale, item, changed, blame, announce }: PageProps & { item: Mistake; changed: () => void; blame: (id: number) => void }) {
  const [isOpen, setIsOpen] = useState(false);
  const asked = useAnswer<Mistake>(isOpen ? modelPath(model.name, "mistakes", item.row) : null);
  const { blamed } = item;
  return (
    <li class="panel mistake">
      <header>
        <p>
          Labelled <ClassName scale={scale} label={item.truth} />, answered <ClassName scale={scale} label={item.predicted} />{" "}
          <span class="number">{percent(item.confidence)}</span>
        </p>
        <p class="soft small">{rowName(item.row)}, {plural(item.n_sentences, "sentence")}</p>
      </header>
      {/* A long text scrolls, so the keyboard must reach it. */}
      <p class="document clamp" role="group" aria-label={`Text of ${rowName(item.row)}`} tabIndex={0}><Blamed item={item} /></p>
      {blamed ? (
        <p class="blame small">
          Most to blame is the marked sentence: it is taken for <q>{blamed.prototype_sentence}</q>{" "}
          ({hasFamilies(model) && `of prototype ${blamed.prototype}, “${blamed.headline}”; `}{blamed.unfamiliar && "unlike anything it learned from; "}similarity {blamed.similarity.toFixed(2)}). {withoutBlamed(item.predicted, item.confidence, blamed.effect)}
        </p>
      ) : (
        <p class="small soft">No sentence alone is to blame: the answer would hardly change without any one of them.</p>
      )}
      {item.pattern && (
        <p class="small soft">
          It begins as texts do that get “{item.pattern.label}” in {percent(item.pattern.purity)} of {plural(item.pattern.support, "case")}.
        </p>
      )}
      <MarkForm {...{ model, item, changed, announce }} />
      <div class="buttons">
        <button type="button" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>{isOpen ? "Hide its course" : "Show its course"}</button>
        <a class="button" href={formatPlace({ page: "read", model: model.name, state: { text: item.text } })}>Try it in Read</a>
        {blamed && <button type="button" onClick={() => blame(blamed.prototype)}>Others misled so</button>}
      </div>
      {isOpen && (
        <Waiting asked={asked} label="Reading it…">
          {(found) => found.explanation && (
            <div class="course">
              <TrajectoryChart explanation={found.explanation} scale={scale} selected={blamed?.position ?? null} height={200} />
              <ol class="steps">
                {found.explanation.sentences.map((step, i) => (
                  <StepRow key={i} step={step} place={i} scale={scale} blamed={i === blamed?.position} families={hasFamilies(model)} />
                ))}
              </ol>
            </div>
          )}
        </Waiting>
      )}
    </li>
  );
}

/** The text with the sentence marked that is most to blame. */
function Blamed({ item }: { item: Mistake }) {
  const { blamed } = item;
  if (!blamed) return <>{item.text}</>;
  const from = unitOffset(item.text, blamed.start);
  const to = unitOffset(item.text, blamed.end);
  return <>{item.text.slice(0, from)}<mark class="to-blame">{item.text.slice(from, to)}</mark>{item.text.slice(to)}</>;
}

function MarkForm({ model, item, changed, announce }: Pick<PageProps, "model" | "announce"> & { item: Mistake; changed: () => void }) {
  const [note, setNote] = useState(item.mark?.note ?? "");
  const { busy, error, act } = useAction();
  const [isMarked, setIsMarked] = useState(item.mark?.wrong_label ?? false);
  // What the server has confirmed counts; the box only does not make one wait for it.
  useEffect(() => setIsMarked(item.mark?.wrong_label ?? false), [item.mark?.wrong_label, error]);
  const send = (wrong: boolean) => {
    setIsMarked(wrong);
    return act(async () => {
      await ask(modelPath(model.name, "mistakes", item.row, "mark"), { body: { wrong_label: wrong, note: wrong ? note : "" } });
      announce(wrong ? "Marked: its label is wrong." : "The mark was taken away.");
      changed();
    });
  };
  return (
    <form class="mark-form" onSubmit={(event) => { event.preventDefault(); void send(true); }}>
      <label class="switch">
        <input type="checkbox" checked={isMarked} disabled={busy} onChange={(event) => void send(event.currentTarget.checked)} />
        <span>The label is wrong</span>
      </label>
      {isMarked && (
        <>
          <label class="unseen" for={`note-${item.row}`}>Note</label>
          <input id={`note-${item.row}`} value={note} maxLength={2000} placeholder="Note (optional)" onInput={(event) => setNote(event.currentTarget.value)} />
          {note !== (item.mark?.note ?? "") && <button disabled={busy}>Save note</button>}
        </>
      )}
      {error && <Notice>{error}</Notice>}
    </form>
  );
}
