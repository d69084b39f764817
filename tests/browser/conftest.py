"""The pages of the tiers "paper" and "reduced", and browsers of several widths to look at them."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.report import page as page_module
from reprise.report.context import load_contexts
from reprise.report.page import page
from reprise.report.thumbnails import training_curve

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PHONE = 390  # CSS pixels; a window is never below 500, so that the screen is emulated
ROOT = Path(__file__).parents[2]
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without a browser on this machine the tests of this folder are skipped."""
    missing = pytest.mark.skip(reason="no chromium and chromedriver on this machine")
    for item in items:
        if Path(__file__).parent in item.path.parents and not (BROWSER and DRIVER):
            item.add_marker(missing)


@pytest.fixture(scope="session")
def report(tmp_path_factory) -> Callable[[str], Path]:
    """A function: the page of a tier's committed records; nothing is written into the clone."""

    @functools.cache
    def written(tier: str) -> Path:
        project = load_project(ROOT, {"tier": tier})
        contexts = load_contexts(project, resolve_tier(project))
        path = tmp_path_factory.mktemp("page") / "report é.html"
        with pytest.MonkeyPatch.context() as patch:
            # One curve stands for all: to draw some hundred takes minutes.
            patch.setattr(page_module, "training_curve", lambda *_: drawn())
            path.write_text(page(project, contexts), encoding="utf-8")
        return path

    @functools.cache
    def drawn() -> str | None:
        project = load_project(ROOT, {"tier": "paper", "papers": ["palindromes"]})
        return training_curve(load_contexts(project, resolve_tier(project))["palindromes"], "rnn-t10")

    return written


@pytest.fixture
def opened(report, tmp_path):
    """A function that opens the page in a browser of a width and a colour scheme."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    browsers = []

    def start(width: int = 1200, dark: bool = False, fragment: str = "", tier: str = "paper") -> Chrome:
        options = ChromeOptions()
        options.binary_location = BROWSER
        for flag in (*FLAGS.split(), f"--window-size={width},1000", f"--user-data-dir={tmp_path}/{len(browsers)}"):
            options.add_argument(flag)
        if dark:
            options.add_argument("--blink-settings=preferredColorScheme=0")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        browser = Chrome(options=options, service=Service(DRIVER))
        browsers.append(browser)
        if width <= PHONE:
            screen = {"width": width, "height": 844, "deviceScaleFactor": 2, "mobile": True}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.get(report(tier).as_uri() + fragment)
        return browser

    yield start
    for browser in browsers:
        browser.quit()
