"""Flame graphs as data, as HTML and as SVG: what is drawn, and that no name can be anything but text."""

import base64
import hashlib
import json
import re
import time
import zlib
from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonde.formats.profile import INLINED, KERNEL, KEY, PYTHON, USER, Profile, ProfileFrame
from sonde.pictures.flame import flame_data, flame_html, flame_svg, levels
from sonde.pictures.labels import fitted
from sonde.pictures.tree import tree_of
from sonde.visible import visible

MAIN, READ = ProfileFrame("main", "a.out"), ProfileFrame("read", "libc.so.6")
SWAP, VFS = ProfileFrame("swap", "a.out", INLINED), ProfileFrame("vfs_read", "vmlinux", KERNEL)
SHELL = ProfileFrame("bash", "", KEY)


def profile(stacks, title="@"):
    frames = tuple(dict.fromkeys(frame for stack in stacks for frame in stack))
    numbers = {frame: number for number, frame in enumerate(frames)}
    counted = {tuple(numbers[frame] for frame in stack): value for stack, value in stacks.items()}
    return Profile(title, "count", "count", frames, counted)


PROFILE = profile({(SHELL, MAIN): 3, (SHELL, MAIN, SWAP): 5, (SHELL, MAIN, READ, VFS): 11, (SHELL, READ): 2})

HOSTILE = (
    "</script><script>document.title='owned'</script>", "]]><script>document.title='owned'</script>", "<!--", "-->",
    "<!--<script>", "<img src=x onerror=\"document.title='owned'\">", "&lt;b&gt;&amp;&#60;", "\"'`${document.title=1}",
    "javascript:alert(1)", "\u2028\u2029", "operator<<", "\\u003c\\",
    "std::map<int, std::less<int> >::operator[](int&&)",
    "name\u202eeman", "漢字🦀", "%3Cb%3E", "</title></style></g></svg>", "a" * 4000, "{{7*7}}", "f(…)",
)  # fmt: skip


def drawn(tree):
    return [(node.depth, tree.frames[node.frame].name, node.value) for node in tree.nodes]


def test_the_tree_is_in_preorder_and_the_widest_come_first():
    assert drawn(tree_of(PROFILE)) == [
        (0, "all", 21), (1, "bash", 21), (2, "main", 19), (3, "read", 11), (4, "vfs_read", 11), (3, "swap", 5),
        (2, "read", 2),
    ]  # fmt: skip


def test_functions_of_python_have_a_colour_of_their_own():
    made = profile({(MAIN, ProfileFrame("module.function", "file.py", PYTHON)): 3})
    data = flame_data(made, tree_of(made), None)
    shades = {name: shade[0] for name, _, shade in data["frames"]}
    assert (shades["module.function"], shades["main"]) == ("p", "u")
    assert ["p0", "Python"] in data["legend"]
    assert ".p0 { fill:" in flame_html(made)


def test_of_two_profiles_each_frame_has_both_numbers():
    tree = tree_of(profile({(MAIN, READ): 4}), profile({(MAIN, SWAP): 7, (MAIN, READ): 1}))
    numbers = {tree.frames[node.frame].name: (node.value, node.earlier) for node in tree.nodes}
    assert numbers == {"all": (4, 8), "main": (4, 8), "read": (4, 1), "swap": (0, 7)}


def test_an_earlier_frame_is_the_same_whatever_its_kind():
    """Folded stacks, for one, do not tell a process's name from a function."""
    tree = tree_of(profile({(SHELL, MAIN): 4}), profile({(SHELL._replace(kind=USER), MAIN): 3}))
    assert [(node.value, node.earlier) for node in tree.nodes] == [(4, 3)] * 3


