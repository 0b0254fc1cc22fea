# ruff: noqa: T201 - a script, no package
"""Writes what of the chart is made of something else; ``--check`` compares instead.

The schema of the values, of values.yaml and of the mesh's settings; the table of values in the chart's README, of the
comments in values.yaml; and copies of the alerts and dashboards, since a packaged chart has to be whole.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml
from values_schema import schema_of

CHART = Path(__file__).parent / "recallmesh"
DEPLOY = Path(__file__).parents[1]
COPIED = {"alerts": "*.yaml", "grafana": "*.json"}
"""The folders below deploy/ whose files the chart brings along."""
BEGIN = "<!-- Made of values.yaml by `make gen`: -->\n"
END = "<!-- to here. -->\n"


def main(words: list[str]) -> int:
    """Write the files, or tell whether they are as they would be written; returns the exit code."""
    made = files()
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    left = [path for path in sorted((CHART / "files").rglob("*.*")) if path not in made]
    if words == ["--check"]:
        for path in (*stale, *left):
            print(f"{path.relative_to(CHART.parents[2])} is not what it is made of: run make gen")
        return int(bool(stale or left))
    for path in left:
        path.unlink()
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made[path], encoding="utf-8")
    return 0


def files() -> dict[Path, str]:
    """Return what is made, by its place."""
    written = (CHART / "values.yaml").read_text(encoding="utf-8")
    readme = (CHART / "README.md").read_text(encoding="utf-8")
    before, _, rest = readme.partition(BEGIN)
    after = rest.partition(END)[2]
    made = {
        CHART / "values.schema.json": json.dumps(schema_of(yaml.safe_load(written)), indent=1) + "\n",
        CHART / "README.md": f"{before}{BEGIN}\n{table(written)}\n{END}{after}",
    }
    for folder, pattern in COPIED.items():
        for path in sorted((DEPLOY / folder).glob(pattern)):
            made[CHART / "files" / folder / path.name] = path.read_text(encoding="utf-8")
    return made


def table(written: str) -> str:
    """Return the values, their defaults and their comments as a table."""
    comments = [
        line.strip().removeprefix("# ") if line.lstrip().startswith("#") else "" for line in written.split("\n")
    ]
    rows = [f"| `{name}` | {default} | {about} |" for name, default, about in _rows(_root(written), comments)]
    return "\n".join(("| value | default | meaning |", "| --- | --- | --- |", *rows, ""))


def _root(written: str) -> yaml.MappingNode:
    node = yaml.compose(written, Loader=yaml.SafeLoader)
    if not isinstance(node, yaml.MappingNode):
        raise TypeError("values.yaml is no mapping")
    return node


def _rows(node: yaml.MappingNode, comments: list[str], prefix: str = "") -> Iterator[tuple[str, str, str]]:
    for key, value in node.value:
        name = f"{prefix}{key.value}"
        about = comments[key.start_mark.line - 1].replace("|", "\\|")
        inside = isinstance(value, yaml.MappingNode) and not value.flow_style
        if about or not inside:
            yield name, "" if inside else f"`{_short(value)}`", about
        if inside:
            yield from _rows(value, comments, f"{name}.")


def _short(node: yaml.Node) -> str:
    value = yaml.safe_load(yaml.serialize(node))
    return '""' if value == "" else value if isinstance(value, str) else json.dumps(value)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
