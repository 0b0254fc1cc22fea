"""Builds the images that the compose files name: ``python deploy/images.py build keyword all``; no name: every one.

Beside them, in ``build/images``: each one's bill of materials, and a table of their sizes. What follows ``--`` goes to
the build.
"""

import argparse
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
COMPOSE = tuple(ROOT / "deploy" / name for name in ("compose.yaml", "compose.embedded.yaml"))
REPOSITORY = "recallmesh"
TOOLS = ("docker", "podman")
"""What builds images, as people have it: the first that is there."""
BILL = "/opt/recallmesh/sbom.cdx.json"
MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Image:
    """An image by its name, and the extras that it has."""

    name: str
    extras: str


@dataclass(frozen=True, slots=True)
class Options:
    """How images are built: what they are tagged with, on which base, where packages come from (see the Dockerfile)."""

    tag: str
    base: str = ""
    wheels: str = ""
    ca: str = ""
    more: tuple[str, ...] = ()


def images_of(composed: Sequence[Mapping[str, Any]]) -> dict[str, Image]:
    """Return every image that compose files build, by its name.

    Raises:
        ValueError: two services would build one image with different extras.

    """
    found: dict[str, Image] = {}
    for services in (one["services"] for one in composed):
        for service in services.values():
            if "build" not in service:
                continue
            name = service["image"].partition(":")[0].removeprefix(f"{REPOSITORY}/")
            image = Image(name, service["build"]["args"]["EXTRAS"])
            if found.setdefault(name, image) != image:
                raise ValueError(f"{name} is built with {image.extras} and with {found[name].extras}")
    return found


def known_images() -> dict[str, Image]:
    """Return the images of the compose files here."""
    return images_of([yaml.safe_load(path.read_text(encoding="utf-8")) for path in COMPOSE])


def build_words(tool: str, image: Image, options: Options, *, revision: str) -> list[str]:
    """Return the command that builds an image; layers of one build serve the next."""
    words = [tool, "build", "--file", "deploy/Dockerfile", "--tag", f"{REPOSITORY}/{image.name}:{options.tag}"]
    if tool != "docker":
        # The format that keeps the health check.
        words += ["--format", "docker", "--layers"]
    given = {"EXTRAS": image.extras, "VERSION": options.tag, "REVISION": revision, "BASE": options.base}
    for name, value in given.items():
        words += ["--build-arg", f"{name}={value}"] if value else []
    words += ["--build-context", f"wheels={options.wheels}"] if options.wheels else []
    words += ["--secret", f"id=ca,src={options.ca}"] if options.ca else []
    return [*words, *options.more, "."]


def build(tool: str, images: Sequence[Image], options: Options, folder: Path) -> None:
    """Build images one after the other, and keep their bills of materials and sizes."""
    folder.mkdir(parents=True, exist_ok=True)
    revision = _output("git", "rev-parse", "HEAD").strip()
    sizes = {}
    for image in images:
        print(f"{REPOSITORY}/{image.name}:{options.tag} with {image.extras}", flush=True)
        subprocess.run(build_words(tool, image, options, revision=revision), cwd=ROOT, check=True)
        sizes[image.name] = size_of(tool, f"{REPOSITORY}/{image.name}:{options.tag}")
        (folder / f"{image.name}.cdx.json").write_bytes(bill_of(tool, f"{REPOSITORY}/{image.name}:{options.tag}"))
    (folder / "sizes.md").write_text(table_of(sizes), encoding="utf-8")
    print(table_of(sizes), end="")
    print(f"bills of materials and sizes: {folder}")


def size_of(tool: str, name: str) -> int:
    """Return how many bytes an image has, unpacked, the base among them."""
    return int(_output(tool, "image", "inspect", "--format", "{{.Size}}", name))


def bill_of(tool: str, name: str) -> bytes:
    """Return an image's bill of materials, which lies in it."""
    return _output(
        tool, "run", "--rm", "--no-healthcheck", "--network", "none", "--entrypoint", "cat", name, BILL
    ).encode()


def table_of(sizes: Mapping[str, int]) -> str:
    """Return the sizes as a table in Markdown, in MiB."""
    rows = [f"| {name} | {size / MIB:.0f} |\n" for name, size in sorted(sizes.items(), key=lambda one: one[1])]
    return "".join(("| image | MiB |\n", "|---|---|\n", *rows))


def _output(*words: str) -> str:
    return subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def _version() -> str:
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def main(given: Sequence[str]) -> int:
    """Do what the words say; returns the exit code."""
    split = list(given).index("--") if "--" in given else len(given)
    parser = argparse.ArgumentParser(prog="deploy/images.py", description="Build the images of the mesh.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="print each image's name and extras")
    making = verbs.add_parser("build", help="build images, all of them if none is named")
    making.add_argument("names", nargs="*", metavar="IMAGE")
    making.add_argument("--tool", choices=TOOLS, default=next(filter(shutil.which, TOOLS), None))
    making.add_argument("--tag", default=_version(), help="default: the version")
    making.add_argument("--base", default="", help="the image to start from (default: the Dockerfile's)")
    making.add_argument(
        "--wheels", default="", metavar="FOLDER", help="take packages from here, and none from an index"
    )
    making.add_argument("--ca", default="", metavar="FILE", help="certificates to trust, behind a proxy of one's own")
    making.add_argument("--output", default="build/images", metavar="FOLDER", help="default: build/images")
    words = parser.parse_args(given[:split])
    known = known_images()
    if words.verb == "list":
        print("\n".join(f"{image.name}\t{image.extras}" for image in known.values()))
        return 0
    if unknown := [name for name in words.names if name not in known]:
        parser.error(f"no image {', '.join(unknown)}; there are {', '.join(known)}")
    if words.tool is None:
        parser.error(f"one of {', '.join(TOOLS)} is needed")
    options = Options(words.tag, words.base, words.wheels, words.ca, tuple(given[split + 1 :]))
    chosen = [known[name] for name in words.names] or list(known.values())
    try:
        build(words.tool, chosen, options, (ROOT / words.output).resolve())
    except subprocess.CalledProcessError as error:
        print(f"`{' '.join(map(str, error.cmd))}` ended with {error.returncode}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
