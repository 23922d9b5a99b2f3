"""The model card: what a model is, in words, beside its files."""

from __future__ import annotations

from protorynet.model import Model
from protorynet.prototypes import EditEntry

__all__ = ["model_card"]


def model_card(model: Model) -> str:
    """Return the model card as Markdown."""
    training = model.training
    shares = ", ".join(
        f"{_cell(name)} ({share:.1%})"
        for name, share in zip(model.labels.names, training.class_frequencies, strict=True)
    )
    exact = (
        "Each prototype's vector is the embedding of the sentence shown."
        if model.settings.exact
        else "The sentences shown are only those nearest to the prototypes (`exact = false`)."
    )
    lines = [
        "# ProtoryNet model",
        "",
        "A text classifier that matches every sentence of a document to one of "
        f"{len(model.prototypes)} real training sentences (prototypes) and reads the sequence of "
        f"matches. {exact}",
        *_warning(model),
        "",
        f"- Classes: {shares}",
        f"- Encoder: {_cell(model.encoder.name)}"
        + (" (fine-tuned, in `encoder/`)" if model.encoder.tuned else ""),
        f"- Trained on {training.n_documents:,} documents, {training.n_sentences:,} sentences, "
        f"seed {training.seed}",
        f"- Accuracy on held-out training documents: {training.validation_accuracy:.3f} (the model "
        "was chosen on them; measure on unseen data with `protorynet evaluate`)",
        *_summary(model),
        f"- Data sha256: `{training.data_sha256}`",
        "- Versions: "
        + ", ".join(f"{name} {version}" for name, version in training.versions.items()),
        "",
        "| id | prototype | usage | " + " | ".join(_cell(n) for n in model.labels.names) + " |",
        "|---|---|---|" + "---|" * len(model.labels.names),
    ]
    lines += [
        f"| {item.id} | {_cell(item.caption)} | {item.usage:.1%} | "
        + " | ".join(f"{score:.2f}" for score in item.scores.values())
        + " |"
        for item in model.prototypes.ranked()
    ]
    lines += [
        "",
        "Scores are the model's probabilities for the prototype read alone; usage is the share of "
        "training sentences matched to it.",
    ]
    return "\n".join([*lines, *_edits(model)]) + "\n"


def _warning(model: Model) -> list[str]:
    """Tell where the reader has not learnt to use the prototypes that it has."""
    if not model.edits.reader_is_behind:
        return []
    return [
        "",
        "**Not final:** prototypes were edited by hand after the reader was last trained, so it "
        "decides with prototypes that it has not learnt to use, and usage and class rates are "
        "those from before. Train it again with `protorynet edit MODEL --retrain DATA`.",
    ]


def _edits(model: Model) -> list[str]:
    """List the edits made by hand, the undone ones included."""
    entries = model.edits.entries
    if not entries:
        return []
    return ["", "## Edited by hand since", "", *(_edit(entry) for entry in entries)]


def _edit(entry: EditEntry) -> str:
    done = "; ".join(_cell(str(change)) for change in entry.changes) or "reader trained again"
    undone = f" (undone {_cell(entry.undone)})" if entry.undone else ""
    retraining = entry.retraining
    accuracy = (
        "reader not trained again"
        if retraining is None
        else f"accuracy on held-out documents {retraining.accuracy_before:.1%} before, "
        f"{retraining.accuracy_after:.1%} after"
    )
    return f"{entry.number}. {_cell(entry.when)}{undone}: {done} ({accuracy})"


def _summary(model: Model) -> list[str]:
    """Tell how well small automata stand for the model, where it holds them."""
    if not model.automata:
        return []
    worst = min(automaton.fidelity for automaton in model.automata)
    most = max(len(automaton.states) for automaton in model.automata)
    return [
        f"- Summarised by one automaton per class (`automata.json`): at most {most} "
        f"state{'s' * (most != 1)}; each decides as the model does on at least "
        f"{worst:.1%} of the held-out training documents"
    ]


def _cell(text: str) -> str:
    """Keep text from breaking out of a Markdown table or becoming markup."""
    flat = " ".join(text.split())
    for character in "\\|<>[]`*_":
        flat = flat.replace(character, "\\" + character)
    return flat
