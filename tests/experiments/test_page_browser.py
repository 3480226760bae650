"""The page in a real browser, opened from the file system."""

import shutil
import time

import page_samples as samples
import pytest

from bsfw.experiments.page import write_page

playwright = pytest.importorskip("playwright.sync_api", reason="the page is tried in a browser by Playwright")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on the PATH")

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PHONE = {"viewport": {"width": 380, "height": 800}, "has_touch": True, "is_mobile": True}
DESKTOP = {"viewport": {"width": 1280, "height": 900}}

# What is drawn in the first chart of a group: names and first coordinates of the visible curves, and the axes.
DRAWN = """group => {
  const chart = document.querySelectorAll(".group")[group].querySelector(".chart");
  if (!chart._fullLayout) return null;
  const visible = chart.data.filter((trace) => trace.visible);
  const curves = visible.filter((trace) => trace.name);
  const { xaxis, yaxis } = chart._fullLayout;
  return {
    names: curves.map((trace) => trace.name).sort(), bands: visible.length - curves.length,
    x: curves.length ? Array.from(curves[0].x) : [], xTitle: xaxis.title.text, types: [xaxis.type, yaxis.type],
    range: Array.from(xaxis.range), lines: chart.querySelectorAll(".scatterlayer .js-line").length,
  };
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "index.html"
    views = [samples.convergence(), samples.several(), samples.hostile()]
    write_page(views, path, command="bsfw reproduce all", environment={"numpy": "2.4"})
    return path.as_uri()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def wrong():
    """What must not happen: something logged or thrown, a dialog, a request."""
    return []


@pytest.fixture(autouse=True)
def _nothing_wrong(wrong):
    yield
    assert wrong == []


@pytest.fixture(scope="module")
def visit(browser, address, wrong):
    """visit(**options) opens the page in a window of its own."""
    contexts = []

    def open_page(**options):
        context = browser.new_context(**{**DESKTOP, **options})
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url == address or wrong.append(f"request: {request.url[:80]}"))
        page.goto(address)
        wait_until(lambda: drawn(page))
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def page(visit):
    """For tests that leave it as they found it: opening it takes seconds."""
    return visit()


def drawn(page, group=0):
    return page.evaluate(DRAWN, group)


def wait_until(condition):
    """Playwright's own waiting needs eval, which the page forbids."""
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def control(page, name):
    return page.locator(".group").first.get_by_label(name, exact=True)


def legend_entry(page, name, group=0):
    return page.locator(".group").nth(group).locator("label").filter(has_text=name)


def test_shows_all_curves_with_their_bands(page):
    seen = drawn(page)
    assert len(seen["names"]) == seen["bands"] == 10
    assert seen["lines"] == 20
    assert seen["types"] == ["linear", "log"]


def test_a_click_in_the_legend_hides_a_curve_and_its_band(page):
    legend_entry(page, "SAGA boosted").click()
    seen = drawn(page)
    assert "SAGA boosted" not in seen["names"]
    assert len(seen["names"]) == seen["bands"] == 9
    legend_entry(page, "SAGA boosted").click()
    assert len(drawn(page)["names"]) == drawn(page)["bands"] == 10


def test_the_axis_switch_changes_what_is_plotted(page):
    before = drawn(page)
    control(page, "seconds").check()
    after = drawn(page)
    assert (before["xTitle"], after["xTitle"]) == ("sample gradients", "seconds")
    assert before["x"][0] == 8124
    assert after["x"][0] == 0.001
    assert after["range"][1] < 1 < before["range"][1]
    label = page.locator(".chart").first.get_attribute("aria-label")
    assert label == "mushrooms: relative suboptimality against seconds"
    control(page, "sample gradients").check()
    assert drawn(page) == before


def test_both_axes_switch_between_logarithmic_and_linear(page):
    control(page, "horizontal").check()
    assert drawn(page)["types"] == ["log", "log"]
    control(page, "vertical").uncheck()
    assert drawn(page)["types"] == ["log", "linear"]
    control(page, "horizontal").uncheck()
    control(page, "vertical").check()
    assert drawn(page)["types"] == ["linear", "log"]


def test_all_and_none_switch_every_curve(page):
    group = page.locator(".group").nth(0)
    group.get_by_role("button", name="None").click()
    assert drawn(page)["names"] == []
    assert drawn(page)["bands"] == 0
    assert not legend_entry(page, "SARAH vanilla").locator("input").is_checked()
    group.get_by_role("button", name="All").click()
    assert len(drawn(page)["names"]) == 10
    assert legend_entry(page, "SARAH vanilla").locator("input").is_checked()


