"""`%%sonde` in notebooks, executed by nbclient, and in IPython's terminal; without privilege."""

import queue
import subprocess
import sys
import time
from contextlib import contextmanager

import nbclient
import nbformat
import pytest
from ipykernel import __version__ as ipykernel_version
from jupyter_client.manager import start_new_kernel
from support.command.browser import Browser
from support.machine import packages

LOAD = "%load_ext sonde"
COMMAND = "-c \"sh -c 'echo a; echo bcd; echo ef'\" --engine embedded"
PROGRAM = """
syscall::write:entry { @calls[execname, probefunc] = count(); @sizes = quantize(arg2); printf("%d", arg2); }
syscall::write:entry { @stacks[ustack(5)] = count(); @["<b>&"] = max(arg2); }
"""
BPFTRACE = """
tracepoint:syscalls:sys_enter_write { @calls[comm] = count(); @last = args.count; printf("%d\\n", args.count); }
"""
ENDLESS = f"%%sonde {COMMAND.replace('echo ef', 'sleep 150')}\n{PROGRAM}"


def executed(*sources):
    """The outputs of the cells of a notebook behind the one that loads the extension."""
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(each) for each in (LOAD, *sources)]
    client = nbclient.NotebookClient(notebook, timeout=None, allow_errors=True, kernel_name="python3")
    client.execute()
    return [each.outputs for each in notebook.cells[1:]]


def shown(outputs, kind="text/plain"):
    """What a cell shows in the end."""
    return [each.data[kind] for each in outputs if each.output_type != "stream" and kind in each.get("data", {})]


@pytest.fixture(scope="module")
def notebook():
    return executed(
        f"%%sonde {COMMAND}\n{PROGRAM}",
        "trace.aggregations['sizes']",
        "trace.aggregations['stacks'].flame_graph()",
        "trace.heat_maps['sizes']",
        "trace.to_arrow().column('arg2').to_pylist(), trace.aggregations['calls'].snapshot(), trace.exit_status",
        f"%%sonde -l bpftrace -n second {COMMAND}\n{BPFTRACE}",
        "second.aggregations['calls']['sh'], second.aggregations['last'][()], [each[0] for each in second.records]",
        "%%sonde\nsyscall::nosuch:entry { }",
        "%%sonde -c\nBEGIN { }",
    )


@pytest.mark.long
def test_the_view_has_records_and_aggregations(notebook):
    text = shown(notebook[0])[-1].splitlines()
    assert text[0].startswith("ended · ")
    assert text[0].endswith(" · 3 records")
    assert text[1:4] == ["2", "4", "3"]
    assert {"@calls", "sh  write  3", "@sizes", "@stacks", "@", "<b>&  4"} <= set(text)
    html = shown(notebook[0], "text/html")[-1]
    assert "arg2 = 4" in html
    assert "&lt;b&gt;&amp;" in html
    assert "<b>&" not in html
    assert html.count("<iframe") == 2


@pytest.mark.long
def test_values_are_shown_as_what_they_are(notebook):
    assert "2 … 3" in shown(notebook[1], "text/html")[0]
    assert "2 … 3 |" in shown(notebook[1])[0]
    assert "Flame graph of @stacks" in shown(notebook[2], "text/html")[0]
    assert shown(notebook[2]) == ["<Flame graph of @stacks>"]
    heat = shown(notebook[3], "text/html")[0]
    assert "Heat map of @sizes" in heat
    assert "3 values" in heat


def test_the_trace_is_data_behind_the_cell(notebook):
    assert shown(notebook[4]) == ["([2, 4, 3, None], {('sh', 'write'): Count(3)}, 0)"]


def test_a_cell_may_be_in_bpftrace_s_language(notebook):
    assert shown(notebook[5])[-1].splitlines()[1:4] == ["2", "4", "3"]
    assert shown(notebook[6]) == ["(Count(3), 3, [2, 4, 3])"]


def test_mistakes_are_one_message(notebook):
    (mistake,) = [each.text for each in notebook[7] if each.output_type == "stream"]
    assert "syscall has no function nosuch" in mistake
    assert "Traceback" not in mistake
    (mistake,) = [each.text for each in notebook[8] if each.output_type == "stream"]
    assert "expected one argument" in mistake


