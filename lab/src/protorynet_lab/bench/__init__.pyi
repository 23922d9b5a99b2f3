from .experiments import Experiment as Experiment
from .jobs import Plan as Plan
from .pages import write_pages as write_pages
from .planning import (
    Request as Request,
    make_plan as make_plan,
    measurements_of as measurements_of,
)
from .results import read_results as read_results
from .running import run_plan as run_plan
from .terminal import print_blocks as print_blocks
