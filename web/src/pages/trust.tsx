/* Trust: how far the answers and their reasons can be believed, in plain words. */
import { useState } from "preact/hooks";
import { modelPath } from "../api";
import type { PageProps } from "../context";
import type { Evidence, Finding, Trusted } from "../desk";
import { useAnswer } from "../hooks";
import { ClassName, Notice, PageHead, Waiting } from "../parts/common";
import { Confusion } from "../parts/confusion";
import { DocumentDialog } from "../parts/document";
import { formatPlace } from "../routing";
import { exactPercent, percent, plural, rowName, shorten } from "../wording";

const SEVERITIES: Record<string, { title: string; class: string }> = {
  serious: { title: "Serious", class: "serious" },
  warning: { title: "Warning", class: "warning" },
  note: { title: "Note", class: "note" },
};

const LISTED = 5;
const ALIKE = 2; // findings of one kind, before the rest is folded

export function Trust(props: PageProps) {
  const { model } = props;
  const asked = useAnswer<Trusted>(modelPath(model.name, "trust"));
  const [row, setRow] = useState<number | null>(null);
  return (
    <>
      <PageHead title="How far can this model be trusted?">
        Whether its answers are right, whether the reasons it shows are its real ones, and what a careful colleague would
        tell you about the data before you rely on it.
      </PageHead>
      <Waiting asked={asked} label="Measuring: this is done once, and takes a while.">
        {(found) => <Found {...props} found={found} open={setRow} />}
      </Waiting>
      {row !== null && <DocumentDialog model={model} row={row} close={() => setRow(null)} />}
    </>
  );
}

type FoundProps = PageProps & { found: Trusted; open: (row: number) => void };

function Found(props: FoundProps) {
  const { model, found, scale } = props;
  const findings = found.audit?.findings ?? [];
  const serious = findings.filter((each) => each.severity === "serious").length;
  const [low, high] = found.accuracy_interval ?? [];
  const words = found.bag_of_words_accuracy ?? found.bag_of_words_in_training;
  return (
    <>
      <dl class="headline-facts">
        <div>
          <dt>
            accuracy: of {plural(found.n_documents, "text")} ({found.split}) answered correctly
            {low !== undefined && high !== undefined && `; of others like them, between ${percent(low)} and ${percent(high)}`}
          </dt>
          <dd>{exactPercent(found.accuracy)}</dd>
        </div>
        {found.majority_baseline != null && <div><dt>majority baseline: right by always giving the most frequent answer</dt><dd>{exactPercent(found.majority_baseline)}</dd></div>}
        {words != null && <div><dt>bag of words: right by counting words, without any reasons{found.bag_of_words_accuracy == null && "; of texts held out in training"}</dt><dd>{exactPercent(words)}</dd></div>}
        <div><dt>macro F1: recall and precision in balance, the mean of the classes</dt><dd>{found.macro_f1.toFixed(3)}</dd></div>
        {found.calibration_error != null && <div><dt>calibration error: how far its certainty is from how often it is right, on average</dt><dd>{found.calibration_error.toFixed(3)}</dd></div>}
        {found.audit && <div class={serious ? "alarming" : ""}><dt>serious {serious === 1 ? "finding" : "findings"} of the audit</dt><dd>{serious}</dd></div>}
      </dl>
      {found.note && <p class="table-note soft">{found.note}</p>}
      {(found.warnings ?? []).map((warning) => <Notice key={warning} kind="warning">{warning}</Notice>)}
      {found.classes && (
        <section class="panel" aria-labelledby="classes-title">
          <h2 id="classes-title">Class by class</h2>
          <div class="class-figures">
            <div class="scrolls" role="group" aria-label="Figures of the classes" tabIndex={0}>
              <table class="figures">
                <thead><tr><th scope="col">Class</th><th scope="col">Texts</th><th scope="col">Recall</th><th scope="col">Precision</th><th scope="col">F1</th></tr></thead>
                <tbody>
                  {found.classes.map((each) => (
                    <tr key={each.name}>
                      <th scope="row"><ClassName scale={scale} label={each.name} /></th>
                      <td>{each.n_true.toLocaleString("en")}</td>
                      {[each.recall, each.precision, each.f1].map((value, i) => <td key={i}>{value === null ? "–" : exactPercent(value)}</td>)}
                    </tr>
                  ))}
                </tbody>
              </table>
              <p class="soft small">Recall: of the texts labelled so, the share that is answered so. Precision: of those answered so, the share that is labelled so.</p>
            </div>
            {found.confusion && (
              <Confusion
                counts={found.confusion}
                names={model.classes}
                href={(truth, predicted) => formatPlace({ page: "mistakes", model: model.name, state: { truth, predicted } })}
              />
            )}
          </div>
        </section>
      )}
      <section class="panel" aria-labelledby="audit-title">
        <h2 id="audit-title">Before you use it</h2>
        {found.audit_missing && <p class="soft">{found.audit_missing}</p>}
        {found.audit && findings.length === 0 && <p>The audit of the model and its data found nothing to warn of.</p>}
        {[...Map.groupBy(findings, (each) => each.title).values()].map((alike) => (
          <>
            <Findings {...props} findings={alike.slice(0, ALIKE)} />
            {alike.length > ALIKE && (
              <details class="alike">
                <summary>{`${alike.length - ALIKE} more: ${alike[0]!.title.toLowerCase()}`}</summary>
                <Findings {...props} findings={alike.slice(ALIKE)} />
              </details>
            )}
          </>
        ))}
      </section>
      <section class="panel" aria-labelledby="measures-title">
        <h2 id="measures-title">Are the reasons real?</h2>
        {found.verdicts && (
          <dl class="verdicts">
            {found.verdicts.map((each) => (
              <div key={each.claim} class={`answer-${each.answer}`}>
                <dt>{each.claim.slice(0, 1).toUpperCase() + each.claim.slice(1)}</dt>
                <dd>{each.answer}</dd>
              </div>
            ))}
          </dl>
        )}
        <details open={!found.verdicts}>
          <summary>All measures, and what each would mean</summary>
          <dl class="measures">
            {found.measures.map((each) => (
              <div key={each.name}>
                <dt>{titleOf(each.name)}</dt>
                <dd class="value">{valueOf(each.value)}</dd>
                <dd class="soft">{each.meaning}</dd>
              </div>
            ))}
          </dl>
        </details>
      </section>
    </>
  );
}

