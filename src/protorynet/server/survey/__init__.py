"""The paper's user study: questions made from models, pages for participants, and the analysis.

Names are loaded when first used; those that serve or store need the extra ``protorynet[server]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protorynet.lazy import lazy_names

if TYPE_CHECKING:
    from protorynet.server.survey.alpha import krippendorff_alpha
    from protorynet.server.survey.analysis import analyse
    from protorynet.server.survey.attaching import attach, router, survey_app
    from protorynet.server.survey.automatic import take_automatically
    from protorynet.server.survey.charts import analysis_charts
    from protorynet.server.survey.figures import Analysis
    from protorynet.server.survey.making import survey_of_models
    from protorynet.server.survey.opening import open_survey
    from protorynet.server.survey.questions import Counts, ReadModel, make_survey
    from protorynet.server.survey.responses import Response, responses_csv
    from protorynet.server.survey.storage import Storage
    from protorynet.server.survey.survey import Option, Question, Survey
    from protorynet.server.survey.survey_file import read_survey, write_survey

__all__ = [
    "Analysis",
    "Counts",
    "Option",
    "Question",
    "ReadModel",
    "Response",
    "Storage",
    "Survey",
    "analyse",
    "analysis_charts",
    "attach",
    "krippendorff_alpha",
    "make_survey",
    "open_survey",
    "read_survey",
    "responses_csv",
    "router",
    "survey_app",
    "survey_of_models",
    "take_automatically",
    "write_survey",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "alpha": "krippendorff_alpha",
        "analysis": "analyse",
        "attaching": "attach router survey_app",
        "automatic": "take_automatically",
        "charts": "analysis_charts",
        "figures": "Analysis",
        "making": "survey_of_models",
        "opening": "open_survey",
        "questions": "Counts ReadModel make_survey",
        "responses": "Response responses_csv",
        "storage": "Storage",
        "survey": "Option Question Survey",
        "survey_file": "read_survey write_survey",
    },
)
