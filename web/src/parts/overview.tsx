/* What the texts of a table are about: prototypes by frequency, over time or by group. */
import { useState } from "preact/hooks";
import { modelPath, query } from "../api";
import type { PageProps } from "../context";
import type { BatchView, Overview } from "../desk";
import { useAnswer } from "../hooks";
import { leading, linePath } from "../scale";
import { sparkline, tallies, type Tally } from "../tallying";
import { hasFamilies, percent, plural, rowName, shorten } from "../wording";
import { BatchRows } from "./batch-rows";
import { ClassName, Share, Waiting } from "./common";

const FIRST = 15;

export function OverviewPanel(props: PageProps & { batch: BatchView }) {
  const { model, batch } = props;
  const [by, setBy] = useState<Overview["by"]>("all");
  const [key, setKey] = useState<string | null>(null);
  const [prototype, setPrototype] = useState("");
  const asked = useAnswer<Overview>(`${modelPath(model.name, "batches", batch.id)}/overview${query({ by })}`);
  const showTexts = (id: number) => {
    setPrototype(String(id));
    document.getElementById("rows")?.scrollIntoView({ behavior: "smooth" });
  };
  const views: [Overview["by"], string, boolean][] = [
    ["all", "All texts", true],
    ["group", `By ${batch.group}`, batch.group !== null],
    ["time", `Over time`, batch.time !== null],
  ];
  return (
    <>
    <section class="panel" aria-labelledby="overview-title">
      <div class="list-head">
        <h2 id="overview-title">What comes up how often</h2>
        <div class="buttons" role="group" aria-label="View">
          {views.filter(([, , has]) => has).map(([name, title]) => (
            <button key={name} type="button" aria-pressed={by === name} class={by === name ? "chosen" : ""} onClick={() => { setBy(name); setKey(null); }}>
              {title}
            </button>
          ))}
        </div>
      </div>
      <Waiting asked={asked} label="Counting…">
        {(overview) => overview.by === by && <Counted {...props} overview={overview} chosen={key} choose={setKey} showTexts={showTexts} />}
      </Waiting>
    </section>
    {asked.data && <BatchRows {...props} overview={asked.data} prototype={prototype} choose={setPrototype} />}
    </>
  );
}

function Counted({ model, scale, overview, chosen, choose, showTexts }: PageProps & { overview: Overview; chosen: string | null; choose: (key: string | null) => void; showTexts: (id: number) => void }) {
  const [all, setAll] = useState(false);
  const counted = tallies(overview, chosen);
  const shown = all ? counted : counted.slice(0, FIRST);
  const at = chosen === null ? -1 : overview.keys.indexOf(chosen);
  const n = at < 0 ? overview.n_documents : (overview.documents[at] ?? 0);
  const top = Math.max(...counted.map((each) => each.share), 1e-9);
  return (
    <>
      {overview.by === "group" && (
        <label class="field group-choice">
          <span>{overview.column}</span>
          <select value={chosen ?? ""} onChange={(event) => choose(event.currentTarget.value || null)}>
            <option value="">all</option>
            {overview.keys.map((key, i) => <option key={key} value={key}>{shorten(key, 50)} ({overview.documents[i]})</option>)}
          </select>
        </label>
      )}
      <p class="answers">
        {plural(n, "text")}:{" "}
        {overview.labels.map((each, i) => {
          const count = at < 0 ? each.n : (each.counts[at] ?? 0);
          return <span key={each.label}>{i > 0 && ", "}<ClassName scale={scale} label={each.label} /> <span class="number">{percent(count / Math.max(n, 1))}</span></span>;
        })}
      </p>
      {overview.n_unfamiliar !== null && (
        <p class="soft small">
          {percent((at < 0 ? overview.n_unfamiliar : (overview.unfamiliar[at] ?? 0)) / Math.max(at < 0 ? overview.n_sentences : (overview.sentences[at] ?? 0), 1))} of
          the sentences are unlike anything the model learned from; where they are many, its answers mean less.
        </p>
      )}
      {overview.by === "time" && <p class="soft small">Each little line is the share of texts per {overview.bucket} that hold such a sentence, from {overview.keys[0]} to {overview.keys.findLast((key) => key !== "(none)")}.</p>}
      {chosen !== null && <p class="soft small">The tick on a bar is the share in all texts.</p>}
      <ol class="tallies">
        {shown.map((each) => <Row key={each.prototype.id} {...{ each, model, scale, overview, top, showTexts }} compare={chosen !== null} />)}
      </ol>
      {counted.length > FIRST && <button type="button" onClick={() => setAll(!all)}>{all ? "Show fewer" : `Show all ${counted.length}`}</button>}
    </>
  );
}

function Row({ each, model, scale, overview, top, compare, showTexts }: Pick<PageProps, "model" | "scale"> & { each: Tally; overview: Overview; top: number; compare: boolean; showTexts: (id: number) => void }) {
  const { prototype } = each;
  const families = hasFamilies(model);
  const says = leading(scale, prototype.scores);
  const periods = each.shares.filter((_, i) => overview.keys[i] !== "(none)");
  const most = Math.max(...periods, 0);
  return (
    <li class={`tally hue-${says.hue}`}>
      <details>
        <summary>
          <span class="tally-sentence">{prototype.name && <b>{prototype.name}{families ? "" : ": "}</b>}{(!families || !prototype.name) && prototype.sentence} <ClassName scale={scale} label={says.label} /></span>
          {overview.by === "time" ? (
            <svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={`Shares from first to last: ${periods.map(percent).join(", ")}`}>
              <path d={linePath(sparkline(periods, most))} />
            </svg>
          ) : (
            <span class="tally-bar">
              <Share value={each.share / top} />
              {compare && <svg class="tick-mark" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect x={Math.min((100 * each.usual) / top, 99)} width="1" height="8" /></svg>}
            </span>
          )}
          <span class="number tally-share">{percent(each.share)}{compare && <span class="soft small"> (all: {percent(each.usual)})</span>}</span>
        </summary>
        <p class="small soft">In {plural(prototype.n_documents, "text")}, {plural(prototype.n_sentences, "sentence")}. {prototype.words.length > 0 && `Its words: ${prototype.words.join(", ")}. `}The nearest of them:</p>
        <ol class="near">
          {prototype.top.map((one, i) => (
            <li key={i}><q>{one.sentence}</q> <span class="soft small">{rowName(one.row)}, answered “{one.label}” ({one.similarity.toFixed(2)}{families && one.member_sentence !== one.sentence && <>, like <q>{shorten(one.member_sentence, 90)}</q></>})</span></li>
          ))}
        </ol>
        <button type="button" onClick={() => showTexts(prototype.id)}>Show {prototype.n_documents === 1 ? "this text" : `these ${plural(prototype.n_documents, "text")}`}</button>
      </details>
    </li>
  );
}
