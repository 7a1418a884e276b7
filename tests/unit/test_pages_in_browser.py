"""Flame graphs in headless Chromium, as their readers use them: opened, zoomed, searched, by mouse and by keyboard.

Needs chromium and chromedriver (Debian: chromium, chromium-driver).
"""

import pytest
from support.command import browser
from support.machine import packages
from test_flame_graphs import HOSTILE, LABELS, MAIN, PROFILE, READ, SWAP, VFS, profile
from test_heat_maps import NAMED, looks

from sonde.formats.profile import ProfileFrame
from sonde.pictures.flame import flame_html, flame_svg
from sonde.pictures.heat_view import nice_step
from sonde.pictures.heatmap import HeatMap, heatmap_html, heatmap_svg
from sonde.visible import visible

pytestmark = packages.needs("chromium", "chromedriver")

DRAWN = "document.querySelector('header') && document.querySelector('g.frame, #heatmap path')"

FRAMES = """
    return [...document.querySelectorAll('g.frame')].map((group) => {
      const rect = group.querySelector('rect'), text = group.querySelector('text');
      return [group.getAttribute('aria-label').split(',')[0], Number(rect.getAttribute('width')),
              group.getAttribute('class'), text ? text.textContent : ''];
    });"""


@pytest.fixture(scope="module")
def window():
    made = browser.Browser()
    yield made
    made.close()


DRAWERS = {"html": (flame_html, heatmap_html), "svg": (flame_svg, heatmap_svg)}


@pytest.fixture(params=["html", "svg"])
def opened(request, window, tmp_path):
    """Opens a picture as a file of its kind, and sees that the browser had nothing to complain about."""

    def show(shown, *more):
        path = tmp_path / f"picture.{request.param}"
        draw = DRAWERS[request.param][isinstance(shown, HeatMap)]
        path.write_text(draw(shown, *more), encoding="utf-8")
        window.complaints()
        window.open(path)
        window.wait(DRAWN)
        return window

    yield show
    assert window.complaints() == []


def frames(window):
    """Name: share of the picture's width, and `match`, `other` than the matches, `below` what is zoomed."""
    found = window.run(FRAMES)
    whole = max(width for _, width, _, _ in found)
    return {name: (round(width / whole, 2), *look.split()[1:]) for name, width, look, _ in found}


def frame(name):
    return f"g[aria-label^='{name},']"


def text(window, selector):
    return window.run("return document.querySelector(arguments[0]).textContent", selector)


def test_it_opens_with_frames_as_wide_as_they_were_frequent(opened):
    window = opened(PROFILE)
    assert frames(window) == {
        "all": (1,), "bash": (1,), "main": (0.9,), "swap": (0.24,), "vfs_read": (0.52,), "read": (0.09,)
    }  # fmt: skip
    assert text(window, "h1") == "Flame graph of @"
    assert text(window, "#detail b") == "all"


def test_a_click_zooms_and_escape_goes_back(opened):
    window = opened(PROFILE)
    window.click(frame("swap"))
    assert frames(window) == {"all": (1, "below"), "bash": (1, "below"), "main": (1, "below"), "swap": (1,)}
    assert text(window, "#detail") == "swap5 · 23.8 % · 100.0 % of the view · itself 23.8 % · in a.out"
    window.press(browser.ESCAPE)
    assert frames(window)["vfs_read"] == (0.58,)
    window.click("#reset")
    assert frames(window)["main"] == (0.9,)
    assert window.run("return document.querySelector('#reset').disabled")


def test_what_is_typed_is_searched_for(opened):
    window = opened(PROFILE)
    window.type("#search", "read")
    found = frames(window)
    assert {name for name, (_, *look) in found.items() if look == ["match"]} == {"read", "vfs_read"}
    # 11 of 21 in main, 2 beside it: what stands on a match counts once.
    assert text(window, "#matched") == "Matched: 61.9 %"
    # Module and function, and a regular expression.
    window.run("const field = document.querySelector('#search'); field.value = '';")
    window.type("#search", "^a.out`(ma|sw)")
    assert text(window, "#matched") == "Matched: 90.5 %"
    # No regular expression: the text itself.
    window.run("const field = document.querySelector('#search'); field.value = '';")
    window.type("#search", "[k")
    assert text(window, "#matched") == "Matched: 0 %"
    window.press(browser.ESCAPE)
    assert text(window, "#matched") == ""
    assert all(not look for _, *look in frames(window).values())


