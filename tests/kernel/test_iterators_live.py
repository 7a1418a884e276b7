"""The kernel's iterators as probes: all threads, their files, and a file that fires when it is read."""

import os
import subprocess
import threading
import time

import pytest
from support.command.command import SONDE, sonde


def test_all_threads_are_gone_over_once():
    parked = threading.Event()
    threads = [threading.Thread(target=parked.wait, daemon=True) for _ in range(7)]
    for each in threads:
        each.start()
    try:
        text = "iter:::task { @[args->task->tgid == $1] = count(); }"
        seen = sonde("-qn", text, str(os.getpid())).stdout.split()
        there = len(os.listdir("/proc/self/task"))
    finally:
        parked.set()
    count = dict(zip(seen[::2], seen[1::2], strict=True))
    assert int(count["1"]) == there


def test_files_and_their_paths(tmp_path):
    name = tmp_path / "opened"
    with open(name, "w") as file:
        text = f"""iter:task_file /ctx.task.tgid == {os.getpid()} && ctx.fd == {file.fileno()}/ {{
                       printf("%s\\n", path(ctx.file.f_path)); }}"""
        assert f"{name}\n" in sonde("bt", "-e", text).stdout


def test_a_process_narrows_those_of_tasks():
    text = "iter:task { @[ctx.task.tgid] = count(); }"
    output = sonde("bt", "-e", text, "-p", str(os.getpid()), "-q").stdout
    assert output.split() == [f"@[{os.getpid()}]:", str(len(os.listdir("/proc/self/task")))]


def test_no_record_is_lost():
    """Of many objects, each of which has a record."""
    text = 'BEGIN { n = 0; } iter:::ksym { n++; printf("%d\\n", n); } END { printf("%d", n); }'
    done = sonde("-qn", text, "-xbufsize=64k")
    lines = done.stdout.split()
    assert int(lines[-1]) == len(lines) - 1 > 1000
    assert "drop" not in done.stderr


@pytest.fixture
def bpf_files(tmp_path):
    mounted = subprocess.run(["mount", "-t", "bpf", "bpf", tmp_path], check=False)
    if mounted.returncode:
        pytest.skip("no BPF file system can be mounted")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


def test_a_file_fires_when_it_is_read_and_is_gone_at_the_end(bpf_files):
    pin = bpf_files / "threads"
    text = f"iter:task:{pin} {{ @ = count(); }}"
    child = subprocess.Popen([SONDE, "bt", "-e", text], stdout=subprocess.PIPE, text=True)
    end = time.monotonic() + 20
    while not pin.exists() and time.monotonic() < end:
        time.sleep(0.05)
    objects = len(pin.read_bytes())
    child.send_signal(2)
    output, _ = child.communicate()
    # One byte for each, and one at the end where there is none.
    assert f"@: {objects - 1}\n" in output
    assert not pin.exists()


def test_a_pin_that_cannot_be_is_refused(tmp_path):
    done = sonde("bt", "-e", f"iter:task:{tmp_path}/pin {{ }}", status=1)
    assert "BPF file system" in done.stderr


def test_the_embedded_engine_has_none():
    done = sonde("bt", "--engine", "embedded", "-e", "iter:task { }", "-c", "true", status=1)
    assert "the embedded engine has no iter probes" in done.stderr


def test_a_function_of_any_provider_is_no_file_of_an_iterator():
    assert " iter " not in sonde("-l", "-n", "::read:").stdout
    assert " iter " in sonde("-l", "-n", "iter::read:ksym").stdout
