"""`sonde record` and `sonde read`: perf.data files of real sessions, as perf reads them and as sonde does."""

import re
import signal
import subprocess
import sys
import time

import pytest
from support.command.command import SONDE, sonde, start, table
from support.machine import packages
from support.machine.activity import busy

needs_perf = packages.needs("perf")

FAMILY = """
import os, time
for _ in range(3):
    if not os.fork():
        os.fork()
        end = time.process_time() + 0.15
        while time.process_time() < end:
            pass
        os._exit(0)
for _ in range(3):
    os.wait()
"""


def perf(*words):
    """perf's output; it has nothing to complain about."""
    done = subprocess.run(["perf", *words], capture_output=True, text=True, errors="replace")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def data_size(file):
    """What the file's header says."""
    with open(file, "rb") as opened:
        return opened.read(56)[48:]


def family(tmp_path):
    script = tmp_path / "family.py"
    script.write_text(FAMILY)
    return sys.executable, str(script)


@pytest.mark.long
@needs_perf
def test_perf_finds_as_many_samples_as_the_program_counted(tmp_path):
    """Of a process and all that it starts, those that a predicate admits, to the last one, with none lost; and their
    names, mappings and build ids."""
    file = tmp_path / "p.data"
    text = "profile-4999 /pid % 3 != 0/ { @[pid] = count(); sample(); } END { printa(@); trunc(@); }"
    done = sonde("record", "-n", text, "-o", str(file), "--", *family(tmp_path))
    counted = table(done.stdout.partition(":END ")[2])
    lines = perf("script", "-i", str(file), "-F", "comm,pid,event,ip,sym").splitlines()
    assert len(lines) == sum(counted.values()) > 100
    assert f"{len(lines)} samples, 0 records of programs\n" in done.stderr
    found = [re.fullmatch(r" *\S.* (\d+) +profile:::profile-4999: +[0-9a-f]+ .*", line)[1] for line in lines]
    assert counted == {(pid,): found.count(pid) for pid in set(found)}
    assert "python" in perf("report", "-i", str(file), "--stdio", "--sort", "comm,dso")
    assert "libc" in perf("buildid-list", "-i", str(file))


@pytest.mark.long
@needs_perf
def test_callers_are_recorded_on_request(tmp_path):
    file = tmp_path / "p.data"
    text = "profile-499 { @ = count(); sample(); }"
    sonde("record", "-gqn", text, "-o", str(file), "--", *family(tmp_path))
    for shown in (perf("script", "-i", str(file)), sonde("read", "-q", str(file)).stdout):
        chains = re.split(r"^.*profile:::profile-499:.*$", shown, flags=re.MULTILINE)[1:]
        assert max(len(chain.strip().splitlines()) for chain in chains) > 2


@needs_perf
def test_records_of_programs_travel_in_the_file(tmp_path):
    """perf shows them as bytes, at their times and with the threads they are of; sonde as they were shown live."""
    file = tmp_path / "p.data"
    text = """BEGIN { trace("began"); }
              syscall::write:entry /pid == $target/ { @["writes"] = count(); }
              syscall::write:entry /pid == $target/ { printf("write %d of %s\\n", ++n, execname); }
              END { printa("in all %s %@d\\n", @); }"""
    done = sonde("record", "-qn", text, "-o", str(file), "--", "dd", "if=/dev/zero", f"of={tmp_path}/out", "count=50")
    assert "write 50 of dd" in done.stdout
    assert "in all writes" in done.stdout
    script = perf("script", "-i", str(file))
    assert len(re.findall(r"^ *dd .* sonde:", script, re.MULTILINE)) >= 50
    again = sonde("read", "-q", str(file))
    assert again.stdout == done.stdout
    assert not again.stderr


@pytest.mark.long
def test_a_recording_that_is_killed_can_be_read(tmp_path):
    """Up to the last round that was written; by perf without a complaint."""
    file = tmp_path / "p.data"
    with busy([0]):
        process = start("record", "-qn", 'tick-50hz { printf("tick %d\\n", ++n); }', "-o", str(file))
        try:
            while not (line := process.stdout.readline()).startswith(b"tick 20"):
                assert line, process.stderr.read()
            # The round in which that was read ends when the size of the data changes, at the latest.
            before = data_size(file)
            while data_size(file) == before:
                assert process.poll() is None
                time.sleep(0.01)
        finally:
            process.send_signal(signal.SIGKILL)
            process.communicate()
    again = sonde("read", "-q", str(file))
    assert "tick 19\n" in again.stdout
    assert "was not ended properly" in again.stderr
    if not packages.missing("perf"):
        assert perf("script", "-i", str(file)).count("sonde:") >= 19


