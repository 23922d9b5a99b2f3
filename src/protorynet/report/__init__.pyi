from .auditing import (
    audit_fragment as audit_fragment,
)
from .auditing import (
    print_audit as print_audit,
)
from .automaton import automaton_svg as automaton_svg
from .automaton_words import (
    pattern_sentence as pattern_sentence,
)
from .automaton_words import (
    print_automaton as print_automaton,
)
from .compiling import (
    FullReport as FullReport,
)
from .compiling import (
    compile_report as compile_report,
)
from .full_report import write_report as write_report
from .pages import (
    explanation_fragment as explanation_fragment,
)
from .pages import (
    explanation_page as explanation_page,
)
from .pages import (
    model_page as model_page,
)
from .pages import (
    prototypes_fragment as prototypes_fragment,
)
from .pages import (
    prototypes_page as prototypes_page,
)
from .pages import (
    rationale_fragment as rationale_fragment,
)
from .picture import (
    explanation_svg as explanation_svg,
)
from .picture import (
    picture_png as picture_png,
)
from .picture import (
    write_picture as write_picture,
)
from .scale import HUES as HUES
from .story import ModelStory as ModelStory
from .svg import (
    dashes as dashes,
)
from .svg import (
    element as element,
)
from .svg import (
    fill as fill,
)
from .svg import (
    line_path as line_path,
)
from .svg import (
    mark as mark,
)
from .svg import (
    picture as picture,
)
from .svg import (
    spread as spread,
)
from .svg import (
    stroke as stroke,
)
from .svg import (
    text as text,
)
from .terminal import (
    print_evaluation as print_evaluation,
)
from .terminal import (
    print_explanation as print_explanation,
)
from .terminal import (
    print_prototypes as print_prototypes,
)
from .terminal import (
    printed as printed,
)
from .trajectory import trajectory_svg as trajectory_svg
from .wording import (
    clean as clean,
)
from .wording import (
    measure_title as measure_title,
)
from .wording import (
    printable as printable,
)
from .wording import (
    shorten as shorten,
)
from .words import print_rationale as print_rationale
