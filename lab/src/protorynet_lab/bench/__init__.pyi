from .bench_blocks import print_blocks as print_blocks
from .bench_pages import write_pages as write_pages
from .bench_planning import EXPERIMENTS as EXPERIMENTS, Request as Request, make_plan as make_plan
from .bench_results import read_results as read_results
from .bench_running import run_plan as run_plan
