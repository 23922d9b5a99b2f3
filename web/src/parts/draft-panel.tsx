/* The draft: what was changed, what that does, and the way to a new version of the model. */
import { useEffect, useState } from "preact/hooks";
import { ask, isAborted, messageOf, modelPath, watch } from "../api";
import type { PageProps } from "../context";
import type { Comparison, Draft, Versions } from "../desk";
import { useAction, useAnswer } from "../hooks";
import type { Job } from "../types";
import { exactPercent, hasFamilies, plural, points, rowName, shorten } from "../wording";
import { Dialog, Notice, Progress, Waiting } from "./common";

interface Props extends PageProps {
  draft: Draft;
  changed: () => void;
  published: (version: number) => void;
}

export function DraftPanel(props: Props) {
  const { model, draft, changed, announce } = props;
  const { busy, error, act } = useAction();
  const [job, setJob] = useState<Job | null>(draft.job);
  const [problem, setProblem] = useState<string | null>(null);
  const path = (...rest: string[]) => modelPath(model.name, "draft", ...rest);
  const jobId = job?.id ?? draft.job?.id ?? null;
  useEffect(() => {
    if (jobId === null) return;
    const leaving = new AbortController();
    watch(jobId, setJob, leaving.signal)
      .then(() => announce("The reader has been trained again."))
      .catch((failure) => !isAborted(failure) && setProblem(messageOf(failure)))
      .finally(() => {
        if (leaving.signal.aborted) return;
        setJob(null);
        changed();
      });
    return () => leaving.abort();
  }, [jobId]);

  const [served, setServed] = useState<number | null>(null);
  const confirm = (version: number) => {
    setServed(version);
    props.published(version);
  };
  const kept = draft.edits.filter((edit) => !edit.undone);
  const trained = kept.at(-1)?.retraining ?? null;
  const off = busy || jobId !== null;
  const send = (name: string, said: string) =>
    act(async () => {
      await ask(path(name), { method: "POST" });
      announce(said);
      changed();
    });
  return (
    <section class="panel draft" aria-labelledby="draft-title">
      <h2 id="draft-title">Draft</h2>
      {served !== null && !draft.exists && <Notice kind="good">{`Version ${served} is served now.`}</Notice>}
      {draft.stale && <Notice>The model was changed elsewhere since this draft was begun. Discard it and start again.</Notice>}
      {!kept.length && !draft.exists && (
        <p class="soft">Open a prototype to {hasFamilies(model) ? "rename, merge, split or drop it, or to move its sentences" : "drop, merge, replace or rename it"}. The changes gather here; the model that is served stays as it is until you publish.</p>
      )}
      {kept.length > 0 && (
        <ol class="changes">
          {kept.flatMap((edit) => [
            ...edit.changes.map((change, i) => <li key={`${edit.number} ${i}`}>{change.text}</li>),
            edit.retraining && (
              <li key={`${edit.number} trained`} class="soft">
                Reader trained again on {plural(edit.retraining.n_documents, "text")} in {edit.retraining.seconds.toFixed(0)} s.
              </li>
            ),
          ])}
        </ol>
      )}
      {error && <Notice>{error}</Notice>}
      {problem && <Notice>{problem}</Notice>}
      {jobId !== null && <Progress job={job} label="Training the reader…" />}
      {draft.exists && (
        <>
          <div class="buttons">
            <button type="button" disabled={off || !draft.can_undo || draft.stale} onClick={() => send("undo", "Undone.")}>Undo</button>
            <button
              type="button"
              class="plain danger"
              disabled={off}
              onClick={() => act(async () => { await ask(path(), { method: "DELETE" }); announce("The draft was discarded."); changed(); })}
            >
              Discard all
            </button>
          </div>
          {draft.reader_is_behind && !off && (
            <p class="small">The part that reads the sequence has not seen these changes yet: train it again before you judge them.</p>
          )}
          <div class="buttons">
            <button
              type="button"
              class={draft.reader_is_behind ? "primary" : ""}
              disabled={off || draft.stale}
              onClick={() => act(async () => { setProblem(null); setJob((await ask<{ job: Job }>(path("retrain"), { method: "POST" })).job); })}
            >
              Train the reader again
            </button>
          </div>
          {jobId === null && !draft.stale && (
            <CompareAndPublish key={draft.revision} {...props} published={confirm} isTrained={trained !== null || !draft.reader_is_behind} />
          )}
        </>
      )}
      <VersionList {...props} published={confirm} />
    </section>
  );
}

