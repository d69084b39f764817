"""The page in windows of several widths, in light and dark, on a phone and on paper: nothing is cut off."""

from __future__ import annotations

import pytest

pytest.importorskip("selenium", reason="selenium is not installed; pip install selenium")

PHONE = 390
SHEET = 734  # A4 in CSS pixels, without Chromium's margins
WIDE = 1400


@pytest.mark.parametrize(
    ("tier", "width", "dark"),
    [("paper", 1200, False), ("paper", PHONE, True), ("reduced", 1200, True), ("reduced", PHONE, False)],
)
def test_the_page_fits_its_window_and_follows_the_colour_scheme(opened, tier, width, dark):
    browser = opened(width, dark, tier=tier)
    sizes = "const root = document.documentElement; return [root.scrollWidth, root.clientWidth, window.innerWidth]"
    content, shown, window = browser.execute_script(sizes)
    assert content <= shown <= window <= width
    colour = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    lightness = sum(int(part) for part in colour[4:-1].split(",")[:3]) / 3
    assert (lightness < 128) is dark


def test_what_is_wider_than_its_column_stands_out_of_it_on_both_sides(opened):
    browser = opened(WIDE)
    script = (
        "document.querySelectorAll('#claims-table, #experiments-table, #rrntn-table-1 table')"
        ".forEach(table => (table.style.minWidth = '1200px'));"
        "return [...document.querySelectorAll('.table .scroll, .dt-container .scroll')]"
        ".map(box => [box, box.parentElement].map(part => part.getBoundingClientRect()))"
        ".filter(([box, column]) => box.width > column.width + 1)"
        ".map(([box, column]) => [column.left - box.left, box.right - column.right])"
    )
    beyond = browser.execute_script(script)
    assert len(beyond) >= 3
    assert [sides for sides in beyond if abs(sides[0] - sides[1]) > 1 or sides[0] < 0] == []


def test_a_phone_shows_every_verdict_without_scrolling_sideways(opened):
    browser = opened(PHONE)
    script = (
        "return [...document.querySelectorAll(arguments[0])].map(cell => cell.getBoundingClientRect())"
        ".filter(box => box.width).map(box => [box.left, box.right])"
    )
    shown = {
        "summary": "#summary td[data-verdict]:not(:empty)",
        "claims": "#claims-table tbody td:nth-child(3)",
        "a paper's claims": "#rrntn-claims tbody td:nth-child(2)",
    }
    for what, cells in shown.items():
        boxes = browser.execute_script(script, cells)
        assert len(boxes) > 10, what
        assert [box for box in boxes if box[0] < 0 or box[1] > PHONE] == [], what


def test_a_phone_shows_what_is_claimed_and_what_was_found_without_scrolling_sideways(opened):
    browser = opened(PHONE)
    script = (
        "return [...document.querySelectorAll(arguments[0])].map(cell => cell.getBoundingClientRect())"
        ".map(box => [box.left, box.right])"
    )
    for cells in ("#claims-table tbody td:nth-child(n + 4)", "#rrntn-claims tbody td:nth-child(n + 3)"):
        boxes = browser.execute_script(script, cells)
        assert len(boxes) > 20
        assert [box for box in boxes if box[1] - box[0] < 200 or box[0] < 0 or box[1] > PHONE] == []


def test_a_rows_name_stays_beside_its_numbers_on_a_phone(opened):
    browser = opened(PHONE)
    script = (
        "const box = document.querySelector('#rrntn-table-1 .scroll'); box.scrollLeft = 200;"
        "const cell = row => box.querySelector(`tbody td:nth-child(${row})`).getBoundingClientRect().left;"
        "return [box.scrollLeft, cell(1) - box.getBoundingClientRect().left, cell(2)]"
    )
    scrolled, name, number = browser.execute_script(script)
    assert scrolled == 200
    assert abs(name) < 1
    assert number < 0


def test_a_wide_window_shows_the_verdicts_of_every_result_table(opened):
    browser = opened(WIDE)
    script = (
        "return [...document.querySelectorAll('.table .scroll, .dt-container .scroll')].flatMap(box =>"
        "[...box.querySelectorAll('th')].filter(head => /Verdict|Claims|Ours/.test(head.innerText))"
        ".map(head => [head.innerText, head.getBoundingClientRect().right, box.getBoundingClientRect().right]))"
    )
    heads = browser.execute_script(script)
    assert len(heads) > 20
    assert [head for head in heads if head[1] > head[2] + 1 or head[2] > WIDE] == []


def test_a_table_that_is_cut_off_shows_a_shadow_at_the_edge(opened):
    browser = opened(PHONE)
    style = "return getComputedStyle(document.querySelector('#rrntn-table-1 .scroll'))[arguments[0]]"
    attached = browser.execute_script(style, "backgroundAttachment").split(", ")
    assert attached.count("local") == attached.count("scroll") == 2


@pytest.mark.parametrize("opened_cards", [False, True])
def test_a_sheet_of_paper_holds_every_table_and_command(opened, opened_cards):
    browser = opened()
    cards = "document.querySelectorAll('details[id^=experiment-]')"
    browser.execute_script(f"{cards}.forEach(card => (card.open = arguments[0]))", opened_cards)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    screen = {"width": SHEET, "height": 1000, "deviceScaleFactor": 1, "mobile": True}  # mobile: no scroll bar
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    assert browser.execute_script("return document.documentElement.clientWidth") == SHEET
    script = (
        "return [...document.querySelectorAll('body *')].filter(element =>"
        "element.getBoundingClientRect().right > arguments[0] + 1"
        "|| (element.scrollWidth > element.clientWidth + 1 && element.matches('.scroll, pre, .command')))"
        ".map(element => element.tagName + ' in ' + (element.closest('[id]') || {}).id)"
    )
    assert browser.execute_script(script, SHEET) == []
    shown = "return [...document.querySelectorAll(arguments[0])].filter(element => element.checkVisibility()).length"
    assert browser.execute_script(shown, ".dt-search, thead button, nav") == 0
    there = browser.execute_script(f"return {cards}.length")
    assert there > 80
    assert browser.execute_script(shown, "details[id^=experiment-]") == (there if opened_cards else 0)
    # Printing itself opens no card.
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script(f"return [...{cards}].some(card => card.open)") is opened_cards
