from protorynet.explain import LabelledDocuments as LabelledDocuments

from .auditing import audit_model as audit_model
from .findings import (
    Audit as Audit,
)
from .findings import (
    Finding as Finding,
)
from .findings import (
    Severity as Severity,
)
from .findings import (
    counted as counted,
)
from .findings import (
    share_of as share_of,
)