function CompareAndPublish({ model, isTrained, published, announce }: Props & { isTrained: boolean }) {
  const [compare, setCompare] = useState(isTrained);
  const [note, setNote] = useState("");
  const [isAsking, setIsAsking] = useState(false);
  const { busy, error, act } = useAction();
  const publish = async () => {
    const done = await ask<{ number: number }>(modelPath(model.name, "draft", "publish"), { body: { note } });
    announce(`Published as version ${done.number}.`);
    published(done.number);
  };
  const asked = useAnswer<Comparison>(compare ? modelPath(model.name, "draft", "comparison") : null);
  return (
    <div class="compare">
      {compare ? (
        <Waiting asked={asked} label="Comparing before and after…">{(found) => <Compared found={found} />}</Waiting>
      ) : (
        <button type="button" onClick={() => setCompare(true)}>Compare before and after</button>
      )}
      <form class="publish" onSubmit={(event) => { event.preventDefault(); setIsAsking(true); }}>
        <label class="field">
          <span>Note for the new version (optional)</span>
          <input value={note} maxLength={500} onInput={(event) => setNote(event.currentTarget.value)} />
        </label>
        <button class={isTrained ? "primary" : ""} disabled={busy}>Publish as a new version</button>
      </form>
      {isAsking && (
        <Dialog title="Publish this draft?" close={() => setIsAsking(false)}>
          <p>
            From then on the new version answers everybody who uses “{model.name}”. The present one is kept: you can go
            back to it under Versions.
          </p>
          {asked.data && <p>{effectOf(asked.data)}</p>}
          {!isTrained && <Notice kind="warning">The reader has not been trained on these changes yet, so nobody knows how right the new version is.</Notice>}
          {error && <Notice>{error}</Notice>}
          <div class="buttons">
            <button type="button" class="primary" disabled={busy} onClick={() => act(publish)}>Publish now</button>
          </div>
        </Dialog>
      )}
    </div>
  );
}

/** What publishing would do, in one sentence. */
function effectOf({ before, after, n_documents, n_fixed, n_broken }: Comparison): string {
  return `On ${plural(n_documents, "text")} held out, ${exactPercent(before.accuracy)} are answered correctly now and ${exactPercent(after.accuracy)} then: ${n_fixed} wrong answers become right, ${n_broken} right ones wrong.`;
}

function Compared({ found }: { found: Comparison }) {
  const { before, after } = found;
  return (
    <>
      <table class="figures">
        <caption>On {plural(found.n_documents, "text")} ({found.split})</caption>
        <thead><tr><th scope="col"><span class="unseen">Figure</span></th><th scope="col">Before</th><th scope="col">After</th><th scope="col">Change</th></tr></thead>
        <tbody>
          <Compare name="Answers right" before={before.accuracy} after={after.accuracy} />
          {before.classes.map((each, i) => (
            <Compare key={each.name} name={`“${shorten(each.name, 28)}” found`} before={each.recall} after={after.classes[i]?.recall ?? null} />
          ))}
          <tr><th scope="row">Prototypes</th><td>{before.n_prototypes}</td><td>{after.n_prototypes}</td><td>{points((after.n_prototypes - before.n_prototypes) / 100)}</td></tr>
          {(hasFamilies(before) || hasFamilies(after)) && <tr><th scope="row">Members</th><td>{before.n_members}</td><td>{after.n_members}</td><td>{points((after.n_members - before.n_members) / 100)}</td></tr>}
        </tbody>
      </table>
      <p class="small">
        {found.n_changed === 0
          ? "No answer changes."
          : `${plural(found.n_changed, "answer changes", "answers change")}: ${found.n_fixed} wrong become right, ${found.n_broken} right become wrong.`}
      </p>
      {found.changed.length > 0 && (
        <details>
          <summary>Answers that change</summary>
          <ol class="changed-texts">
            {found.changed.slice(0, 20).map((each) => (
              <li key={each.row}>
                <span class="small soft">{rowName(each.row)}, labelled “{each.truth}”: “{each.before}” → “{each.after}”</span>
                <span>{shorten(each.text, 160)}</span>
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}

function Compare({ name, before, after }: { name: string; before: number | null; after: number | null }) {
  return (
    <tr>
      <th scope="row">{name}</th>
      <td>{before === null ? "–" : exactPercent(before)}</td>
      <td>{after === null ? "–" : exactPercent(after)}</td>
      <td>{before === null || after === null ? "–" : points(after - before, 1)}</td>
    </tr>
  );
}

function VersionList({ model, published, announce, draft }: Props) {
  const asked = useAnswer<Versions>(modelPath(model.name, "versions"));
  const { busy, error, act } = useAction();
  useEffect(() => asked.reload(), [model.version]);
  if (!asked.data || asked.data.items.length < 2) return null;
  const restore = (number: number) =>
    act(async () => {
      await ask(modelPath(model.name, "versions", number, "restore"), { method: "POST" });
      announce(`Version ${number} is served now.`);
      published(number);
      asked.reload();
    });
  return (
    <details class="versions" open={!draft.exists}>
      <summary>Versions</summary>
      {error && <Notice>{error}</Notice>}
      <ol>
        {[...asked.data.items].reverse().map((each) => (
          <li key={each.number}>
            <span>
              Version {each.number}{each.current && <b> (served)</b>}
              <span class="soft small"> {each.when ? new Date(each.when).toLocaleString() : "as given"}{each.note && `: ${each.note}`}</span>
            </span>
            {!each.current && <button type="button" disabled={busy} onClick={() => restore(each.number)}>Go back to it</button>}
          </li>
        ))}
      </ol>
    </details>
  );
}