def test_a_search_holds_while_zooming(opened):
    window = opened(PROFILE)
    window.type("#search", "vfs")
    window.press(browser.ENTER)
    assert text(window, "#detail b") == "vfs_read"
    window.click(frame("main"))
    assert text(window, "#matched") == "Matched: 57.9 %"
    assert frames(window)["vfs_read"] == (0.58, "match")


def test_the_keyboard_walks_the_tree(opened):
    window = opened(PROFILE)
    window.run(f'document.querySelector("{frame("all")}").focus()')
    visited = []
    for key in (
        browser.ARROW_UP,
        browser.ARROW_UP,
        browser.ARROW_UP,
        browser.ARROW_RIGHT,
        browser.ARROW_LEFT,
        browser.ENTER,
    ):
        window.press(key)
        visited.append(text(window, "#detail b"))
    assert visited == ["bash", "main", "read", "swap", "read", "read"]
    assert frames(window)["vfs_read"] == (1,)
    window.press("/")
    assert window.run("return document.activeElement.id") == "search"


def test_the_focus_stays_when_the_window_changes(opened):
    window = opened(PROFILE)
    window.run(f'document.querySelector("{frame("swap")}").focus()')
    widths = "return Number(document.querySelector('#flame').getAttribute('width'))"
    before = window.run(widths)
    window.run("document.querySelector('#scroller').style.width = '700px'")
    window.wait("document.querySelector('#flame').getAttribute('width') === '698'")
    assert before > 1000
    assert window.run("return document.activeElement.getAttribute('aria-label')").startswith("swap,")
    assert frames(window)["main"] == (0.9,)


def test_two_profiles_are_compared(opened):
    window = opened(profile({(MAIN, READ): 30, (MAIN, SWAP): 10}), profile({(MAIN, READ): 10, (MAIN, VFS): 10}))
    colours = (
        "return [...document.querySelectorAll('g.frame')].map((g) => g.querySelector('rect').getAttribute('class'))"
    )
    assert window.run(colours) == ["d0", "d0", "d3", "d3"]
    window.click(frame("read"))
    assert "+25.00 points (before 50.0 %)" in text(window, "#detail")
    # What is gone can be seen in widths of before.
    assert "vfs_read" not in frames(window)
    window.click("#reset")
    window.click("#widths")
    assert frames(window) == {"all": (1,), "main": (1,), "read": (0.5,), "vfs_read": (0.5,)}


def test_functions_are_listed_by_what_they_take_themselves(opened):
    window = opened(profile({(MAIN, READ, MAIN): 5, (MAIN, READ): 10, (SWAP,): 5}))
    window.click("#list")
    rows = "[...document.querySelectorAll('#table tbody tr')]"
    assert window.run(f"return {rows}.map((row) => [...row.cells].map((cell) => cell.textContent))") == [
        ["50.0 %", "75.0 %", "readlibc.so.6"], ["25.0 %", "75.0 %", "maina.out"], ["25.0 %", "25.0 %", "swapa.out"]
    ]  # fmt: skip
    window.click("#table tbody tr:nth-child(2) button")
    assert text(window, "#matched") == "Matched: 75.0 %"


