from protorynet.explain import LabelledDocuments as LabelledDocuments

from .checks import audit_model as audit_model
from .findings import (
    Audit as Audit,
    Finding as Finding,
    Severity as Severity,
    counted as counted,
    share_of as share_of,
)