@settings(max_examples=40)
@given(
    st.dictionaries(st.lists(st.integers(0, 5), max_size=6).map(tuple), st.integers(1, 999), max_size=40),
    st.integers(1, 30),
)
def test_folding_keeps_widths(stacks, most):
    """Whatever is folded, each kept frame's width is what its stacks come to, and no frame is lost uncounted."""
    made = profile({tuple(ProfileFrame(f"f{number}") for number in stack): value for stack, value in stacks.items()})
    whole, tree = tree_of(made), tree_of(made, most=most)
    assert sum(1 for node in tree.nodes if not node.merged) + tree.folded == len(whole.nodes)
    assert sum(1 for node in tree.nodes if not node.merged) == min(most, len(whole.nodes))
    assert tree.nodes[0].value == sum(stacks.values())
    open_nodes = []
    for node in tree.nodes:
        del open_nodes[node.depth :]
        if open_nodes:
            open_nodes[-1][1] -= node.value
            assert open_nodes[-1][1] >= 0
        open_nodes.append([node, node.value])
    values = Counter((node.depth, tree.frames[node.frame], node.value) for node in tree.nodes if not node.merged)
    assert not values - Counter((node.depth, whole.frames[node.frame], node.value) for node in whole.nodes)


def test_colours_of_a_difference_tell_shares_not_counts():
    """Twice as many samples of everything is no change."""
    tree = tree_of(profile({(MAIN, READ): 20, (MAIN, SWAP): 20}), profile({(MAIN, READ): 10, (MAIN, SWAP): 10}))
    assert levels(tree) == [0, 0, 0, 0]
    tree = tree_of(profile({(MAIN, READ): 30, (MAIN, SWAP): 10}), profile({(MAIN, READ): 10, (MAIN, SWAP): 10}))
    by_name = {tree.frames[node.frame].name: level for node, level in zip(tree.nodes, levels(tree), strict=True)}
    assert by_name == {"all": 0, "main": 0, "read": 4, "swap": -4}


def test_a_difference_of_little_is_pale():
    """What two runs of the same always differ in is not to look like much."""
    tree = tree_of(profile({(MAIN, READ): 501, (MAIN, SWAP): 499}), profile({(MAIN, READ): 500, (MAIN, SWAP): 500}))
    assert set(levels(tree)) == {-1, 0, 1}


def test_what_is_shown_beside_the_picture():
    data = flame_data(PROFILE, tree_of(PROFILE), None)
    assert data["title"] == "Flame graph of @"
    assert data["subtitle"] == "4 stacks · count: 21"
    assert [text for _, text in data["legend"]] == ["process", "kernel", "inlined", "key"]
    began = int(time.mktime((2026, 11, 22, 5, 4, 3, 0, 0, -1)) * 1e9)
    noted = PROFILE._replace(time=began, duration=1_500_000_000, notes=("2 cut at 9 frames",))
    data = flame_data(noted, tree_of(noted), None)
    assert data["subtitle"] == "4 stacks · count: 21 · 1.5 s from 2026-11-22 05:04:03 · 2 cut at 9 frames"
    none = profile({})
    assert flame_data(none, tree_of(none), None)["subtitle"].endswith("nothing was counted")