@pytest.mark.parametrize("count", [1, 3000])
def test_names_are_nothing_but_text(opened, count):
    names = [visible(name) for name in HOSTILE]
    more = {(ProfileFrame(f"f{number}" * 9),): 1 for number in range(count)}
    window = opened(
        profile({**{(ProfileFrame(name),): 1000 for name in names}, **more}, title="@<script>document.title='owned'")
    )
    assert window.run("return document.title").startswith("Flame graph of @<script>")
    labels = window.run(
        "return [...document.querySelectorAll('g.frame')].map((group) => group.getAttribute('aria-label'))"
    )
    for name in names:
        assert any(label.startswith(f"{name}, ") for label in labels)
    assert window.run("return [document.scripts.length || 2, document.images.length]") == [2, 0]
    window.click("#list")
    assert window.run("return document.querySelectorAll('#table img, #table script').length") == 0


def test_labels_are_cut_as_in_the_static_view(opened):
    window = opened(PROFILE)
    cut = window.run(
        "return arguments[0].map(([name, room]) => fitted(shorter(name), room))", [case[:2] for case in LABELS]
    )
    assert cut == [label for _, _, label in LABELS]


@pytest.mark.long
def test_fifty_thousand_stacks_are_drawn_as_few_frames(window, tmp_path):
    """What is narrower than a pixel is no element, so size is no matter to the browser; all can be zoomed to."""
    many = {
        tuple(
            ProfileFrame(f"{letter}{number % of}") for letter, of in zip("abcd", (10, 100, 5000, 50_000), strict=True)
        ): 1
        for number in range(50_000)
    }
    path = tmp_path / "picture.html"
    path.write_text(flame_html(profile(many)), encoding="utf-8")
    window.open(path)
    window.wait(DRAWN)
    count = "return document.querySelectorAll('g.frame').length"
    narrow = "return [...document.querySelectorAll('path.narrow')].map((path) => path.getAttribute('d')).join('')"
    assert (window.run(count), window.run(narrow)) == (1 + 10 + 100, "")
    window.click(frame("b42"))
    assert (window.run(count), window.run(narrow).count("M")) == (3 + 50, 500)
    # What has no element of its own can be pointed at and clicked, too.
    number = window.run("return Number(document.querySelector('#flame').getAttribute('height'))") - 5 * 18 + 9
    window.drag("#flame", (1 + 0.5 * 1170 / 500, number))
    assert text(window, "#detail b") == "d42"
    window.drag("#flame", (1 + 0.5 * 1170 / 500, number), (1 + 0.5 * 1170 / 500, number))
    assert text(window, "#detail") == "d421 · 0.002 % · 100.0 % of the view · itself 0.002 %"
    window.press(browser.ESCAPE, browser.ESCAPE)
    window.click(frame("c4942"))
    assert (window.run(count), window.run(narrow)) == (4 + 10, "")
    window.type("#search", "d44942")
    assert text(window, "#matched") == "Matched: 10.0 %"


HEAT = HeatMap(NAMED, looks([{("a",): {64: 1}}, {("a",): {66: 9}, ("b<i>",): {64: 7}}, {}, {("a",): {64: 4}}]),
           ["a", "b<i>"], 0)  # fmt: skip

CELLS = """
    return [...document.querySelectorAll('#heatmap path')].flatMap((path) => path.getAttribute('d').split('z')
      .filter(Boolean).map((part) => { const [x, y, width] = part.match(/[\\d.]+/g).map(Number);
        return [path.getAttribute('class'), Math.round(x), Math.round(y), Math.round(width)]; }));"""


