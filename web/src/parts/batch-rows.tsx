/* The texts of a table with their answers, to look at and to filter. */
import { useEffect, useState } from "preact/hooks";
import { modelPath, query } from "../api";
import type { PageProps } from "../context";
import type { BatchRow, BatchView, Overview } from "../desk";
import { useAnswer, useRested } from "../hooks";
import { formatPlace } from "../routing";
import type { Page } from "../types";
import { captionOf, percent, shorten } from "../wording";
import { ClassName, Pager, Waiting } from "./common";

interface Props extends PageProps {
  batch: BatchView;
  overview: Overview;
  prototype: string;
  choose: (prototype: string) => void;
}

export function BatchRows({ model, scale, batch, overview, prototype, choose }: Props) {
  const [label, setLabel] = useState("");
  const [search, setSearch] = useState("");
  const [page, setPage] = useState(1);
  const rested = useRested(search);
  useEffect(() => setPage(1), [label, rested, prototype]);
  const asked = useAnswer<Page<BatchRow>>(`${modelPath(model.name, "batches", batch.id)}/rows${query({ label, prototype, search: rested, page, size: 20 })}`);
  return (
    <section class="panel" id="rows" aria-labelledby="rows-title">
      <h2 id="rows-title">The texts</h2>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label class="field grow">
          <span>Holds the words</span>
          <input type="search" value={search} onInput={(event) => setSearch(event.currentTarget.value)} />
        </label>
        <label class="field">
          <span>Answered</span>
          <select value={label} onChange={(event) => setLabel(event.currentTarget.value)}>
            <option value="">any</option>
            {overview.labels.map((each) => <option key={each.label} value={each.label}>{shorten(each.label, 40)} ({each.n})</option>)}
          </select>
        </label>
        <label class="field">
          <span>Has a sentence like</span>
          <select value={prototype} onChange={(event) => choose(event.currentTarget.value)}>
            <option value="">any prototype</option>
            {overview.prototypes.map((each) => <option key={each.id} value={String(each.id)}>{each.id}: {shorten(captionOf(each), 44)} ({each.n_documents})</option>)}
          </select>
        </label>
      </form>
      <Waiting asked={asked} label="Fetching the texts…">
        {(found) => (
          <>
            <ul class="batch-rows" aria-busy={asked.loading}>
              {found.items.map((each, i) => (
                <li key={i}>
                  <span class="batch-answer"><ClassName scale={scale} label={each.label} /> <span class="number">{percent(each.probability)}</span></span>
                  <a href={formatPlace({ page: "read", model: model.name, state: { text: each.text } })}>{shorten(each.text, 300)}</a>
                </li>
              ))}
            </ul>
            {found.total === 0 && <p class="soft">No text fits the filter.</p>}
            <Pager page={found.page} size={found.size} total={found.total} of="texts" go={setPage} />
          </>
        )}
      </Waiting>
    </section>
  );
}
