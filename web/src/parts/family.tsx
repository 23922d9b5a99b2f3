/* A prototype of many sentences: a card that tells what it stands for, and its sentences to look through and change. */
import { useEffect, useRef, useState } from "preact/hooks";
import { modelPath, query } from "../api";
import type { PageProps } from "../context";
import type { Edits, ListedPrototype, MemberPage, Nearest } from "../desk";
import { useAnswer, useRested } from "../hooks";
import { formatPlace } from "../routing";
import { leading } from "../scale";
import type { Member, Prototype } from "../types";
import { agreement, captionOf, exactPercent, percent, plural, rowName, shorten } from "../wording";
import { LeaningBar, Pager, Share, Waiting } from "./common";
import { DocumentDialog } from "./document";

const SHOWN = 3;
const SIZE = 12;

export interface ItemProps extends Pick<PageProps, "model" | "scale"> {
  item: ListedPrototype;
  isOpen: boolean;
  toggle: () => void;
  edit: (edits: Edits, said: string) => void;
  busy: boolean;
  others: Prototype[];
  isDraft: boolean;
  frozen: boolean;
  revision: number;
  search: string;
  /** Mistakes that one of its sentences is most to blame for. */
  misled: number;
  suggestion: string | null;
}

export function FamilyCard(props: ItemProps) {
  const { scale, item, isOpen, toggle, search } = props;
  const says = leading(scale, item.scores);
  const observed = item.class_rate[says.label];
  const title = captionOf(item);
  const some = item.members.map((each) => each.sentence).filter((each) => search || each !== item.sentence);
  const shown = item.name && !search ? [item.sentence, ...some] : some;
  return (
    <li class={`family hue-${says.hue}`}>
      <h2 class="family-title">
        <button type="button" aria-expanded={isOpen} onClick={toggle}>{title}</button>
      </h2>
      <p class="family-tags">
        <span class="soft small">Prototype {item.id}</span>
        {item.words.map((word) => <span key={word} class="chip">{word}</span>)}
        {item.changed && <ChangedTag changed={item.changed} />}
      </p>
      {!isOpen && item.n_members > 1 && (
        <ul class="family-members">
          {shown.slice(0, SHOWN).map((each) => <li key={each}><q>{shorten(each, 150)}</q></li>)}
        </ul>
      )}
      <dl class="family-facts">
        <div><dt>Alone, it says</dt><dd><LeaningBar scale={scale} distribution={item.scores} /></dd></div>
        <div><dt>Used by</dt><dd>{exactPercent(item.usage)} of sentences</dd></div>
        {observed !== undefined && <div><dt>Its texts</dt><dd>{percent(observed)} are “{shorten(says.label, 20)}”</dd></div>}
        {item.n_members > 1 && <div><dt>Its {plural(item.n_members, "sentence")}</dt><dd>{agreement(item.spread, scale.classes.length)}</dd></div>}
      </dl>
      {props.suggestion && <p class="suggestion small"><b>Suggestion</b> {props.suggestion}</p>}
      {isOpen && <Opened {...props} />}
    </li>
  );
}

export function ChangedTag({ changed }: { changed: string }) {
  const words = changed.replace("merged into", "others merged into it").replace("regrouped", "its sentences changed").replaceAll(" and ", ", ");
  return <span class="tag">{words}</span>;
}

function Opened(props: ItemProps) {
  const { item, edit, busy, frozen } = props;
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  useEffect(() => setChosen(new Set()), [props.revision]);
  const off = busy || frozen;
  return (
    <div class="family-details">
      {item.far_off.length > 0 && (
        <p class="small">
          <span class="soft">Farthest off among its sentences:</span>{" "}
          {item.far_off.map((each, i) => <>{i > 0 && " and "}<q>{shorten(each, 120)}</q></>)}
        </p>
      )}
      {props.misled > 0 && (
        <p class="small">
          <a href={formatPlace({ page: "mistakes", model: props.model.name, state: { blamed: String(item.id) } })}>
            It misled the model in {plural(props.misled, "text")}: see what was taken for it
          </a>
        </p>
      )}
      <Members {...props} chosen={chosen} choose={setChosen} />
      {chosen.size > 0 && <Chosen {...props} ids={[...chosen]} off={off} clear={() => setChosen(new Set())} />}
      <section class="family-edit" aria-label="Change the prototype in the draft">
        <h3>Change it in the draft</h3>
        <div class="edit-forms wide">
          <TextForm label="Name" button="Rename" value={item.name ?? ""} placeholder="such as: dirty room" off={off} mayBeEmpty
            send={(name) => edit({ rename: { [item.id]: name } }, "Renamed in the draft.")} />
          <TextForm label="Add a sentence" button="Add" value="" placeholder="one that belongs here" off={off}
            send={(sentence) => edit({ add: [{ prototype: item.id, sentence }] }, "Added in the draft.")} />
          {item.n_members === 1 && (
            <TextForm label="Replace its sentence" button="Replace" value={item.sentence} off={off}
              send={(sentence) => edit({ replace: { [item.id]: sentence } }, "Replaced in the draft.")} />
          )}
          <TargetForm {...props} label="Merge into" button="Merge" off={off}
            send={(into) => edit({ merge: [[into, item.id]] }, "Merged in the draft.")} />
          <button type="button" class="danger" disabled={off} onClick={() => edit({ drop: [item.id] }, "Dropped in the draft.")}>
            Drop this prototype
          </button>
        </div>
      </section>
    </div>
  );
}

