"""Curves and heat maps."""

from __future__ import annotations

import re

from protorynet_lab.bench.plots import Curve, curves_svg, heat_map_svg


def _words(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def _heights(svg: str) -> list[float]:
    return [float(y) for y in re.findall(r'<circle[^>]*cy="([\d.]+)"', svg)]


def test_the_numbers_below_a_curve_are_round() -> None:
    svg = curves_svg("", "left", {"Hotel": [Curve("K", ((3.667, 0.9), (177.667, 0.95)))]})
    numbers = [word for word in _words(svg) if word.isdecimal()]
    assert numbers == ["5", "10", "20", "50", "100", "200"]


def test_curves_are_named_in_the_order_of_the_fullest_panel() -> None:
    few = [Curve("K = 100", ((5, 0.9),)), Curve("K = 400", ((5, 0.9),))]
    all_of_them = [Curve(f"K = {size}", ((5, 0.9),)) for size in (100, 200, 400)]
    svg = curves_svg("", "left", {"Amazon": few, "Hotel": all_of_them})
    named = [word for word in _words(svg) if word.startswith("K = ")]
    assert named == ["K = 100", "K = 200", "K = 400"]


def test_accuracies_that_hardly_differ_lie_at_nearly_the_same_height() -> None:
    svg = curves_svg("", "left", {"Amazon": [Curve("K", ((100, 0.9275), (400, 0.9262)))]})
    *_, first, second = _heights(svg)
    assert abs(first - second) < 20


def test_accuracies_that_hardly_differ_have_nearly_the_same_shade() -> None:
    values = {("0", "0"): 0.909, ("0", "1"): 0.914}
    svg = heat_map_svg("", ("α", ["0"]), ("β", ["0", "1"]), values)
    shades = [float(shade) for shade in re.findall(r'fill-opacity="([\d.]+)" stroke=', svg)]
    assert len(shades) == 2
    assert abs(shades[0] - shades[1]) < 0.1
