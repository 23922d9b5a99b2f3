from protorynet.automaton import Automaton as Automaton
from protorynet.automaton import Edge as Edge
from protorynet.automaton import Pattern as Pattern
from protorynet.automaton import State as State

from .chosen import (
    Mistake as Mistake,
)
from .chosen import (
    confident_mistakes as confident_mistakes,
)
from .chosen import (
    documents_at as documents_at,
)
from .chosen import (
    explain_mistakes as explain_mistakes,
)
from .documents import (
    explain_documents as explain_documents,
)
from .documents import (
    leave_one_out_effects as leave_one_out_effects,
)
from .evaluation import (
    Evaluation as Evaluation,
)
from .evaluation import (
    Measure as Measure,
)
from .explanation import (
    AutomatonReading as AutomatonReading,
)
from .explanation import (
    DecidingPattern as DecidingPattern,
)
from .explanation import (
    Explanation as Explanation,
)
from .explanation import (
    Rationale as Rationale,
)
from .explanation import (
    SentenceExplanation as SentenceExplanation,
)
from .explanation import (
    WordEffect as WordEffect,
)
from .faithfulness import evaluate_model as evaluate_model
from .figures import (
    SHORT as SHORT,
)
from .figures import (
    ClassFigures as ClassFigures,
)
from .figures import (
    ReliabilityBin as ReliabilityBin,
)
from .figures import (
    calibration_error as calibration_error,
)
from .figures import (
    class_figures as class_figures,
)
from .figures import (
    decided as decided,
)
from .judging import (
    Judge as Judge,
)
from .judging import (
    choose_judge as choose_judge,
)
from .judging import (
    encoder_judge as encoder_judge,
)
from .judging import (
    tfidf_judge as tfidf_judge,
)
from .labelled import LabelledDocuments as LabelledDocuments
from .misleading import (
    Misled as Misled,
)
from .misleading import (
    misled_documents as misled_documents,
)
from .neighbours import (
    Neighbour as Neighbour,
)
from .neighbours import (
    nearest_sentences as nearest_sentences,
)
from .overview import (
    SURE as SURE,
)
from .overview import (
    Overview as Overview,
)
from .overview import (
    PrototypeFigures as PrototypeFigures,
)
from .overview import (
    overview_model as overview_model,
)
from .pretrained import (
    Encode as Encode,
)
from .pretrained import (
    pretrained_encode as pretrained_encode,
)
from .rationale import (
    explain_match as explain_match,
)
from .rationale import (
    explain_matches as explain_matches,
)
from .rationale import (
    explain_words as explain_words,
)
from .summarising import (
    class_place as class_place,
)
from .summarising import (
    learn_automata as learn_automata,
)
from .summarising import (
    learn_automaton as learn_automaton,
)
from .summarising import (
    stored_automaton as stored_automaton,
)
