/* Trust: how far the answers and their reasons can be believed, in plain words. */
import { modelPath } from "../api";
import type { PageProps } from "../context";
import type { Trusted } from "../desk";
import { useAnswer } from "../hooks";
import { PageHead, Waiting } from "../parts/common";
import { exactPercent, plural } from "../wording";

const SEVERITIES: Record<string, { title: string; class: string }> = {
  serious: { title: "Serious", class: "serious" },
  warning: { title: "Warning", class: "warning" },
  note: { title: "Note", class: "note" },
};

/** What each measure asks, in words that need no paper. */
const QUESTIONS: Record<string, string> = {
  ids_only_accuracy: "Right from the matches alone",
  substitution_agreement: "Same answer with the prototypes in the sentences’ place",
  prototype_error: "Distance between a prototype shown and the one computed with",
  duplicate_prototypes: "Prototypes that have a twin",
  semantic_similarity: "How alike sentences and their prototypes are in meaning",
  semantic_limit: "How alike they could be at best",
  match_quality: "An independent judge agrees with the matches",
  match_quality_untrained: "The same judge, before any training",
  projection_drop: "Accuracy lost for real sentences",
  score_calibration: "Prototypes mean to the model what the labels say",
  comprehensiveness: "Certainty lost without the important sentences",
  sufficiency: "Certainty lost with only the important sentences",
  shuffled_accuracy: "Right with the sentences in any order",
  top_usage: "Share of the most used prototype",
  usage_perplexity: "How many prototypes are really in use",
  unused_prototypes: "Prototypes that nothing is matched to",
  family_coherence: "A prototype’s sentences are of one kind",
  family_spread: "How far a prototype’s sentences differ in their labels",
  unfamiliar_sentences: "Sentences unlike anything in the training texts",
  score_error: "How far a prototype’s score is from the labels of its texts",
  automaton_fidelity: "The chart of patterns decides as the model does",
  automaton_states: "Circles in the largest chart",
};

export function Trust({ model }: PageProps) {
  const asked = useAnswer<Trusted>(modelPath(model.name, "trust"));
  return (
    <>
      <PageHead title="How far can this model be trusted?">
        Whether its answers are right, whether the reasons it shows are its real ones, and what a careful colleague would
        tell you about the data before you rely on it.
      </PageHead>
      <Waiting asked={asked} label="Measuring: this is done once, and takes a while.">
        {(found) => <Found found={found} />}
      </Waiting>
    </>
  );
}

function Found({ found }: { found: Trusted }) {
  const findings = found.audit?.findings ?? [];
  const serious = findings.filter((each) => each.severity === "serious").length;
  return (
    <>
      <dl class="headline-facts">
        <div><dt>of {plural(found.n_documents, "text")} ({found.split}) answered correctly</dt><dd>{exactPercent(found.accuracy)}</dd></div>
        <div><dt>macro F1: finding and being right, balanced over the classes</dt><dd>{found.macro_f1.toFixed(3)}</dd></div>
        <div><dt>prototypes to think in</dt><dd>{found.n_prototypes}</dd></div>
        {found.audit && <div class={serious ? "alarming" : ""}><dt>serious {serious === 1 ? "finding" : "findings"} of the audit</dt><dd>{serious}</dd></div>}
      </dl>
      <section class="panel" aria-labelledby="audit-title">
        <h2 id="audit-title">Before you use it</h2>
        {found.audit_missing && <p class="soft">{found.audit_missing}</p>}
        {found.audit && findings.length === 0 && <p>The audit of the model and its data found nothing to warn of.</p>}
        <ul class="findings">
          {findings.map((each, i) => (
            <li key={i} class={SEVERITIES[each.severity]?.class ?? "note"}>
              <p><b>{SEVERITIES[each.severity]?.title ?? each.severity}</b> <span class="soft">{words(each.kind)}</span></p>
              <p>{each.message}</p>
            </li>
          ))}
        </ul>
      </section>
      <section class="panel" aria-labelledby="measures-title">
        <h2 id="measures-title">Are the reasons real?</h2>
        <dl class="measures">
          {found.measures.map((each) => (
            <div key={each.name}>
              <dt>{QUESTIONS[each.name] ?? words(each.name)}</dt>
              <dd class="value">{valueOf(each.value)}</dd>
              <dd class="soft">{each.meaning} <code>{each.name}</code></dd>
            </div>
          ))}
        </dl>
      </section>
    </>
  );
}

function words(name: string): string {
  const spaced = name.replaceAll("_", " ").trim();
  return spaced.slice(0, 1).toUpperCase() + spaced.slice(1);
}

function valueOf(value: number | null): string {
  if (value === null) return "n/a";
  const written = Math.abs(value) <= 1 ? value.toFixed(3) : value.toFixed(1);
  return written.replace("-", "−");
}
