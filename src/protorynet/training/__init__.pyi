from .algorithm import batch_loss as batch_loss, project_prototypes as project_prototypes
from .batches import Batch as Batch, Corpus as Corpus, consecutive as consecutive
from .epochs import (
    Checkpoint as Checkpoint,
    Run as Run,
    Score as Score,
    Stage as Stage,
    adam as adam,
    clear_checkpoint as clear_checkpoint,
    derive_seed as derive_seed,
    train_epochs as train_epochs,
    train_one_epoch as train_one_epoch,
)
from .fitting import (
    Fitted as Fitted,
    Labelled as Labelled,
    Prepared as Prepared,
    centre_vectors as centre_vectors,
    digest_data as digest_data,
    evenly_chosen as evenly_chosen,
    fit_model as fit_model,
    prepare as prepare,
    validation_documents as validation_documents,
)
from .floor import measure_floor as measure_floor, read_floor as read_floor
from .parallel import rank as rank
from .retraining import (
    EditableMixin as EditableMixin,
    edit_model as edit_model,
    retrain_reader as retrain_reader,
)
from .sources import (
    AdaptedSource as AdaptedSource,
    FineTunedSource as FineTunedSource,
    FrozenSource as FrozenSource,
    SentenceSource as SentenceSource,
    tunable_encoder as tunable_encoder,
)
from .weights import check_weights as check_weights
