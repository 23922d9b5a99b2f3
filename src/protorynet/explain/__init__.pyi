from protorynet.automaton import (
    Automaton as Automaton,
    Edge as Edge,
    Pattern as Pattern,
    State as State,
)

from .chosen import (
    Mistake as Mistake,
    confident_mistakes as confident_mistakes,
    documents_at as documents_at,
    explain_mistakes as explain_mistakes,
)
from .documents import (
    ModelFacts as ModelFacts,
    explain_documents as explain_documents,
    explain_reading as explain_reading,
)
from .evaluation import (
    Evaluation as Evaluation,
    Measure as Measure,
)
from .explanation import (
    AutomatonReading as AutomatonReading,
    DecidingPattern as DecidingPattern,
    Explanation as Explanation,
    Rationale as Rationale,
    SentenceExplanation as SentenceExplanation,
    WordEffect as WordEffect,
)
from .faithfulness import evaluate_model as evaluate_model
from .figures import (
    SHORT as SHORT,
    ClassFigures as ClassFigures,
    ReliabilityBin as ReliabilityBin,
    calibration_error as calibration_error,
    class_figures as class_figures,
)
from .judging import (
    Judge as Judge,
    choose_judge as choose_judge,
    encoder_judge as encoder_judge,
    tfidf_judge as tfidf_judge,
)
from .labelled import LabelledDocuments as LabelledDocuments
from .leaving_out import leave_one_out_effects as leave_one_out_effects
from .misleading import (
    Misled as Misled,
    misled_documents as misled_documents,
)
from .neighbours import (
    Neighbour as Neighbour,
    nearest_sentences as nearest_sentences,
)
from .overview import (
    SURE as SURE,
    Overview as Overview,
    PrototypeFigures as PrototypeFigures,
    overview_model as overview_model,
)
from .pretrained import (
    Encode as Encode,
    pretrained_encode as pretrained_encode,
)
from .rationale import (
    explain_match as explain_match,
    explain_matches as explain_matches,
    explain_words as explain_words,
)
from .summarising import (
    class_place as class_place,
    learn_automata as learn_automata,
    learn_automaton as learn_automaton,
    stored_automaton as stored_automaton,
)
