from .algorithm import project_prototypes as project_prototypes
from .checkpoint import clear_checkpoint as clear_checkpoint
from .corpus import (
    Batch as Batch,
    Corpus as Corpus,
    consecutive as consecutive,
)
from .editing import (
    EditableMixin as EditableMixin,
    edit_model as edit_model,
)
from .fitted import (
    Fitted as Fitted,
    evenly_chosen as evenly_chosen,
)
from .fitting import (
    Prepared as Prepared,
    fit_model as fit_model,
    prepare as prepare,
    validation_documents as validation_documents,
)
from .loop import (
    Score as Score,
    Stage as Stage,
    train_epochs as train_epochs,
)
from .objective import batch_loss as batch_loss
from .parallel import rank as rank
from .retraining import (
    Labelled as Labelled,
    retrain_reader as retrain_reader,
)
from .run import (
    Run as Run,
    adam as adam,
    derive_seed as derive_seed,
    train_one_epoch as train_one_epoch,
)
from .sources import (
    AdaptedSource as AdaptedSource,
    FineTunedSource as FineTunedSource,
    SentenceSource as SentenceSource,
    tunable_encoder as tunable_encoder,
)