interface MembersProps extends ItemProps {
  chosen: ReadonlySet<number>;
  choose: (ids: ReadonlySet<number>) => void;
}

function Members({ model, scale, item, isDraft, revision, search: found, chosen, choose }: MembersProps) {
  const [search, setSearch] = useState(found);
  const [page, setPage] = useState(1);
  const rested = useRested(search);
  const path = modelPath(model.name, "prototypes", item.id, "members");
  const asked = useAnswer<MemberPage>(path + query({ search: rested, page, size: SIZE, draft: isDraft ? "true" : undefined }));
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => setPage(1), [rested]);
  useEffect(() => {
    if (!asked.data) return;
    asked.reload();
    // The button that was pressed may be gone.
    if (document.activeElement === document.body) title.current?.focus({ preventScroll: true });
  }, [revision]);
  useEffect(() => {
    if (asked.data?.items.length === 0 && page > 1) setPage(page - 1);
  }, [asked.data]);
  const toggle = (id: number) => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    choose(next);
  };
  return (
    <section aria-label={`Sentences of prototype ${item.id}`}>
      <div class="filters">
        <h3 class="grow" ref={title} tabIndex={-1}>Its sentences</h3>
        <label class="field">
          <span class="unseen">Search its sentences</span>
          <input type="search" value={search} placeholder="Search its sentences" onInput={(event) => setSearch(event.currentTarget.value)} />
        </label>
      </div>
      <Waiting asked={asked} label="Fetching its sentences…">
        {(members) => (
          <>
            <ul class="members" aria-busy={asked.loading}>
              {members.items.map((each) => (
                <MemberRow key={each.id} {...{ model, scale, item, isDraft, member: each }} isChosen={chosen.has(each.id)} toggle={() => toggle(each.id)} />
              ))}
            </ul>
            {members.total === 0 && <p class="soft">None of its sentences holds these words.</p>}
            <Pager page={members.page} size={members.size} total={members.total} of="sentences" go={setPage} />
          </>
        )}
      </Waiting>
    </section>
  );
}

interface MemberProps extends Pick<ItemProps, "model" | "scale" | "item" | "isDraft"> {
  member: Member;
  isChosen: boolean;
  toggle: () => void;
}

function MemberRow({ model, scale, item, isDraft, member, isChosen, toggle }: MemberProps) {
  const [isOpen, setIsOpen] = useState(false);
  const rates = Object.fromEntries(model.classes.map((name, i) => [name, member.class_rate[i] ?? 0]));
  const says = leading(scale, rates);
  return (
    <li class={`member hue-${says.hue} ${isChosen ? "chosen" : ""}`}>
      <label class="member-said">
        <input type="checkbox" checked={isChosen} onChange={toggle} />
        <span>{member.sentence}{member.row === null && <span class="tag">typed</span>}</span>
      </label>
      <span class="member-facts small">
        {member.usage > 0 && <><Share value={says.value} class="member-rate" /><span class="number">{percent(says.value)} “{shorten(says.label, 16)}”</span></>}
        <span class="soft number">{member.usage > 0 ? `${(100 * member.usage).toFixed(2)}% of sentences` : "not used yet"}</span>
        {model.has_data && (
          <button type="button" class="plain" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
            {isOpen ? "Hide its matches" : "Your sentences like it"}
          </button>
        )}
      </span>
      {isOpen && <NearestList {...{ model, isDraft }} id={item.id} member={member.id} />}
    </li>
  );
}

