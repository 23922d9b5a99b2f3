from .distances import (
    pairwise_distance as pairwise_distance,
)
from .distances import (
    similarity as similarity,
)
from .losses import (
    accuracy_loss as accuracy_loss,
)
from .losses import (
    anchor_loss as anchor_loss,
)
from .losses import (
    balance_loss as balance_loss,
)
from .losses import (
    diversity_loss as diversity_loss,
)
from .losses import (
    probabilities as probabilities,
)
from .losses import (
    prototypicality_loss as prototypicality_loss,
)
from .network import (
    ProtoryNetwork as ProtoryNetwork,
)
from .network import (
    pad_documents as pad_documents,
)
from .network import (
    read_trajectory as read_trajectory,
)
from .network import (
    trace as trace,
)
from .reader import (
    Reader as Reader,
)
from .reader import (
    at_last_sentence as at_last_sentence,
)
from .representation import (
    Adapter as Adapter,
)
from .representation import (
    Centring as Centring,
)
from .selection import (
    active_prototype as active_prototype,
)
from .selection import (
    select as select,
)
from .trajectory import (
    Prediction as Prediction,
)
from .trajectory import (
    Trajectory as Trajectory,
)