function Findings({ findings, ...props }: FoundProps & { findings: Finding[] }) {
  return (
    <ul class="findings">
      {findings.map((each, i) => (
        <li key={i} class={SEVERITIES[each.severity]?.class ?? "note"}>
          <p><b>{SEVERITIES[each.severity]?.title ?? each.severity}:</b> {each.title}</p>
          <p>{each.message}</p>
          <Listed {...props} examples={each.evidence.examples ?? []} />
        </li>
      ))}
    </ul>
  );
}

/** The examples that a finding speaks of: rows to open, and prototypes to go to. */
function Listed({ model, examples, open }: FoundProps & { examples: Evidence[] }) {
  const [all, setAll] = useState(false);
  if (!examples.length) return null;
  const shown = all ? examples : examples.slice(0, LISTED);
  return (
    <details class="listed">
      <summary>{plural(examples.length, "example")}</summary>
      <ol>
        {shown.map((each, i) => {
          const rows = each.row !== undefined ? [each.row] : [...(each.train_rows ?? []), ...(each.test_rows ?? [])];
          return (
            <li key={i}>
              <q>{shorten(each.text, 240)}</q>{" "}
              <span class="soft small">
                {each.predicted !== undefined && `labelled “${each.label}”, answered “${each.predicted}” (${percent(each.probability ?? 0)}) `}
                {each.reason && `${each.reason} `}
                {each.times !== undefined && `${plural(each.times, "time")} `}
              </span>
              {rows.slice(0, 4).map((row) => <button key={row} type="button" class="plain" onClick={() => open(row)}>{rowName(row)}</button>)}
              {each.prototype !== undefined && (
                <a href={formatPlace({ page: "prototypes", model: model.name, state: { id: String(each.prototype) } })}>prototype {each.prototype}</a>
              )}
            </li>
          );
        })}
      </ol>
      {examples.length > LISTED && <button type="button" class="plain" onClick={() => setAll(!all)}>{all ? "Show fewer" : `Show all ${examples.length}`}</button>}
    </details>
  );
}

/** A measure by the name that reports call it. */
function titleOf(name: string): string {
  const spaced = name.replaceAll("_", " ");
  return spaced.slice(0, 1).toUpperCase() + spaced.slice(1);
}

function valueOf(value: number | null): string {
  if (value === null) return "n/a";
  const written = Math.abs(value) <= 1 ? value.toFixed(3) : value.toFixed(1);
  return written.replace("-", "−");
}