@pytest.mark.long
@packages.needs("chromium", "chromedriver")
def test_a_browser_shows_pictures_and_bars(notebook, tmp_path):
    page = tmp_path / "page.html"
    parts = [each for outputs in notebook[:4] for each in shown(outputs, "text/html")]
    page.write_text("<!DOCTYPE html><meta charset=utf-8>" + "<hr>".join(parts))
    browser = Browser()
    try:
        browser.open(page)
        browser.wait("document.querySelectorAll('iframe').length >= 4")
        bars = browser.run(
            "return [...document.querySelectorAll('td > div')].map(each => each.getBoundingClientRect().width)"
        )
        assert max(bars) > 100
        assert browser.run("return document.body.innerText").count("2 … 3") >= 2
        # Frames are out of reach of the page; what goes wrong in them is told.
        assert browser.complaints() == []
        for place in range(browser.run("return document.querySelectorAll('iframe').length")):
            inside = page.with_name(f"frame{place}.html")
            inside.write_text(browser.run("return document.querySelectorAll('iframe')[arguments[0]].srcdoc", place))
            browser.open(inside)
            assert browser.wait("document.querySelectorAll('#picture svg rect').length") > 0
            browser.open(page)
    finally:
        browser.close()


@contextmanager
def kernel():
    manager, client = start_new_kernel(kernel_name="python3")
    try:
        client.execute_interactive(LOAD, output_hook=lambda message: None, timeout=None)
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def until(client, wanted, seconds=60):
    """Messages of the kernel up to one of which `wanted` is true."""
    end, found = time.monotonic() + seconds, []
    while time.monotonic() < end:
        try:
            message = client.get_iopub_msg(timeout=1)
        except queue.Empty:
            continue
        found.append(message)
        if wanted(message):
            return found
    raise AssertionError(found)


def status_of(message):
    """The first line of a view that a message brings."""
    text = message["content"].get("data", {}).get("text/plain", "")
    return text.partition("\n")[0] if text.startswith(("tracing", "ended")) else ""


def is_update(message, text):
    return message["msg_type"] == "update_display_data" and text in status_of(message)


def is_second_view(message):
    """It has what was written before `sleep`."""
    return is_update(message, "2 records")


def ended(client, identity):
    """Whether a cell has ended well, and the last view."""
    found = until(
        client, lambda message: message["msg_type"] == "update_display_data" and "ended" in status_of(message)
    )
    reply = client.get_shell_msg(timeout=None)
    while reply["parent_header"].get("msg_id") != identity:
        reply = client.get_shell_msg(timeout=None)
    return reply["content"]["status"], status_of(found[-1])


@pytest.mark.long
def test_the_view_goes_on_until_the_kernel_is_interrupted():
    with kernel() as (manager, client):
        identity = client.execute(ENDLESS)
        until(client, is_second_view)
        manager.interrupt_kernel()
        assert ended(client, identity)[0] == "ok"


def subshell_of(client):
    client.control_channel.send(client.session.msg("create_subshell_request", {}))
    return client.get_control_msg(timeout=None)["content"]["subshell_id"]


@pytest.mark.long
@pytest.mark.skipif(
    int(ipykernel_version.partition(".")[0]) < 7, reason="needs ipykernel 7, which takes clicks meanwhile"
)
@pytest.mark.parametrize("has_subshell", [True, False])
def test_a_button_stops_a_trace_that_its_cell_waits_for(has_subshell):
    """With a subshell as JupyterLab sends clicks, and without one as others do."""
    with kernel() as (_, client):
        subshell = subshell_of(client) if has_subshell else None
        identity = client.execute(ENDLESS)
        before = until(client, is_second_view)
        (button,) = [
            each["content"]["comm_id"]
            for each in before
            if each["msg_type"] == "comm_open" and each["content"]["data"]["state"].get("description") == "Stop"
        ]
        data = {"method": "custom", "content": {"event": "click"}}
        click = client.session.msg("comm_msg", {"comm_id": button, "data": data})
        click["header"] |= {"subshell_id": subshell} if subshell else {}
        client.shell_channel.send(click)
        assert ended(client, identity)[0] == "ok"


@pytest.mark.long
def test_a_trace_in_the_background_lets_other_cells_run():
    background = ENDLESS.replace("%%sonde", "%%sonde --background", 1)
    outputs = executed(
        background,
        "import time\nwhile trace.were < 2: time.sleep(0.05)\nprint(trace.is_over)",
        "trace.stop(); trace.wait(30); print(trace.is_over, trace.aggregations['calls']['sh', 'write'])",
        "time.sleep(1)",
    )
    assert outputs[1][0].text == "False\n"
    assert outputs[2][0].text == "True 2\n"
    assert shown(outputs[0])[-1].startswith("ended")


@pytest.mark.long
def test_ipython_in_a_terminal_prints_lines():
    cell = f"get_ipython().run_cell_magic('sonde', {COMMAND!r}, {PROGRAM!r}); print(trace.were)"
    words = [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", "-c", f"%load_ext sonde\n{cell}"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    lines = [each for each in done.stdout.splitlines() if each not in ("a", "bcd", "ef")]
    assert lines[:3] == ["2", "4", "3"]
    assert "sh  write  3" in lines
    assert lines[-1] == "3"
