"""A real browser for tests of pages; without one they are skipped, except in CI."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Browser, async_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Without these a headless browser looks for its maker's hosts at every start.
QUIET = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")


def find_browser() -> str:
    """Return where a browser is."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        wanted = f"no browser: one of {', '.join(BROWSERS)} is needed to look at the page"
        if os.environ.get("CI") == "true":
            pytest.fail(wanted)
        pytest.skip(wanted)
    return found


@asynccontextmanager
async def open_browser(*arguments: str) -> AsyncIterator[Browser]:
    """Start a browser, and end it in the end."""
    rights = ("--no-sandbox",) if os.geteuid() == 0 else ()
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=find_browser(), args=[*QUIET, *rights, *arguments])
        yield browser
        await browser.close()
