"""Charts are drawn from figures alone."""

import itertools
from pathlib import Path
from xml.etree import ElementTree as ET

from bench.plot import draw_lines

SVG = "{http://www.w3.org/2000/svg}"


def test_a_line_goes_through_its_points_and_up_where_it_grows(tmp_path: Path) -> None:
    drawn = tmp_path / "a.svg"
    draw_lines(drawn, "times & sizes", {"a": [(1e3, 2.0), (1e6, 8.0)], "b": [(1e3, 2.0)]}, across="size", up="ms")
    root = ET.parse(drawn).getroot()  # noqa: S314 -- just written
    line = next(each for each in root.iter(f"{SVG}polyline") if each.get("class") == "line c0")
    (left, low), (right, high) = (map(float, point.split(",")) for point in line.get("points", "").split())
    assert left < right
    assert low > high  # down the page is less
    assert {"a", "b", "size", "ms", "times & sizes"} <= {text.text for text in root.iter(f"{SVG}text")}


def test_names_at_the_ends_of_lines_do_not_cover_each_other(tmp_path: Path) -> None:
    drawn = tmp_path / "a.svg"
    draw_lines(drawn, "t", {name: [(1.0, 5.0), (10.0, 5.0)] for name in "abc"}, across="x", up="y")
    names = [text for text in ET.parse(drawn).getroot().iter(f"{SVG}text") if "name" in text.get("class", "")]  # noqa: S314 -- just written
    places = sorted(float(name.get("y", "0")) for name in names)
    assert all(below - above >= 12 for above, below in itertools.pairwise(places))
