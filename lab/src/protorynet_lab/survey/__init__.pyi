from .automatic_participant import take_automatically as take_automatically
from .participants import (
    Response as Response,
    new_token as new_token,
    order_steps as order_steps,
    responses_csv as responses_csv,
)
from .question_making import Counts as Counts, survey_of_models as survey_of_models
from .questionnaire import (
    NONE as NONE,
    TASKS as TASKS,
    Lesson as Lesson,
    ModelQuestions as ModelQuestions,
    Option as Option,
    Question as Question,
    Survey as Survey,
    parse_survey as parse_survey,
    read_survey as read_survey,
    survey_json as survey_json,
    write_survey as write_survey,
)
from .survey_analysis import (
    LEAST_SECONDS as LEAST_SECONDS,
    Analysis as Analysis,
    analyse as analyse,
    krippendorff_alpha as krippendorff_alpha,
)
from .survey_results import (
    analysis_charts as analysis_charts,
    print_analysis as print_analysis,
    write_analysis as write_analysis,
)
from .survey_server import (
    attach as attach,
    listening_at as listening_at,
    router as router,
    serve_survey as serve_survey,
    survey_app as survey_app,
)
from .survey_storage import Storage as Storage, open_survey as open_survey