@pytest.mark.long
def test_a_full_disk_ends_the_recording(tmp_path):
    """The limit on a file's size stands in for it: what was written by then can be read."""
    file = tmp_path / "p.data"
    # What processes have mapped by then is a few hundred kilobytes.
    limited = ["sh", "-c", 'ulimit -f 3000; exec "$@"', "-"]
    text = f"""#pragma D option strsize=1k
        BEGIN {{ pad = "{"x" * 1000}"; }} tick-500hz {{ printf("%d %s\\n", ++n, pad); }}
        END {{ printf("the end\\n"); }}"""
    command = [*limited, SONDE, "record", "-qn", text, "-o", file]
    with busy([0]):
        done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "failed to write" in done.stderr
    assert done.stdout.endswith("the end\n\n")
    again = sonde("read", "-q", str(file))
    numbers = [int(line.rstrip("x")) for line in again.stdout.splitlines() if line]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 10


@pytest.mark.long
def test_losses_are_in_the_file_and_told(tmp_path):
    """Of rings that are far too small."""
    file = tmp_path / "p.data"
    text = """profile-4999 { sample(); @ = count(); }
              syscall::: /pid == $target && n < 2000/ { n++; printf("%200s %d\\n", probefunc, n); }"""
    done = sonde("record", "-g", "-xbufsize=16k", "-xsamplesize=8k", "-xscope=system", "-qn", text, "-o", str(file),
                 "-c", f"dd if=/dev/zero of={tmp_path}/out bs=1 count=1000")  # fmt: skip
    again = sonde("read", "-q", str(file))
    (told,) = re.findall(r"(\d+) records were lost", again.stderr)
    assert int(told) > 0
    assert sum(map(int, re.findall(r"(\d+) (?:sample |mapping )?drops?", done.stderr))) == int(told)


SENDER = """
from socket import AF_INET, SOCK_DGRAM, socket
with socket(AF_INET, SOCK_DGRAM) as receiver, socket(AF_INET, SOCK_DGRAM) as sender:
    receiver.bind(("127.0.0.1", 0))
    for number in range(37):
        sender.sendto(b"packet number %02d of a recording" % number, receiver.getsockname())
"""


def test_packets_of_a_recording_become_a_capture_file(tmp_path):
    """With `sonde read -o FILE.pcapng`, as `sonde -o` makes it of packets while they come."""
    sender = tmp_path / "send.py"
    sender.write_text(SENDER)
    text = "packet:lo:ingress: /pid == $target/ { capture(100); }"
    sonde("record", "-qn", text, "-o", f"{tmp_path}/p.data", "--", sys.executable, str(sender))
    sonde("read", "-q", f"{tmp_path}/p.data", "-o", f"{tmp_path}/p.pcapng")
    found = re.findall(rb"packet number (\d\d) of a recording", (tmp_path / "p.pcapng").read_bytes())
    assert list(map(int, found)) == list(range(37))


def test_an_earlier_file_is_kept_and_one_that_cannot_be_is_refused(tmp_path):
    file = tmp_path / "p.data"
    file.write_text("something")
    sonde("record", "-qn", "BEGIN { exit(0); }", "-o", str(file))
    assert (tmp_path / "p.data.old").read_text() == "something"
    assert file.read_bytes().startswith(b"PERFILE2")
    refused = sonde("record", "-qn", "BEGIN { exit(0); }", "-o", "/dev/null", status=1)
    assert "no regular file" in refused.stderr
    refused = sonde("record", "-qn", "BEGIN { exit(0); }", "-o", str(tmp_path / "no" / "p.data"), status=1)
    assert "failed to open" in refused.stderr
    sonde("record", "-qn", "nothing:::here { }", "-o", str(tmp_path / "new"), status=1)
    assert not (tmp_path / "new").exists()
