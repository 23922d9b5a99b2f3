from .auditing import (
    audit_fragment as audit_fragment,
    print_audit as print_audit,
)
from .automaton import automaton_svg as automaton_svg
from .automaton_words import (
    pattern_sentence as pattern_sentence,
    print_automaton as print_automaton,
)
from .compiling import (
    FullReport as FullReport,
    compile_report as compile_report,
)
from .full_report import write_report as write_report
from .pages import (
    explanation_fragment as explanation_fragment,
    explanation_page as explanation_page,
    model_page as model_page,
    prototypes_fragment as prototypes_fragment,
    prototypes_page as prototypes_page,
    rationale_fragment as rationale_fragment,
)
from .picture import (
    explanation_svg as explanation_svg,
    picture_png as picture_png,
    write_picture as write_picture,
)
from .scale import HUES as HUES
from .story import ModelStory as ModelStory
from .svg import (
    dashes as dashes,
    element as element,
    fill as fill,
    line_path as line_path,
    mark as mark,
    picture as picture,
    spread as spread,
    stroke as stroke,
    text as text,
)
from .terminal import (
    print_evaluation as print_evaluation,
    print_explanation as print_explanation,
    print_prototypes as print_prototypes,
    printed as printed,
)
from .trajectory import trajectory_svg as trajectory_svg
from .wording import (
    clean as clean,
    measure_title as measure_title,
    printable as printable,
    shorten as shorten,
)
from .words import print_rationale as print_rationale
