"""The pages of a report in a browser: they open from the file system, sort, filter and link."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pyarrow.compute as pc
import pytest

from tests.support.pages import check_page
from zoo.results.report import RESULTS, Results


def cards(tab: Any) -> Any:
    """The cards that are laid out; the inner text of one that was not drawn yet is empty."""
    tab.wait_for_selector(".card")
    return tab.locator(".card")


def expect(found: Any) -> Any:
    """Playwright's assertions, which wait until the page has the state that they name."""
    return pytest.importorskip("playwright.sync_api").expect(found)


def column(tab: Any, table: str, number: int) -> list[str]:
    cells = tab.locator(f"{table} tbody tr:visible > :nth-child({number})")
    return [cell.get_attribute("data-value") or "" for cell in cells.all()]


def index_of(site: Path) -> dict[str, Any]:
    made = (site / "data" / "index.js").read_text()
    return dict(json.loads(made[len("zoo.index(") : -len(");\n")]))


@pytest.mark.parametrize("page", [pytest.param("index.html", marks=pytest.mark.slow), "cases.html"])
def test_each_page_opens_from_the_file_system_in_light_and_dark(
    browser: SimpleNamespace, site: Path, page: str
) -> None:
    check_page(browser, site / page)


def test_the_numbers_are_those_of_the_results(tab: Any, site: Path, runs: dict[str, Path]) -> None:
    tab.goto((site / "index.html").as_uri())
    of = [json.loads((folder / RESULTS).read_text())["presets"][0] for folder in runs.values()]
    for number, counted in enumerate(of):
        values = ["" if m["value"] is None else str(m["value"]) for m in counted["metrics"]]
        assert column(tab, "#all", 2 + number) == values
    metric = of[0]["metrics"][0]
    row = tab.locator("#all tbody tr").first.inner_text()
    assert f"{metric['value']:.1f}" in row
    assert f"{metric['low']:.1f} to {metric['high']:.1f}" in row
    assert "12 of 13" in row


def test_a_table_is_sorted_by_keyboard_and_filtered(tab: Any, site: Path) -> None:
    tab.goto((site / "index.html").as_uri())
    head = tab.locator("#all thead th").nth(1)
    head.locator("button").focus()
    tab.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "descending")
    found = list(map(float, column(tab, "#all", 2)))
    assert found == sorted(found, reverse=True)
    tab.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert list(map(float, column(tab, "#all", 2))) == sorted(found)
    tab.locator("input.filter[data-table=all]").fill("sugarcrepe swap_obj")
    expect(tab.locator("[data-count=all]")).to_have_text(re.compile(r"^1 of \d+ rows$"))
    expect(tab.locator("#all tbody tr:visible")).to_have_count(1)


def test_a_number_leads_to_its_cases(tab: Any, site: Path, runs: dict[str, Path]) -> None:
    tab.goto((site / "index.html").as_uri())
    first, metric = (
        json.loads((runs[name] / RESULTS).read_text())["presets"][0]["metrics"][0]
        for name in ("first", "second")
    )
    tab.locator("#all tbody tr").first.locator("a").nth(1).click()
    cards(tab)
    counts = [
        f"{name} is right in {round(12 * of['value'] / 100)} of 12 ({of['value']:.1f} %)"
        for name, of in (("second", metric), ("first", first))
    ]
    place = f"{metric['benchmark']}/{metric['subset']}/{metric['metric']}"
    text = f"{place}: 12 cases of 12 shown. {', '.join(counts)}."
    expect(tab.locator("#count")).to_have_text(text)
    expect(tab.locator(".card")).to_have_count(12)
    expect(tab.locator("#b")).to_have_value("0")  # beside the first, which others are compared to


def test_the_number_of_an_average_leads_to_the_cases_of_its_members(tab: Any, site: Path) -> None:
    tab.goto((site / "index.html").as_uri())
    tab.get_by_role("row", name="sugarcrepe, by cases").locator("a").first.click()
    cards(tab)
    count = tab.locator("#count")
    expect(count).to_have_text(
        re.compile(r"^84 cases of 84 shown\..*Their average weights metrics", re.DOTALL)
    )
    tab.locator("#members").click()
    expect(count).not_to_have_text(re.compile("^84 cases"))


def test_cases_begin_with_one_metric_and_back_returns_to_what_was_chosen_before(
    tab: Any, site: Path
) -> None:
    tab.goto((site / "cases.html").as_uri())
    cards(tab)
    began = tab.locator("#count").inner_text()
    index = index_of(site)
    gained = [wrong + right == "01" for wrong, right in zip(*index["right"], strict=True)]
    kept = {"/".join(part[:3]): sum(gained[part[3] :][: part[4]]) for part in index["parts"]}
    metric = max(kept, key=kept.__getitem__)  # none has twelve
    assert began.startswith(f"{metric}: {kept[metric]} cases of 12 shown")
    assert all(tab.locator(f"#{name}").input_value() for name in ("benchmark", "subset", "metric"))
    tab.locator("#show").select_option("wrong")
    count = tab.locator("#count")
    expect(count).not_to_have_text(began)
    chosen = count.inner_text()
    assert not began.startswith("sugarcrepe")
    tab.locator("#benchmark").select_option("sugarcrepe")
    expect(count).not_to_have_text(chosen)
    tab.go_back()
    expect(count).to_have_text(chosen)
    expect(tab.locator("#show")).to_have_value("wrong")
    tab.go_back()
    expect(count).to_have_text(began)


