from .alpha import krippendorff_alpha as krippendorff_alpha
from .analysis import analyse as analyse
from .analysis_page import write_analysis as write_analysis
from .attaching import (
    attach as attach,
    router as router,
    survey_app as survey_app,
)
from .automatic import take_automatically as take_automatically
from .charts import analysis_charts as analysis_charts
from .figures import Analysis as Analysis
from .making import survey_of_models as survey_of_models
from .opening import open_survey as open_survey
from .questions import (
    Counts as Counts,
    ReadModel as ReadModel,
    make_survey as make_survey,
)
from .responses import (
    Response as Response,
    responses_csv as responses_csv,
)
from .serving import (
    listening_at as listening_at,
    serve_survey as serve_survey,
)
from .storage import Storage as Storage
from .survey import (
    TASKS as TASKS,
    Option as Option,
    Question as Question,
    Survey as Survey,
)
from .survey_file import (
    read_survey as read_survey,
    write_survey as write_survey,
)
from .terminal import print_analysis as print_analysis
