"""What kwok plays: nodes that are well, pods that come up or do not, and jobs that end."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

READY_AFTER_MS = 300
"""How long pods take to be ready: long enough that one that is replaced too early would be missed."""
NEVER_READY = "never-ready"
FAILS = "fails"
"""Tags of images, by which pods are played in another way than well."""
FILES = (
    "node/fast/node-initialize",
    "node/heartbeat-with-lease/node-heartbeat-with-lease",
    "pod/fast/pod-ready",
    "pod/fast/pod-complete",
    "pod/fast/pod-delete",
)
ILL = {"exitCode: 0": "exitCode: 1", "reason: Completed": "reason: Error", "phase: Succeeded": "phase: Failed"}
Stage = dict[str, Any]


def stages(kwok: Path) -> str:
    """Return what kwok is to play, made of the files in its module: YAML documents."""
    paths = (kwok / "kustomize" / "stage" / f"{file}.yaml" for file in FILES)
    return yaml.safe_dump_all(_played({path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in paths}))


def _played(read: dict[str, Stage]) -> Iterator[Stage]:
    ready, complete = read.pop("pod-ready"), read.pop("pod-complete")
    yield from read.values()
    ready["spec"]["delay"] = {"durationMilliseconds": READY_AFTER_MS}
    yield _where(ready, ready["metadata"]["name"], _image(NEVER_READY, "DoesNotExist"))
    # A job's pod ends well, unless it is to fail; so does the pod of `helm test`, which belongs to no job.
    yield _where(complete, "pod-complete", _image(FAILS, "DoesNotExist"))
    yield _ill(_where(complete, "pod-fail", _image(FAILS, "Exists")))
    complete["spec"]["selector"]["matchExpressions"].pop()
    hook = {"key": '.metadata.annotations["helm.sh/hook"]', "operator": "In", "values": ["test"]}
    yield _where(complete, "pod-of-test-complete", hook)


def _where(stage: Stage, name: str, expression: dict[str, Any]) -> Stage:
    changed = deepcopy(stage)
    changed["metadata"]["name"] = name
    changed["spec"]["selector"]["matchExpressions"].append(expression)
    return changed


def _image(tag: str, operator: str) -> dict[str, Any]:
    return {"key": f'.spec.containers.[].image | select( endswith(":{tag}") )', "operator": operator}


def _ill(complete: Stage) -> Stage:
    told = complete["spec"]["next"]["statusTemplate"]
    for well, ill in ILL.items():
        assert well in told
        told = told.replace(well, ill)
    complete["spec"]["next"]["statusTemplate"] = told
    return complete
