from .layers import (
    Adapter as Adapter,
    Centring as Centring,
    Evidence as Evidence,
    Reader as Reader,
    active_prototype as active_prototype,
    at_last_sentence as at_last_sentence,
    find_unfamiliar as find_unfamiliar,
    pairwise_distance as pairwise_distance,
    select as select,
    similarity as similarity,
)
from .losses import (
    accuracy_loss as accuracy_loss,
    anchor_loss as anchor_loss,
    balance_loss as balance_loss,
    diversity_loss as diversity_loss,
    probabilities as probabilities,
    prototypicality_loss as prototypicality_loss,
)
from .network import (
    ProtoryNetwork as ProtoryNetwork,
    find_nearest_two as find_nearest_two,
    match_sentences as match_sentences,
    pad_documents as pad_documents,
    read_matches as read_matches,
)
