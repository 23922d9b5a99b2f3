"""The names that users and the rooms rely on; a change here is a change of the contract."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

_NAMES = {
    "protorynet": """
        Evaluation Explanation NotFittedError ProtoryNetClassifier ProtoryNetError Prototype
        Prototypes Settings read_table
    """,
    "protorynet.audit": "Audit Finding LabelledDocuments Severity audit_model",
    "protorynet.baselines": """
        BagOfWordsClassifier BlackBoxClassifier DocumentPrototype Evidence ProSeNetClassifier
        ProtoAttendClassifier Rival RivalExplanation SubstituteClassifier
        TransformerClassifier VanillaLSTMClassifier
    """,
    "protorynet.bench": "Plan Request make_plan read_results run_plan write_pages",
    "protorynet.datasets": """
        DATASETS KnownDataset Prepared fetch_dataset known_dataset prepare_dataset
    """,
    "protorynet.encoders": """
        EmbeddingCache Embeddings Encoder EncoderChoice ListedEncoder StaticEncoder
        TransformerEncoder WindowedEncoder choose_device choose_encoder encode_corpus list_encoders
        load_encoder split_variant stack_sequences
    """,
    "protorynet.errors": """
        CheckpointError EmptyDocumentError EncoderError InputError MissingExtraError
        ModelFormatError ProtoryNetError SettingsError TableError UnknownEncoderError
    """,
    "protorynet.exporting": "Comparison compare export_onnx",
    "protorynet.explain": """
        Automaton AutomatonReading DecidingPattern Edge Encode Evaluation Explanation Judge
        LabelledDocuments Measure
        Pattern Rationale SentenceExplanation State WordEffect choose_judge class_place
        encoder_judge evaluate_model explain_documents explain_match explain_matches explain_words
        learn_automata learn_automaton pretrained_encode stored_automaton tfidf_judge
    """,
    "protorynet.network": """
        Adapter Centring Prediction ProtoryNetwork Reader Trajectory accuracy_loss
        active_prototype anchor_loss at_last_sentence balance_loss diversity_loss pad_documents
        pairwise_distance probabilities prototypicality_loss read_trajectory select similarity
        trace
    """,
    "protorynet.prototypes": """
        Change EditEntry EditLog Edits PastState Prototype Prototypes PruningPoint Retraining
        apply_edits choose_size cluster_means distinct_candidates faster_pam is_complete
        is_readable k_medoids mean_distance_to_nearest project sizes_to_try
    """,
    "protorynet.report": """
        ModelStory audit_fragment automaton_svg explanation_fragment explanation_page
        explanation_svg model_page pattern_sentence picture_png print_audit print_automaton
        print_evaluation print_explanation print_prototypes print_rationale printed
        prototypes_fragment prototypes_page rationale_fragment trajectory_svg write_picture
    """,
    "protorynet.settings": """
        AccuracyLoss Distance EncoderTraining Retrain Selection Settings load_settings preset
    """,
    "protorynet.runtime": """
        EncoderPart Exported OnnxEncoder OnnxReader OnnxScorer Reading Scores is_exported
        read_exported
    """,
    "protorynet.scale": "encode_with_ray fit_with_ray predict_with_ray ray_session",
    "protorynet.scoring": """
        ENDINGS BatchScorer ClassifierScorer PartsFolder Runtime Scorer Scores Written is_exported
        model_digest open_exported open_scorer predict_to_file predict_to_stream prediction_names
    """,
    "protorynet.storage": """
        FORMAT_VERSION check_free is_model_directory load_model save_model
    """,
    "protorynet.text": """
        Label OnEmpty Sentences Splitter Table TokenCounter document_list read_columns
        read_table sequence_sentences sequence_text split_documents
    """,
    "protorynet.training": """
        EditableMixin Fitted Labelled SharedNetwork Team assist clear_checkpoint edit_model
        evenly_chosen fit_model tunable_encoder validation_documents
    """,
}
_HEAVY = ("torch", "transformers", "sklearn", "pandas", "pyarrow", "rich", "jinja2")


@pytest.mark.parametrize("module", sorted(_NAMES))
def test_a_module_exports_exactly_these_names(module: str) -> None:
    assert importlib.import_module(module).__all__ == _NAMES[module].split()


@pytest.mark.parametrize("module", sorted(_NAMES))
def test_every_exported_name_is_there(module: str) -> None:
    home = importlib.import_module(module)
    assert all(hasattr(home, name) for name in home.__all__)


def test_the_package_lists_its_names_and_refuses_others() -> None:
    import protorynet

    assert dir(protorynet) == protorynet.__all__
    with pytest.raises(AttributeError, match="has no attribute 'Classifier'"):
        protorynet.Classifier  # noqa: B018


def imported_by(statement: str) -> set[str]:
    """Return the heavy packages that a statement imports in a fresh interpreter."""
    code = f"{statement}\nimport sys\nprint(*(name for name in {_HEAVY} if name in sys.modules))"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(run.stdout.split())


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert imported_by("import protorynet") == set()


@pytest.mark.parametrize("room", ["errors", "files", "progress", "settings"])
def test_light_modules_stay_light(room: str) -> None:
    assert imported_by(f"import protorynet.{room}") == set()


def test_rooms_without_a_network_do_not_import_torch() -> None:
    found = imported_by("import protorynet.text, protorynet.encoders")
    assert not found & {"torch", "transformers", "sklearn"}
