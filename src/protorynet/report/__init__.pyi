from .automaton_drawing import automaton_svg as automaton_svg
from .console_views import (
    pattern_sentence as pattern_sentence,
    print_automaton as print_automaton,
    print_explanation as print_explanation,
    print_prototypes as print_prototypes,
    print_robustness as print_robustness,
    printed as printed,
)
from .conventions import (
    HUES as HUES,
    clean as clean,
    measure_title as measure_title,
    printable as printable,
    shorten as shorten,
)
from .figure_views import (
    audit_fragment as audit_fragment,
    print_audit as print_audit,
    print_classes as print_classes,
    print_evaluation as print_evaluation,
    print_figures as print_figures,
    print_warnings as print_warnings,
)
from .full_report import (
    FullReport as FullReport,
    compile_report as compile_report,
    write_report as write_report,
)
from .html_pages import (
    ModelStory as ModelStory,
    explanation_page as explanation_page,
    model_card as model_card,
    model_page as model_page,
    prototypes_page as prototypes_page,
    render as render,
)
from .trajectory_drawing import (
    explanation_svg as explanation_svg,
    picture_png as picture_png,
    trajectory_svg as trajectory_svg,
    write_view as write_view,
)