class Page(HTMLParser):
    """The elements of a page, and the texts of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.attributes = [], [], []
        self._is_script = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self._is_script = tag == "script"
        if self._is_script:
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag):
        self._is_script = self._is_script and tag != "script"

    def handle_data(self, data):
        if self._is_script:
            attributes, text = self.scripts[-1]
            self.scripts[-1] = attributes, text + data


def data_of(attributes, text):
    if attributes["type"] == "application/json":
        return json.loads(text)
    return json.loads(zlib.decompress(base64.b64decode(text)))


@pytest.mark.share(1)
@pytest.mark.parametrize("count", [1, 5000])
def test_a_page_holds_hostile_names_as_data(count):
    """Whether the data stand as JSON or, where they are many, deflated."""
    names = [visible(name) for name in HOSTILE]
    stacks = {(*map(ProfileFrame, names), ProfileFrame(f"f{number}" * 9)): 1 for number in range(count)}
    page = Page(flame_html(profile(stacks, title="@</title><script>")))
    assert page.tags == ["html", "head", "meta", "meta", "meta", "title", "style", "body", "main", "noscript",
                         "script", "script"]  # fmt: skip
    data, code = page.scripts
    assert data[0]["type"] == ("application/json" if count == 1 else "application/x-deflate")
    found = data_of(*data)
    assert [name for name, _, _ in found["frames"]][1 : len(names) + 1] == names
    assert sum(found["nodes"][2][-count:]) == count
    # Only this script may run, and nothing may be loaded.
    policy = next(value for name, value in page.attributes if name == "content" and "default-src" in value)
    digest = base64.b64encode(hashlib.sha256(code[1].encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


def test_a_page_refers_to_nothing_elsewhere():
    for text in (flame_html(PROFILE), flame_svg(PROFILE)):
        assert set(re.findall(r"https?://[^\"'\s)]+", text)) <= {
            "http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"
        }  # fmt: skip
        assert not re.search(r"@import|url\(|\bsrc=|href=|\bimport\b|fetch\(|XMLHttpRequest|WebSocket", text)


SVG = "{http://www.w3.org/2000/svg}"


def test_an_svg_holds_hostile_names_as_text():
    names = [visible(name) for name in HOSTILE]
    root = ElementTree.fromstring(flame_svg(profile({(ProfileFrame(name),): 100 for name in names}, title="@<b>&")))
    assert [element.tag.removeprefix(SVG) for element in root] == ["title", "style", "g", "script", "script"]
    assert root[0].text == "Flame graph of @<b>&"
    found = data_of(root[3].attrib, root[3].text)
    assert sorted(name for name, _, _ in found["frames"][1:]) == sorted(names)
    shown = {element.text for element in root.iter(f"{SVG}text")}
    assert "<!--" in shown
    assert {element.tag for element in root[2].iter()} == {f"{SVG}{tag}" for tag in ("g", "rect", "path", "text")}


@settings(max_examples=20)
@given(st.text(max_size=40))
def test_any_name_can_be_drawn(name):
    """Names come from symbol tables and from processes themselves: any bytes at all."""
    made = profile({(ProfileFrame(visible(name)),): 9})
    found = data_of(*Page(flame_html(made)).scripts[0])
    assert found["frames"][1][0] == visible(name)
    root = ElementTree.fromstring(flame_svg(made).encode())
    assert data_of(root[3].attrib, root[3].text)["frames"][1][0] == visible(name)


def test_the_static_view_of_an_svg_has_the_widths():
    root = ElementTree.fromstring(flame_svg(profile({(MAIN,): 75, (VFS,): 25})))
    widths = {}
    for path in root[2].iter(f"{SVG}path"):
        for x, width in re.findall(r"M([\d.]+) [\d.]+h([\d.]+)", path.attrib["d"]):
            widths.setdefault(float(x), []).append(float(width))
    left, right = widths.values()
    whole, first = sorted(left, reverse=True)
    assert (round(first / whole, 2), round(right[0] / whole, 2)) == (0.75, 0.25)


LABELS = [
    ("main", 4, "main"), ("main", 3, "ma…"), ("main", 2, ""), ("f(int, char)", 12, "f(int, char)"),
    ("f(int, char)", 11, "f"), ("vector<int>::at(int)", 16, "vector<int>::at"),
    ("vector<int>::at(int)", 14, "vector<…>::at"), ("vector<int>::at(int)", 12, "at"),
    ("operator<<(int)", 12, "operator<<"), ("a(b", 9, "a(b"), ("a(bcd", 4, "a(b…"),
    ("<core::str as Trait>::go", 20, "<…>::go"), ("a::b::operator()(int) const", 20, "operator()(…) const"),
    ("std::map<int, std::less<int> >::operator[](int&&)", 24, "std::map<…>::operator[]"),
    ("{closure#0}", 8, "{closur…"), ("operator->*(x)", 11, "operator->*"), ("", 9, ""),
]  # fmt: skip
"""Names, rooms and labels; the page's script does the same (test_pages_in_browser.py)."""


@pytest.mark.parametrize(("name", "room", "label"), LABELS)
def test_labels_lose_first_what_says_least(name, room, label):
    assert fitted(name, room) == label
