"""What a careful colleague would tell about a model and its data before it is trusted."""

from protorynet.audit.auditing import audit_model
from protorynet.audit.findings import Audit, Finding, Severity
from protorynet.explain import LabelledDocuments

__all__ = ["Audit", "Finding", "LabelledDocuments", "Severity", "audit_model"]
