"""What a process says in its log about being ready."""

import structlog
from structlog.testing import capture_logs

from recallmesh.core.errors import StoreUnavailable
from recallmesh.rpc.readiness import Readiness


async def test_a_process_says_once_that_it_is_ready_and_again_after_it_was_not():
    up = True

    async def check():
        if not up:
            raise StoreUnavailable("gone")

    structlog.reset_defaults()  # whatever level an earlier test has set
    readiness = Readiness(interval_s=1, timeout_s=1)
    with capture_logs() as told:
        await readiness.take({"a": check, "b": check})
        for up in (True, True, False, True):  # noqa: B007 - the check reads it
            await readiness.ask()
    said = [line["event"] for line in told if line["log_level"] != "debug"]
    assert said == ["ready", "part not ready", "part not ready", "ready"]
