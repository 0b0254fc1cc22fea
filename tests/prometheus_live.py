# ruff: noqa: T201 - a script
"""A real Prometheus scrapes a mesh of nine processes and a door under load, and answers every query of every dashboard.

``make dashboards-test``; needs Debian's ``prometheus``. What has no data is told, and is a failure unless it is known
why. ``--keep FILE`` keeps what each query answered over time, as JSON, to be drawn.
"""

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import yaml
from deployment import free_ports, until
from observing import NOT_HERE, Observed, open_observed, work
from promql import ALERTS, panels, selectors

RATE = "30s"
"""What ``$__rate_interval`` is here: scraped every second, that is enough."""
NOTHING_WRONG = {
    ("stores", "Failures by reason"): "no store failed",
    ("stores", "Hosted services that are not ready"): "all are ready",
}
"""What is empty while all is well."""


@asynccontextmanager
async def open_prometheus(folder: Path, observed: Observed) -> AsyncIterator[httpx.AsyncClient]:
    """Scrape every process once a second, each as a job of its own."""
    [port] = free_ports(1)
    jobs = [
        {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{process.metrics}"]}]}
        for name, process in observed.processes.items()
    ]
    settings = {"global": {"scrape_interval": "1s"}, "rule_files": [str(ALERTS)], "scrape_configs": jobs}
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    words = [
        shutil.which("prometheus"),
        f"--config.file={folder / 'prometheus.yaml'}",
        f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        running = await asyncio.to_thread(subprocess.Popen, words, stdout=log, stderr=log)
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/api/v1", timeout=30) as http:
            await until(lambda: _scrapes(http, len(jobs)), 60)
            yield http
    finally:
        running.terminate()
        await asyncio.to_thread(running.wait)


async def _scrapes(http: httpx.AsyncClient, jobs: int) -> bool:
    try:
        targets = (await http.get("/targets")).json()["data"]["activeTargets"]
    except (httpx.TransportError, ValueError):
        return False
    return len(targets) == jobs and all(one["health"] == "up" for one in targets)


async def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=8, help="of retains and recalls; a round takes some seconds")
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args(words)
    if shutil.which("prometheus") is None:
        print("there is no prometheus here: apt-get install prometheus")
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with open_observed(folder) as observed, open_prometheus(folder, observed) as http:
            began = time.time()
            await work(observed, given.rounds)
            await asyncio.sleep(12)  # what waits is counted every ten seconds
            answers = [(where, title, query, await _ask(http, query)) for where, title, query in panels()]
            rules = (await http.get("/rules")).json()["data"]["groups"]
            if given.keep:
                await _keep(http, given.keep, began)
    return _tell(answers, rules)


async def _ask(http: httpx.AsyncClient, query: str) -> list:
    answer = (await http.get("/query", params={"query": query.replace("[1m]", f"[{RATE}]")})).json()
    if answer["status"] != "success":
        raise AssertionError(f"{query}: {answer['error']}")
    return answer["data"]["result"]


async def _keep(http: httpx.AsyncClient, path: Path, began: float) -> None:
    kept = []
    for where, title, query in panels():
        asked = {"query": query.replace("[1m]", f"[{RATE}]"), "start": began, "end": time.time(), "step": 1}
        answer = (await http.get("/query_range", params=asked)).json()
        kept.append({"board": where, "title": title, "query": query, "result": answer["data"]["result"]})
    await asyncio.to_thread(path.write_text, json.dumps(kept), encoding="utf-8")


def _tell(answers: list, rules: list) -> int:
    failed = 0
    for where, title, query, found in answers:
        values = [float(one["value"][1]) for one in found]
        why = NOTHING_WRONG.get((where, title)) or next(
            (NOT_HERE[one.name] for one in selectors(query) if one.name in NOT_HERE), ""
        )
        failed += not found and not why
        told = f"{len(found)} series, {min(values):.4g} to {max(values):.4g}" if found else why or "NO DATA"
        print(f"{where:8} {title:55} {told}")
    broken = [rule["name"] for group in rules for rule in group["rules"] if rule["health"] != "ok"]
    firing = [rule["name"] for group in rules for rule in group["rules"] if rule.get("state") == "firing"]
    print(f"{len(answers)} queries, {failed} without data; alerts that cannot be asked: {broken}; firing: {firing}")
    return int(failed > 0 or bool(broken))


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