def test_a_difference_leads_to_the_cases_that_one_of_both_has_right(tab: Any, site: Path) -> None:
    tab.goto((site / "index.html").as_uri())
    row = tab.locator("#apart tbody tr", has_text="sugarcrepe/").first
    alone = [cell.get_attribute("data-value") for cell in row.locator("td").all()[-2:]]
    row.locator("a").first.click()
    assert sum(map(int, alone)) > 0
    expect(tab.locator(".card")).to_have_count(sum(map(int, alone)))


def test_a_run_beside_itself_is_said_to_be_the_same(tab: Any, site: Path) -> None:
    tab.goto((site / "cases.html").as_uri())
    cards(tab)
    tab.locator("#b").select_option("0")
    expect(tab.locator("#count")).to_contain_text("A and B are the same run")


def test_p_is_sorted_from_the_least(tab: Any, site: Path) -> None:
    tab.goto((site / "index.html").as_uri())
    head = tab.locator("#apart thead th").nth(3)
    head.locator("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    found = list(map(float, column(tab, "#apart", 4)))
    assert found == sorted(found)


def test_what_one_has_wrong_and_the_other_right_is_filtered_and_sorted(
    tab: Any, site: Path
) -> None:
    tab.goto((site / "cases.html").as_uri())
    tab.locator("#benchmark").select_option("half_truth")
    tab.locator("#metric").select_option("half_truth")
    tab.locator("#sort").select_option("gain")
    expect(tab.locator("#count")).to_contain_text("/half_truth:")
    margins, texts = [], cards(tab).all_text_contents()
    for said in texts:
        assert "half_truth/" in said
        first, second = re.findall(r"(first|second) ([✓✗]) \w+, margin (-?[\d.]+)", said)
        assert (first[1], second[1]) == ("✗", "✓")
        margins.append(float(second[2]) - float(first[2]))
    assert margins == sorted(margins, reverse=True)
    assert len(margins) > 1
    options = tab.locator("#subset option").evaluate_all("all => all.map(one => one.value)")
    shown = [s for s in options if s and any(f"half_truth/{s}" in text for text in texts)]
    subset = max(shown, key=len)  # "Rel" begins the names of others
    tab.locator("#subset").select_option(subset)
    expect(tab.locator("#count")).to_contain_text(subset)
    assert all(f"half_truth/{subset}" in text for text in cards(tab).all_text_contents())


def test_the_address_keeps_what_is_asked_for(tab: Any, site: Path) -> None:
    tab.goto((site / "cases.html").as_uri())
    tab.locator("#benchmark").select_option("sugarcrepe")
    cards(tab)
    count = tab.locator("#count")
    before = count.inner_text()
    tab.locator("#show").select_option("wrong")
    expect(count).not_to_have_text(before)
    chosen = count.inner_text()
    tab.reload()
    expect(count).to_have_text(chosen)
    expect(tab.locator("#show")).to_have_value("wrong")


def test_texts_are_shown_as_they_are_written(tab: Any, site: Path) -> None:
    tab.goto(f"{(site / 'cases.html').as_uri()}#benchmark=sugarcrepe&show=all")
    expect(tab.locator(".card").first).to_contain_text("a <b>red</b> square")
    expect(tab.locator(".card b:text-is('red')")).to_have_count(0)


def test_a_query_of_a_gallery_shows_what_each_run_ranks_above_all_other_wrong_answers(
    tab: Any, site: Path, results: dict[str, Results]
) -> None:
    first = results["first"].cases
    wanted = pc.and_(pc.equal(first["metric"], "i2t_r@1"), pc.equal(first["right"], False))
    row = first.filter(wanted).to_pylist()[0]
    told = {"metric": "i2t_r@1", "benchmark": "retrieval", "a": 0, "show": "wrong"}
    tab.goto(f"{(site / 'cases.html').as_uri()}#{urlencode(told)}")
    wrong_texts = tab.locator(".card .found", has_text=row["wrong_text"])
    expect(wrong_texts.first).to_be_attached()
    told |= {"metric": "t2i_r@1"}
    tab.goto(f"{(site / 'cases.html').as_uri()}#{urlencode(told)}")
    tab.wait_for_function("document.querySelector('.card figure.found img')?.naturalWidth > 0")


def test_hundreds_of_cases_are_laid_out_as_they_come_near(tab: Any, site: Path) -> None:
    """An index of many cases over the same files; the last are reached, and few are laid out."""
    index = index_of(site)
    n = 900
    index["parts"] = [["many", "cases", "i2t", 0, n]]
    index["right"] = ["0" * n for _ in index["runs"]]
    index["margin"] = [[i / n - 2 for i in range(n)] for _ in index["runs"]]
    index["split"] = None
    index["size"] = n
    body = f"zoo.index({json.dumps(index)});"
    row = ["case", [0], ["a text", "another"], "10", [[0.1, 0.2], [0.1, 0.2]]]
    rows = json.dumps([[f"number {i}", *row[1:]] for i in range(n)])
    tab.route("**/data/index.js", lambda route: route.fulfill(body=body))
    tab.route("**/data/cases_0.js", lambda route: route.fulfill(body=f"zoo.page(0, {rows});"))
    tab.goto(f"{(site / 'cases.html').as_uri()}#show=all")
    expect(tab.locator(".card").first).to_contain_text("case number 0 ")
    tab.keyboard.press("End")
    # at once: a glide past growing cards may end short
    tab.wait_for_function("scrollY > 30_000")
    tab.wait_for_function("document.body.textContent.includes('case number 899 ')")
    tab.wait_for_function("document.querySelectorAll('.card').length < 500")
    tab.keyboard.press("Home")
    tab.wait_for_function("scrollY === 0")
    tab.wait_for_function("document.querySelector('.card')?.textContent.includes('case number 0 ')")
