"""The page in a real browser: searched, filtered, opened by a link, in light, dark and on a phone's width."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from reprise.config.project import load_project
from reprise.config.resolve import resolve_tier
from reprise.report import rounding
from reprise.report.context import load_contexts
from reprise.report.page import page

selenium = pytest.importorskip("selenium", reason="selenium is not installed; pip install selenium")
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (BROWSER and DRIVER), reason="no chromium and chromedriver on this machine")

VERDICT = 2  # the column of the claims table
PHONE = 390  # CSS pixels; a window is never below 500, so that the screen is emulated
ROOT = Path(__file__).parents[2]
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update"
)


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """The page of the committed records of the tier "paper"; nothing is written into the clone."""
    project = load_project(ROOT, {"tier": "paper"})
    contexts = load_contexts(project, resolve_tier(project))
    path = tmp_path_factory.mktemp("page") / "report é.html"
    path.write_text(page(project, contexts), encoding="utf-8")
    return path


@pytest.fixture
def opened(report, tmp_path):
    """A function that opens the page in a browser of a width and a colour scheme."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    browsers = []

    def start(width: int = 1200, dark: bool = False, fragment: str = "") -> Chrome:
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
        browser.get(report.as_uri() + fragment)
        return browser

    yield start
    for browser in browsers:
        browser.quit()


def rows(browser, table: str) -> list[list[str]]:
    script = (
        "return [...document.querySelectorAll(arguments[0] + ' tbody tr')]"
        ".map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    )
    return browser.execute_script(script, f"#{table}")


def search(browser, table: str, words: str) -> None:
    script = "return document.querySelector(arguments[0]).closest('.dt-container').querySelector('input[type=search]')"
    browser.execute_script(script, f"#{table}").send_keys(words)


def test_experiments_are_searched_and_show_the_numbers_that_were_collected(opened):
    browser = opened()
    assert len(rows(browser, "experiments-table")) > 80
    search(browser, "claims-table", "R19")
    with (ROOT / "results/paper/metrics.csv").open(encoding="utf-8") as file:
        collected = [
            float(row["value"])
            for row in csv.DictReader(file)
            if (row["experiment"], row["variant"], row["split"], row["metric"])
            == ("rntn-100", "", "test", "perplexity")
        ]
    found = rows(browser, "claims-table")
    assert 1 <= len(found) < 5
    claim = next(row for row in found if row[1] == "R19")
    verdicts = json.loads((ROOT / "results/paper/claims.json").read_text())
    assert claim[VERDICT] == verdicts["rrntn"]["R19"]["verdict"]
    browser.refresh()
    search(browser, "experiments-table", "RNTN, H = 100 (K = V) rntn-100 test perplexity")
    found = [row for row in rows(browser, "experiments-table") if row[1] == "rntn-100"]
    ours = rounding.significant(rounding.mean(collected), 5)
    assert found[0][-1].split(" ± ")[0] == ours
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def test_a_column_is_filtered_by_its_own_search(opened):
    from selenium.webdriver.common.by import By

    browser = opened()
    heads = browser.find_elements(By.CSS_SELECTOR, "#claims-table thead th")
    button = heads[VERDICT].find_elements(By.CSS_SELECTOR, "button")[-1]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
    button.click()
    browser.switch_to.active_element.send_keys("not reproduced")
    found = rows(browser, "claims-table")
    assert found
    assert {row[VERDICT] for row in found} == {"not reproduced"}


def test_a_link_to_an_experiment_opens_its_card(opened):
    from selenium.webdriver.common.by import By

    browser = opened(fragment="#rrntn-s-rnn-100")
    card = browser.find_element(By.ID, "rrntn-s-rnn-100")
    assert card.get_attribute("open")
    assert "python -m reprise train rrntn/s-rnn-100 --tier paper --replica 0" in card.text
    assert "h_t = sigma(W_h x_t" in card.text


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (PHONE, False), (PHONE, True)])
def test_the_page_fits_its_window_and_follows_the_colour_scheme(opened, width, dark):
    browser = opened(width, dark)
    wide, window = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= window <= width
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    lightness = sum(int(part) for part in colour[4:-1].split(",")[:3]) / 3
    assert (lightness < 128) is dark


def test_a_phone_shows_every_verdict_without_scrolling_sideways(opened):
    browser = opened(PHONE)
    script = (
        "return [...document.querySelectorAll(arguments[0])].map(cell => cell.getBoundingClientRect())"
        ".filter(box => box.width).map(box => [box.left, box.right])"
    )
    shown = {
        "summary": "#summary td[data-verdict]:not(:empty)",
        "claims": f"#claims-table tbody td:nth-child({VERDICT + 1})",
        "a paper's claims": "#rrntn-claims tbody td:nth-child(2)",
    }
    for what, cells in shown.items():
        boxes = browser.execute_script(script, cells)
        assert len(boxes) > 10, what
        assert [box for box in boxes if box[0] < 0 or box[1] > PHONE] == [], what
