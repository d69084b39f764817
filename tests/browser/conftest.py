"""The pages of the tiers "paper" and "reduced", and browsers of several widths to look at them."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.report.page import page
from reprise.report.parts.context import load_contexts
from reprise.report.page.page import page
from reprise.report.page.cards import training_curve

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


@pytest.fixture(scope="session")
def browsers(tmp_path_factory):
    """A function: a browser of a width and a colour scheme, started once."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    started = []

    @functools.cache
    def start(width: int, dark: bool) -> Chrome:
        options = ChromeOptions()
        options.binary_location = BROWSER
        profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
        for flag in (*FLAGS.split(), f"--window-size={width},1000", profile):
            options.add_argument(flag)
        if dark:
            options.add_argument("--blink-settings=preferredColorScheme=0")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        started.append(Chrome(options=options, service=Service(DRIVER)))
        return started[-1]

    yield start
    for browser in started:
        browser.quit()


@pytest.fixture
def opened(report, browsers):
    """A function that opens a tier's page anew in a browser of a width and a colour scheme."""

    def start(width: int = 1200, dark: bool = False, fragment: str = "", tier: str = "paper"):
        browser = browsers(width, dark)
        browser.get("about:blank")  # or a fragment alone would load nothing
        browser.get_log("browser")  # empties it
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        if width <= PHONE:
            screen = {"width": width, "height": 844, "deviceScaleFactor": 2, "mobile": True}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.get(report(tier).as_uri() + fragment)
        return browser

    return start
