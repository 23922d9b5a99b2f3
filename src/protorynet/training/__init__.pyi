from .algorithm import project_prototypes as project_prototypes
from .checkpoint import clear_checkpoint as clear_checkpoint
from .corpus import (
    Batch as Batch,
)
from .corpus import (
    Corpus as Corpus,
)
from .corpus import (
    consecutive as consecutive,
)
from .editing import (
    EditableMixin as EditableMixin,
)
from .editing import (
    edit_model as edit_model,
)
from .fitted import (
    Fitted as Fitted,
)
from .fitted import (
    evenly_chosen as evenly_chosen,
)
from .fitting import (
    Prepared as Prepared,
)
from .fitting import (
    fit_model as fit_model,
)
from .fitting import (
    prepare as prepare,
)
from .fitting import (
    validation_documents as validation_documents,
)
from .loop import (
    Score as Score,
)
from .loop import (
    Stage as Stage,
)
from .loop import (
    train_epochs as train_epochs,
)
from .objective import batch_loss as batch_loss
from .retraining import (
    Labelled as Labelled,
)
from .retraining import (
    retrain_reader as retrain_reader,
)
from .run import (
    Run as Run,
)
from .run import (
    adam as adam,
)
from .run import (
    derive_seed as derive_seed,
)
from .run import (
    train_one_epoch as train_one_epoch,
)
from .sharing import (
    SharedNetwork as SharedNetwork,
)
from .sharing import (
    assist as assist,
)
from .sources import (
    AdaptedSource as AdaptedSource,
)
from .sources import (
    FineTunedSource as FineTunedSource,
)
from .sources import (
    SentenceSource as SentenceSource,
)
from .sources import (
    tunable_encoder as tunable_encoder,
)
from .team import Team as Team