def test_controls_work_by_keyboard(visit):
    page = visit()
    control(page, "sample gradients").focus()
    page.keyboard.press("ArrowRight")
    assert drawn(page)["xTitle"] == "LMO calls"
    for _ in range(3):  # to the two scales, then to the first curve
        page.keyboard.press("Tab")
    assert page.get_by_role("checkbox", name="SAG boosted", exact=True).first.evaluate(
        "it => it === document.activeElement"
    )
    page.keyboard.press("Space")
    assert "SAG boosted" not in drawn(page)["names"]
    outline = "getComputedStyle(document.activeElement.closest('label')).outlineStyle"
    assert page.evaluate(outline) == "solid"


def test_the_first_tab_leads_past_the_contents(visit):
    page = visit()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the experiments"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_plots_of_one_group_are_switched_together(page):
    page.locator(".group").nth(1).scroll_into_view_if_needed()
    wait_until(lambda: drawn(page, 1))
    legend_entry(page, "SAG vanilla", 1).click()
    count = "charts => charts.map((chart) => chart.data.filter((trace) => trace.visible && trace.name).length)"
    assert page.locator(".group").nth(1).locator(".chart").evaluate_all(count) == [3, 3]
    legend_entry(page, "SAG vanilla", 1).click()


def test_a_zoom_outlives_a_curve_but_not_an_axis(visit):
    page = visit()
    page.locator(".chart").first.scroll_into_view_if_needed()
    whole = drawn(page)["range"]
    box = page.locator(".chart .nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.7 * box["height"], steps=5)
    page.mouse.up()
    wait_until(lambda: drawn(page)["range"][0] > whole[0])
    zoomed = drawn(page)["range"]
    legend_entry(page, "SAG vanilla").click()
    assert drawn(page)["range"] == zoomed
    page.get_by_role("button", name="Reset zoom").first.click()
    assert drawn(page)["range"][0] < zoomed[0]


def test_hovering_tells_the_values(page):
    page.locator(".chart").first.scroll_into_view_if_needed()
    # The middle of the curve that lies alone on top, in pixels of the window.
    place = page.evaluate("""() => {
      const chart = document.querySelector(".chart"), { xaxis, yaxis } = chart._fullLayout;
      const trace = chart.data.find((trace) => trace.name === "Heavy Ball vanilla");
      const frame = chart.querySelector(".nsewdrag").getBoundingClientRect();
      return [frame.left + xaxis.d2p(trace.x[50]), frame.top + yaxis.d2p(trace.y[50])];
    }""")
    page.mouse.move(*place)
    page.wait_for_selector(".hoverlayer .hovertext")
    text = page.locator(".hoverlayer .hovertext").text_content()
    assert "Heavy Ball vanilla" in text
    assert "sample gradients: 48,524" in text
    assert "relative suboptimality: 0.2" in text
    assert "from 0.1" in text


def test_a_phone_scrolls_down_only(visit):
    page = visit(**PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") == 380
    assert page.locator(".chart").first.bounding_box()["width"] > 300
    assert page.evaluate("document.querySelector('.chart')._fullLayout.dragmode") is False


def test_colours_and_motion_follow_the_system(page):
    look = """[getComputedStyle(document.body).backgroundColor,
               getComputedStyle(document.documentElement).scrollBehavior]"""
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    assert page.evaluate(look) == ["rgb(246, 246, 243)", "smooth"]
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert page.evaluate(look) == ["rgb(20, 22, 26)", "auto"]


def test_hostile_text_is_text(page):
    last = page.locator(".group").last
    last.scroll_into_view_if_needed()
    number = page.locator(".group").count() - 1
    wait_until(lambda: drawn(page, number))
    assert page.locator("img").count() == 0
    assert last.locator("b").count() == 0
    words = " ".join(samples.HOSTILE.split())  # SVG and labels fold white space
    labels = last.locator("label span").all_text_contents()
    assert [" ".join(label.split()) for label in labels[2:]] == [words, words]
    for title in (".xtitle", ".ytitle"):
        text = page.evaluate(f"document.querySelectorAll('.group')[{number}].querySelector('{title}').textContent")
        assert " ".join(text.split()) == words
    frame = last.locator(".nsewdrag").bounding_box()
    x, y = page.evaluate(f"""() => {{
      const {{ xaxis, yaxis }} = document.querySelectorAll('.group')[{number}].querySelector('.chart')._fullLayout;
      return [xaxis.d2p(0), yaxis.d2p(1)];
    }}""")
    page.mouse.move(frame["x"] + x, frame["y"] + y)
    page.wait_for_selector(".hoverlayer .hovertext")
    hover = " ".join(last.locator(".hoverlayer .hovertext").text_content().split())
    assert hover.count(words) == 3  # the curve and both axes
    assert last.locator(".hoverlayer a").count() == 0