def cells(window):
    """(column, row from above, level) of each cell that is drawn."""
    found = window.run(CELLS)
    widths = sorted(width for *_, width in found)
    left = min(x for _, x, _, _ in found)
    return sorted((round((x - left) / widths[0]), y // 28, int(level[1:])) for level, x, y, _ in found)


def at(window, column, row):
    """A point in a cell of the whole time, by row from above."""
    left, width = window.run(
        "const [line] = document.querySelectorAll('#heatmap line'), svg = document.querySelector('#heatmap');"
        "return [Number(line.getAttribute('x1')), svg.clientWidth - 4 - Number(line.getAttribute('x1'))]"
    )
    return left + (column + 0.5) * width / 4, 28 * row + 14


def test_a_heat_map_shows_counts_by_time_and_value(opened):
    window = opened(HEAT)
    assert cells(window) == [(0, 2, 3), (1, 0, 9), (1, 2, 8), (3, 2, 6)]
    window.drag("#heatmap", at(window, 1, 0))
    assert text(window, "#detail") == "4 to 79 values · 56.3 % of 16 · 1.000 s to 2.000 s"
    window.drag("#heatmap", at(window, 2, 1))
    assert text(window, "#detail") == "2 to 30 values · 0 % of 0 · 2.000 s to 3.000 s"


def test_a_drag_zooms_in_time_and_escape_goes_back(opened):
    window = opened(HEAT)
    whole = cells(window)
    window.drag("#heatmap", at(window, 0, 0), at(window, 1, 2))
    assert cells(window) == [(0, 2, 3), (1, 0, 9), (1, 2, 8)]
    assert not window.run("return document.querySelector('#reset').disabled")
    window.press(browser.ESCAPE)
    assert cells(window) == whole
    window.drag("#heatmap", at(window, 3, 2), at(window, 2, 2))
    assert len(cells(window)) == 1
    window.click("#reset")
    assert cells(window) == whole


def test_the_keyboard_moves_among_cells(opened):
    window = opened(HEAT)
    window.run("document.querySelector('#heatmap').focus()")
    window.press(*[browser.ARROW_RIGHT] * 4, browser.ARROW_UP)
    assert text(window, "#detail b") == "2 to 3"
    window.press(browser.ARROW_DOWN)
    assert text(window, "#detail") == "14 values · 100.0 % of 4 · 3.000 s to 4.000 s"
    window.press(browser.ENTER)
    assert len(cells(window)) == 1


@pytest.mark.long
def test_each_key_can_be_looked_at(opened):
    window = opened(HEAT)
    options = window.run("return [...document.querySelectorAll('#key option')].map((option) => option.textContent)")
    assert options == ["all keys", "a", "b<i>"]
    window.run("const key = document.querySelector('#key'); key.value = 2; key.dispatchEvent(new Event('change'))")
    assert [level for _, _, level in cells(window)] == [9]
    window.click("#list")
    rows = "return [...document.querySelectorAll('#table tbody tr')].map((row) => row.cells[1].textContent)"
    assert window.run(rows) == ["0", "0", "7"]


@pytest.mark.long
def test_steps_are_as_in_the_static_view(opened):
    window = opened(HEAT)
    least = [0.03, 0.1, 0.11, 7, 3601]
    assert window.run("return arguments[0].map(niceStep)", least) == pytest.approx([nice_step(each) for each in least])


@pytest.mark.long
def test_colours_follow_the_system_and_the_button(opened):
    window = opened(PROFILE)
    window.type("#search", "swap")
    colours = """
        const fill = (selector) => getComputedStyle(document.querySelector(selector)).fill;
        const paper = getComputedStyle(document.querySelector('#picture')).backgroundColor;
        return [paper, fill('.other rect'), fill('.match rect')];"""
    light = window.run(colours)
    window.media(prefers_color_scheme="dark")
    dark = window.run(colours)
    assert all(one != other for one, other in zip(light, dark, strict=True))
    assert dark[1] != dark[2]
    window.click("#theme")
    assert (window.run(colours), text(window, "#theme")) == (light, "Theme: light")
    window.media(prefers_color_scheme="light")
    window.click("#theme")
    assert (window.run(colours), text(window, "#theme")) == (dark, "Theme: dark")


@pytest.mark.long
def test_an_svg_is_also_an_image(window, tmp_path):
    """Where no script runs there is the static view."""
    (tmp_path / "picture.svg").write_text(flame_svg(PROFILE), encoding="utf-8")
    (tmp_path / "page.html").write_text("<!DOCTYPE html><body style='margin: 0'><img src='picture.svg'>")
    window.open(tmp_path / "page.html")
    size = window.run("const image = document.images[0]; return [image.naturalWidth, image.naturalHeight]")
    assert size == [1200, 74 + 5 * 18 + 12]
    assert window.complaints() == []
