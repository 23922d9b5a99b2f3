"""Models over HTTP: REST for programs, a workbench for people, surveys for participants.

Nothing here is imported by the rest of the package but the command line; it needs the extra
``protorynet[server]``.
"""

from protorynet.lazy import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
