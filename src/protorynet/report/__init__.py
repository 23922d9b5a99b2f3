"""Views of explanations and models: terminal, SVG, notebook and self-contained HTML pages.

Every view is drawn from `Explanation`, `Prototypes` and `Evaluation` alone. Names are loaded when
first used, so that importing the room costs neither rich nor jinja2.
"""

from protorynet.lazy import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
