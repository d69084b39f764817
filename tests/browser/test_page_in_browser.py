"""The page in a real browser: the first screen, several widths in light and dark, and what unfolds."""

import functools
import re
import shutil

import pytest
from project import ROOT, wait_until

from reprise.config.project import load_project
from reprise.report.page.page import make_page
from reprise.report.parts.context import load_all_tiers

pytestmark = pytest.mark.browser

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed; pip install selenium")

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PHONE = 390  # CSS pixels; a window is never below 500, so that the screen is emulated
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update"
)
UNFOLD = """
const done = arguments[0];
(async () => {
  for (let folded; (folded = [...document.querySelectorAll("details:not([open])")]).length; ) {
    for (const details of folded) details.open = true;
    for (const details of folded) await fillDetails(details);
  }
  done();
})();
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The page of the committed records; nothing is written into the clone."""
    project = load_project(ROOT, {"tier": "paper"})
    path = tmp_path_factory.mktemp("page") / "report é.html"
    path.write_text(make_page(project, load_all_tiers(project)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browsers(tmp_path_factory):
    """A function: a browser of a width and a colour scheme, started once."""
    if not (BROWSER and DRIVER):
        pytest.skip("no chromium and chromedriver on this machine")
    started = []

    @functools.cache
    def start(width: int, dark: bool) -> webdriver.Chrome:
        options = webdriver.ChromeOptions()
        options.binary_location = BROWSER
        profile = f"--user-data-dir={tmp_path_factory.mktemp('profile')}"
        for flag in (*FLAGS.split(), f"--window-size={width},900", profile):
            options.add_argument(flag)
        if dark:
            options.add_argument("--blink-settings=preferredColorScheme=0")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        started.append(webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER)))
        started[-1].set_script_timeout(150)  # the whole page is unfolded
        return started[-1]

    yield start
    for browser in started:
        browser.quit()


@pytest.fixture
def opened(browsers, report):
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


def boxes(browser, selector: str) -> list[list[float]]:
    """[left, top, right, bottom] of every element that is shown."""
    script = (
        "return [...document.querySelectorAll(arguments[0])].map(e => e.getBoundingClientRect())"
        ".filter(b => b.width || b.height).map(b => [b.left, b.top, b.right, b.bottom])"
    )
    return browser.execute_script(script, selector)


def test_the_first_screen_holds_the_main_claims_with_their_numbers_and_no_label_of_the_plot_is_cut(opened):
    browser = opened()
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 1440, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    rows = browser.execute_script("return [...document.querySelectorAll('table.main tbody tr')].map(e => e.innerText)")
    assert {text[:3] for text in rows} == {"000", "001", "002", "003", "004"}
    assert all(re.search(r"replicate|undecided|not judged|no data|not run", text) for text in rows), rows
    row_boxes = boxes(browser, "table.main tbody tr")
    assert [box for box in row_boxes if box[0] < 0 or box[2] > 1440 or box[3] > 900] == []
    for selector, least in {"svg.forest.wide a": 20, ".squares a": 50}.items():
        assert len(boxes(browser, selector)) >= least, selector
    (plot,) = boxes(browser, "svg.forest.wide")
    assert [row for row in boxes(browser, "svg.forest.wide text") if row[0] < plot[0] - 1 or row[2] > plot[2] + 1] == []
    axis = min(box[0] for box in boxes(browser, "svg.forest.wide line.rule"))
    labels = boxes(browser, "svg.forest.wide a > text:first-of-type")
    assert [label for label in labels if label[2] > axis] == []


@pytest.mark.parametrize("width", [1440, 1100, PHONE])
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_overflows_in_either_scheme(opened, width, dark):
    browser = opened(width, dark)
    browser.execute_async_script(UNFOLD)
    wide, shown = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide <= shown <= width
    bare = "return [...document.querySelectorAll('table')].filter(table => !table.closest('.scroll')).length"
    assert browser.execute_script(bare) == 0
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    lightness = sum(int(part) for part in colour[4:-1].split(",")[:3]) / 3
    assert (lightness < 128) is dark
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def test_a_phone_shows_the_main_claims_then_the_plot_then_squares(opened):
    browser = opened(PHONE)
    order = [boxes(browser, selector)[0][1] for selector in ("table.main", "svg.forest.narrow", ".squares")]
    assert order == sorted(order)
    assert boxes(browser, "svg.forest.wide") == []


def test_identifiers_are_unique_and_every_link_on_the_page_has_its_target(opened):
    browser = opened()
    address = "element => decodeURIComponent(element.getAttribute('href').slice(1))"
    links = f"return [...document.querySelectorAll('a[href^=\"#\"]')].map({address})"
    browser.execute_async_script(UNFOLD)
    ids = browser.execute_script("return [...document.querySelectorAll('[id]')].map(element => element.id)")
    assert len(ids) == len(set(ids)) > 500
    assert set(browser.execute_script(links)) - set(ids) == set()


@pytest.mark.parametrize("address", ["rrntn/R1", "rrntn/paper/table-1", "rrntn/paper/experiments/s-rnn-100"])
def test_an_address_unfolds_what_it_leads_to(opened, address):
    browser = opened(fragment=f"#{address}")
    wait_until(lambda: browser.find_elements("id", address), 10)
    element = browser.find_element("id", address)
    wait_until(element.is_displayed, 10)
    if address.endswith("s-rnn-100"):
        command = r"python -m reprise train rrntn/s-rnn-100 --tier paper --replica 0 --engine \w+ --output again.json"
        wait_until(lambda: re.search(command, element.text), 10)
        assert "h_t = sigma(W_h x_t" in element.text


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("rntn-100 paper", "#rrntn/paper/experiments/"),
        ("r1", "#rrntn/R1"),
        ("table 4 llrnn", "#llrnn/reduced/table-4"),
        ("dropout", "/experiments/"),
        ("no such thing", "Nothing found."),
    ],
)
def test_the_search_leads_to_claims_and_experiments_the_exact_name_first(opened, query, first):
    browser = opened()
    browser.find_element("css selector", ".search input").send_keys(query)
    results = browser.find_element("css selector", ".search ul")
    wait_until(lambda: results.text, 10)
    links = browser.find_elements("css selector", ".search li a")
    assert first in (links[0].get_attribute("href") if links else results.text)
