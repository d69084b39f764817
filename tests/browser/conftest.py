"""The page of the committed results, and browsers of several widths to look at it."""

import functools
import shutil
from pathlib import Path

import pytest

from reprise.config.project import load_project
from reprise.report.page.page import page
from reprise.report.parts.context import every_tier

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
def report(tmp_path_factory) -> Path:
    """The page of the committed records; nothing is written into the clone."""
    project = load_project(ROOT, {"tier": "paper"})
    path = tmp_path_factory.mktemp("page") / "report é.html"
    path.write_text(page(project, every_tier(project)), encoding="utf-8")
    return path


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
        for flag in (*FLAGS.split(), f"--window-size={width},900", profile):
            options.add_argument(flag)
        if dark:
            options.add_argument("--blink-settings=preferredColorScheme=0")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        started.append(Chrome(options=options, service=Service(DRIVER)))
        started[-1].set_script_timeout(150)  # the whole page is unfolded
        return started[-1]

    yield start
    for browser in started:
        browser.quit()


@pytest.fixture
def opened(report, browsers):
    """A function that opens the page anew in a browser of a width and a colour scheme."""

    def start(width: int = 1440, dark: bool = False, fragment: str = ""):
        browser = browsers(width, dark)
        browser.get("about:blank")  # or a fragment alone would load nothing
        browser.get_log("browser")  # empties it
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        if width <= PHONE:
            screen = {"width": width, "height": 844, "deviceScaleFactor": 2, "mobile": True}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        browser.get(report.as_uri() + fragment)
        return browser

    return start
