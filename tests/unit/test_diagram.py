"""What the benches draw: every point in its place, and nothing that breaks a page."""

from xml.etree import ElementTree as ET

from bench.diagram import Panel, draw

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*panels):
    return ET.fromstring(draw("A & B", panels))  # noqa: S314 - our own


def test_every_line_has_its_points_and_its_place_in_the_legend():
    picture = drawn(
        Panel("answers a second", "callers", {"a <plain>": [(1, 20), (8, 40)], "b": [(1, 2), (8, 2)]}),
        Panel("p99, ms", "callers", {"a <plain>": [(1, 30), (8, 210)]}),
    )
    texts = [one.text for one in picture.iter(f"{SVG}text")]
    assert picture.find(f"{SVG}title").text == "A & B"
    assert texts.count("a <plain>") == texts.count("b") == 1
    assert len(list(picture.iter(f"{SVG}circle"))) == 6 + 2  # the points, and one a line in the legend


def test_a_logarithmic_axis_has_equal_steps_for_equal_ratios():
    picture = drawn(Panel("t", "x", {"a": [(1, 10), (10, 100), (100, 1000)]}))
    points = [(float(one.get("cx")), float(one.get("cy"))) for one in picture.iter(f"{SVG}circle")][:3]
    (left, low), (middle, half), (right, high) = points
    assert abs((middle - left) - (right - middle)) < 0.2
    assert abs((low - half) - (half - high)) < 0.2
    assert left < middle < right
    assert low > half > high


def test_one_value_alone_is_drawn_too():
    assert len(list(drawn(Panel("t", "x", {"a": [(1, 5)]})).iter(f"{SVG}circle"))) == 2