/** Sentences of the server's table that are matched to a prototype, or to one of its members. */
export function NearestList({ model, isDraft, id, member }: Pick<ItemProps, "model" | "isDraft"> & { id: number; member?: number }) {
  const [row, setRow] = useState<number | null>(null);
  const path = modelPath(model.name, "prototypes", id, "nearest");
  const asked = useAnswer<Nearest>(path + query({ n: 5, member, draft: isDraft ? "true" : undefined }));
  return (
    <>
      <Waiting asked={asked} label="Looking for the nearest sentences…">
        {(found) => found.items.length === 0 ? (
          <p class="soft small">No training sentence of the table is matched to it.</p>
        ) : (
          <ol class="near">
            {found.items.map((each) => (
              <li key={each.text}>
                <q>{each.text}</q> <span class="soft small number">({each.similarity.toFixed(2)})</span>
                <span class="soft small near-rows">
                  in {each.documents.map((document) => (
                    <button key={document.row} type="button" class="plain" onClick={() => setRow(document.row)}>
                      {rowName(document.row)}, “{shorten(document.label, 24)}”
                    </button>
                  ))}
                  {each.n_documents > each.documents.length && ` and ${each.n_documents - each.documents.length} more`}
                </span>
              </li>
            ))}
          </ol>
        )}
      </Waiting>
      {row !== null && <DocumentDialog model={model} row={row} close={() => setRow(null)} />}
    </>
  );
}

/** What to do with the sentences that were chosen. */
function Chosen({ item, edit, ids, off, clear, ...props }: ItemProps & { ids: number[]; off: boolean; clear: () => void }) {
  const all = ids.length === item.n_members;
  return (
    <section class="chosen-members" aria-label="Chosen sentences">
      <p role="status">
        <b>{plural(ids.length, "sentence")}</b> chosen{all && ": all there are, so merge or drop the prototype instead"}.
      </p>
      <button type="button" class="plain" onClick={clear}>Choose none</button>
      <TargetForm {...props} label="Move to" button="Move" off={off || all}
        send={(to) => edit({ move: Object.fromEntries(ids.map((id) => [id, to])) }, `${plural(ids.length, "sentence")} moved in the draft.`)} />
      <div class="buttons">
        <button type="button" disabled={off || all} onClick={() => edit({ split: [ids] }, "Split off in the draft.")}>Make them a new prototype</button>
        <button type="button" class="danger" disabled={off || all} onClick={() => edit({ drop_members: ids }, `${plural(ids.length, "sentence")} dropped in the draft.`)}>Drop them</button>
      </div>
    </section>
  );
}

interface TextFormProps {
  label: string;
  button: string;
  value: string;
  placeholder?: string;
  off: boolean;
  mayBeEmpty?: boolean;
  send: (text: string) => void;
}

export function TextForm({ label, button, value, placeholder, off, mayBeEmpty, send }: TextFormProps) {
  const [text, setText] = useState(value);
  const isSame = text.trim() === value || (!mayBeEmpty && !text.trim());
  return (
    <form onSubmit={(event) => { event.preventDefault(); send(text.trim()); if (!value && !mayBeEmpty) setText(""); }}>
      <label class="field grow">
        <span>{label}</span>
        {mayBeEmpty ? (
          <input value={text} maxLength={80} placeholder={placeholder} onInput={(event) => setText(event.currentTarget.value)} />
        ) : (
          <textarea rows={value ? 2 : 1} value={text} placeholder={placeholder} onInput={(event) => setText(event.currentTarget.value)} />
        )}
      </label>
      <button disabled={off || isSame}>{button}</button>
    </form>
  );
}

interface TargetFormProps {
  others: Prototype[];
  label: string;
  button: string;
  off: boolean;
  send: (id: number) => void;
}

export function TargetForm({ others, label, button, off, send }: TargetFormProps) {
  const [into, setInto] = useState("");
  return (
    <form onSubmit={(event) => { event.preventDefault(); send(Number(into)); }}>
      <label class="field grow">
        <span>{label}</span>
        <select value={into} onChange={(event) => setInto(event.currentTarget.value)}>
          <option value="">choose another…</option>
          {others.map((each) => <option key={each.id} value={each.id}>{each.id}: {shorten(captionOf(each), 60)}</option>)}
        </select>
      </label>
      <button disabled={off || !into}>{button}</button>
    </form>
  );
}
