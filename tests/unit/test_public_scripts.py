"""What tools/public_scripts.py finds in checkouts, and which cause it tells from messages and descriptions."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import public_scripts_causes as causes
from compatibility_scripts import replace_section, scripts_section
from public_scripts import scripts

MESSAGES = {
    "dtrace: failed to compile script x: [D_PDESC_ZERO] line 3: probe description smb:::op-Read does not match any "
    "probes\n":
        (causes.PROVIDER, "smb:::op-Read"),
    "dtrace: failed to compile script x: [D_ARGS_MULTI] line 3: args[ ] may not be referenced because probe "
    "description fbt::zfs_none:entry matches an unstable set of probes\n": (causes.FUNCTION, "fbt::zfs_none:entry"),
    "dtrace: failed to compile script x: [D_SYNTAX] line 19: syntax error near \")\"\n  command line:19:23:\n"
    "    this->tq  = (taskq_t *)arg0;\n                         ^\n": (causes.TYPE, "taskq_t"),
    "dtrace: failed to compile script x: [D_TYPE_MEMBER] line 1: t_procp is not a member of struct task_struct\n":
        (causes.TYPE, "t_procp of struct task_struct"),
    "dtrace: failed to compile script x: [D_IDENT_UNDEF] line 1: failed to resolve `freemem: Unknown symbol name\n":
        (causes.DATA, "`freemem"),
    "/dev/stdin:41:10: fatal error: sys/isa_defs.h: No such file or directory\n": (causes.HEADER, "sys/isa_defs.h"),
    "dtrace: failed to compile script x: [D_SYNTAX] line 1: syntax error near \"=\"\n  /a/x.d:1:16:\n"
    "    scsi_cmd[0x00] = \"test_unit_ready\";\n                   ^\n": (causes.OWN, 'syntax error near "="'),
    "dtrace: failed to compile script x: [D_SYNTAX] line 1: syntax error near \"=\"\n  /a/x.d:1:3:\n    x = 1;\n":
        (causes.UNEXPLAINED, 'syntax error near "="'),
    "dtrace: failed to compile script x: [D_OP_INT] line 1: operator % requires operands of integral type\n":
        (causes.UNEXPLAINED, "operator % requires operands of integral type"),
}  # fmt: skip

DESCRIPTIONS = {
    "php*:::function-entry": causes.PROGRAM,
    "pid123:libc:no_such:entry": causes.USER_FUNCTION,
    "syscall::forksys:entry": causes.CALL,
    "sysinfo:::outch": causes.PROBE,
    "sdt:::callout-start": causes.PROBE,
    "nfsv3:::op-commit-start": causes.PROBE,
    "vfs::vop_read:entry": causes.PROVIDER,
}


@pytest.fixture(scope="module")
def known():
    return causes.Causes()


@pytest.mark.share(7)
@pytest.mark.parametrize("message", MESSAGES)
def test_causes_of_messages(message, known):
    assert known.of_messages(message) == [causes.Failure(*MESSAGES[message])]


def test_consequences_of_a_mistake_are_no_causes(known):
    message = """dtrace: failed to compile script x: [D_TYPE_MEMBER] line 1: v_path is not a member of struct vnode
  command line:1:2:
    x

  command line:7:9: printa( ) argument #4 is incompatible
"""
    assert known.of_messages(message) == [causes.Failure(causes.TYPE, "v_path of struct vnode")]


@pytest.mark.parametrize("description", DESCRIPTIONS)
def test_causes_of_descriptions(description, known):
    assert known.of_descriptions(f"{description} {{ }}") == [causes.Failure(DESCRIPTIONS[description], description)]


def test_probes_of_the_target_are_not_looked_for_without_one(known):
    assert known.of_descriptions("pid$target:a.out:no_such:entry { }\nperl$target:::sub-entry { }\n") == []


def test_what_the_preprocessor_replaces_is_no_name(known):
    assert known.of_descriptions("#define RATE\t97\t\t/* Hertz */\nprofile-RATE { }\n") == []


def test_scripts_are_distinct_by_content(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a/one.d").write_text("#!/usr/sbin/dtrace -s\nBEGIN { }\n")
    (tmp_path / "b/same.d").write_text("#!/usr/sbin/dtrace -s\nBEGIN { }\n")
    (tmp_path / "b/two.d").write_text("END { }\n")
    (tmp_path / "b/wrapper").write_text("#!/usr/bin/sh\n/usr/sbin/dtrace -n 'BEGIN { }'\n")
    (tmp_path / "b/README").write_text("how to run dtrace -n\n")
    (tmp_path / "b/link").symlink_to("wrapper")
    found = scripts([str(tmp_path / "a"), str(tmp_path / "b")])
    assert [(each.name, each.is_wrapper) for each in found] == [
        ("a/one.d", False),
        ("b/two.d", False),
        ("b/wrapper", True),
    ]


def result(name, compiles, run, *failures):
    return {"name": name, "compiles": compiles, "run": run, "failures": [f._asdict() for f in failures], "messages": ""}


def test_each_script_is_counted_once_and_the_unexplained_first(tmp_path):
    lacks = causes.Failure(causes.FUNCTION, "fbt::bogus:entry")
    strange = causes.Failure(causes.UNEXPLAINED, "syntax error")
    document = {
        "wrappers": ["w"],
        "results": [result("a", "as it is", "runs"), result("b", "with -Z", "runs", lacks),
                    result("c", "no", "", lacks, strange), result("w", "as it is", "runs")],
    }  # fmt: skip
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document))
    section = "".join(scripts_section(path))
    assert "| compile, all that they name is there | 1 | 1 |" in section
    assert f"| {causes.UNEXPLAINED} | 1 | 1 |" in section
    assert f"| {causes.FUNCTION} | 1 | 0 |" in section


def test_the_section_is_put_in_its_place_once():
    page = replace_section("# Page\n\n## Different on purpose\n\ntext\n", "## Published scripts\n\nold\n")
    again = replace_section(page, "## Published scripts\n\nnew\n")
    assert again == "# Page\n\n## Published scripts\n\nnew\n\n## Different on purpose\n\ntext\n"


TOOLS = str(Path(__file__).parents[2] / "tools")
RUNNING = """
import sys
sys.path.insert(0, {tools!r})
from pathlib import Path
from public_scripts import Runner, Script, workload
with workload() as pid:
    Path("load").write_text(str(pid))
    script = Path({script!r})
    Runner("{place}/sonde", Path("{place}"), pid).attempt(Script("x", script, script.suffix != ".d"), [])
"""


def is_there(pid):
    """Whether a process is there and does not only wait for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def within(seconds, holds):
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    return holds()


@pytest.mark.share(1)
@pytest.mark.parametrize(("name", "text"), [("s.d", "END { }\n"), ("s", "#!/bin/sh\ndtrace -n 'END { }' | cat\n:\n")])
def test_nothing_outlives_a_killed_tool(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    sonde = tmp_path / "sonde"
    sonde.write_text(
        f"#!/bin/sh\necho $$ > {tmp_path}/traces.part\nmv {tmp_path}/traces.part {tmp_path}/traces\nexec sleep 300\n"
    )
    sonde.chmod(0o755)
    program = RUNNING.format(tools=TOOLS, script=str(tmp_path / name), place=tmp_path)
    tool = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path)
    assert within(20, (tmp_path / "traces").exists)
    started = [int((tmp_path / each).read_text()) for each in ("load", "traces")]
    assert all(map(is_there, started))
    tool.send_signal(signal.SIGKILL)
    tool.wait()
    assert within(20, lambda: not any(map(is_there, started)))
