from protorynet.automaton import (
    Automaton as Automaton,
    Edge as Edge,
    Pattern as Pattern,
    State as State,
)

from .automaton_learning import (
    class_index as class_index,
    learn_automata as learn_automata,
    learn_automaton as learn_automaton,
    stored_automaton as stored_automaton,
)
from .evaluation import (
    PERTURBATIONS as PERTURBATIONS,
    Evaluation as Evaluation,
    Measure as Measure,
    Robustness as Robustness,
    Verdict as Verdict,
    evaluate_model as evaluate_model,
    measure_robustness as measure_robustness,
    parse_perturbations as parse_perturbations,
    perturb as perturb,
)
from .explanation import (
    AutomatonReading as AutomatonReading,
    DecidingPattern as DecidingPattern,
    Explanation as Explanation,
    ModelFacts as ModelFacts,
    SentenceExplanation as SentenceExplanation,
    WordEffect as WordEffect,
    explain_reading as explain_reading,
    falls_without_each as falls_without_each,
)
from .leave_one_out import (
    explain_matches as explain_matches,
    explain_words as explain_words,
    leave_one_out_effects as leave_one_out_effects,
)
from .likeness import (
    Encode as Encode,
    Judge as Judge,
    choose_judge as choose_judge,
    encoder_judge as encoder_judge,
    pretrained_encode as pretrained_encode,
    tfidf_judge as tfidf_judge,
)
from .overview import (
    SURE as SURE,
    LabelledDocuments as LabelledDocuments,
    Mistake as Mistake,
    Neighbour as Neighbour,
    Overview as Overview,
    PrototypeFigures as PrototypeFigures,
    Slice as Slice,
    confident_mistakes as confident_mistakes,
    documents_at as documents_at,
    explain_mistakes as explain_mistakes,
    find_slices as find_slices,
    has_word as has_word,
    nearest_sentences as nearest_sentences,
    overview_model as overview_model,
)
