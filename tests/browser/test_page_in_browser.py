"""The page in a real browser: searched, filtered, ordered, and opened by a link."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from reprise.report.parts import rounding

pytest.importorskip("selenium", reason="selenium is not installed; pip install selenium")

VERDICT = 2  # the column of the claims table
ROOT = Path(__file__).parents[2]


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
    ours = found[0][-1].split(" ± ")[0]
    assert ours == rounding.fixed(rounding.mean(collected), len(ours.partition(".")[2]))
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def press(browser, table: str, column: int, button: int) -> None:
    """Presses a button in a column's head: 0 orders the rows, 1 opens the filter."""
    script = (
        "document.querySelectorAll(arguments[0] + ' thead th')[arguments[1]]"
        ".querySelectorAll('button')[arguments[2]].click()"
    )
    browser.execute_script(script, f"#{table}", column, button)


@pytest.mark.parametrize("verdict", ["reproduced", "not reproduced"])
def test_a_verdict_is_chosen_from_a_list_and_brings_no_other(opened, verdict):
    from selenium.webdriver.common.by import By

    browser = opened()
    there = [row[VERDICT] for row in rows(browser, "claims-table")]
    press(browser, "claims-table", VERDICT, 1)
    choices = browser.find_elements(By.CSS_SELECTOR, ".dtcc-dropdown .dtcc-list-buttons button")
    assert [choice.text for choice in choices] == sorted(set(there))
    browser.execute_script("arguments[0].click()", next(c for c in choices if c.text == verdict))
    found = rows(browser, "claims-table")
    assert {row[VERDICT] for row in found} == {verdict}
    assert len(found) == there.count(verdict) < len(there)


def test_papers_and_states_are_chosen_from_lists_too(opened):
    browser = opened()
    script = "return [...document.querySelectorAll('.dtcc-list-buttons button')].map(button => button.innerText.trim())"
    for table, column in (("claims-table", 0), ("experiments-table", 0), ("experiments-table", 3)):
        press(browser, table, column, 1)
        assert set(browser.execute_script(script)) == {row[column] for row in rows(browser, table)}
        browser.execute_script("document.body.click()")


def test_claims_are_ordered_by_their_numbers(opened):
    browser = opened()
    press(browser, "claims-table", 1, 0)
    names = [row[1] for row in rows(browser, "claims-table")]
    assert names.index("R2") < names.index("R3") < names.index("R10") < names.index("R19")


@pytest.mark.parametrize("column", [6, 7])
def test_numbers_are_ordered_as_numbers_and_rows_without_one_come_last(opened, column):
    browser = opened()
    assert browser.execute_script("return document.querySelectorAll('#experiments-table th')[6].innerText") == "Paper's"
    script = (
        "return [...document.querySelectorAll('#experiments-table tbody tr')]"
        ".map(row => row.cells[arguments[0]].dataset.order)"
    )
    unordered = browser.execute_script(script, column)
    there = sorted(float(number) for number in unordered if number)
    missing = [""] * unordered.count("")
    assert len(missing) > 0 < len(there)
    for expected in (there, there[::-1]):
        press(browser, "experiments-table", column, 0)
        found = browser.execute_script(script, column)
        assert [float(number) for number in found[: len(there)]] == expected
        assert found[len(there) :] == missing


def test_buttons_and_fields_of_a_column_are_named_after_it(opened):
    browser = opened()
    labels = (
        "return [...document.querySelectorAll(arguments[0])].map(element => element.getAttribute('aria-label') || '')"
    )
    for table, columns in (("claims-table", 5), ("experiments-table", 8)):
        named = browser.execute_script(labels, f"#{table} thead button")
        assert len(named) == len(set(named)) == 2 * columns
    press(browser, "claims-table", 1, 1)
    assert set(browser.execute_script(labels, ".dtcc-dropdown :is(input, select)")) == {"Search in Claim"}


def test_every_table_that_scrolls_is_reached_by_keyboard_and_has_a_name(opened):
    browser = opened()
    script = (
        "return [...document.querySelectorAll('table')].map(table => table.parentElement)"
        ".filter(box => !(box.classList.contains('scroll') && box.tabIndex === 0 && box.ariaLabel)).length"
    )
    assert browser.execute_script(script) == 0


def test_identifiers_are_unique_and_every_link_on_the_page_has_its_target(opened):
    browser = opened()
    ids = browser.execute_script("return [...document.querySelectorAll('[id]')].map(element => element.id)")
    assert len(ids) == len(set(ids))
    script = "return [...document.querySelectorAll('a[href^=\"#\"]')].map(link => link.getAttribute('href').slice(1))"
    assert set(browser.execute_script(script)) <= set(ids)


@pytest.mark.parametrize("card", ["rrntn-s-rnn-100", "lecture-figure-7"])
def test_a_link_to_an_experiment_opens_its_card(opened, card):
    from selenium.webdriver.common.by import By

    browser = opened(fragment=f"#experiment-{card}")
    found = browser.find_element(By.ID, f"experiment-{card}")
    assert found.get_attribute("open")
    paper, _, experiment = card.partition("-")
    command = rf"python -m reprise train {paper}/{experiment} --tier paper --replica 0 --engine \w+ --output again.json"
    assert re.search(command, found.text)
    if experiment == "s-rnn-100":
        assert "h_t = sigma(W_h x_t" in found.text
