"""Recordings of `--record-reads` keep the documented arguments of probes that follow from others, though no script has
asked for them: `args[]` and their members, and the command line of who fires."""

import re
import sys

import pytest
from support.command.command import sonde, unwrapped

WORK = """
import os, signal, socket, sys
listening = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listening.getsockname())
server, _ = listening.accept()
server.send(b"hello")
client.recv(9)
own = socket.socket(type=socket.SOCK_DGRAM)
own.bind(("127.0.0.1", 0))
own.sendto(b"x", own.getsockname())
own.recv(5)
with open(sys.argv[1], "wb") as file:
    file.write(bytes(8192))
    file.flush()
    os.fsync(file.fileno())
signal.signal(signal.SIGUSR1, lambda *words: None)
os.kill(os.getpid(), signal.SIGUSR1)
os.system("exit 3")
"""

PROBES = {
    "proc:::exit": ("%d %s", "args[0], curpsinfo->pr_psargs", r"1 sh -c exit 3"),
    "proc:::signal-handle": ("%d %d", "args[0], args[1]->si_signo", r"10 10"),
    "sched:::wakeup": ("%d %s", "args[0]->pr_lwpid, args[1]->pr_fname", r"\d+ \S+"),
    "tcp:::send": (
        "%s %s %d %d %d", "args[2]->ip_saddr, args[2]->ip_daddr, args[2]->ip_plength, args[4]->tcp_dport > 0, "
        "args[3]->tcps_state", r"127.0.0.1 127.0.0.1 \d+ 1 \d+",
    ),
    "udp:::send": ("%s %d %d", "args[2]->ip_daddr, args[4]->udp_length, args[4]->udp_dport > 0", r"127.0.0.1 9 1"),
    "io:::start": ("%s %d %s", "args[1]->dev_statname, args[0]->b_bcount > 0, args[2]->fi_name", r"\S+ 1 .*"),
}  # fmt: skip
"""By probe a format, the arguments, and what one of its lines is like."""

MAY_BE_SILENT = {"io:::start"}
"""The directory may be in memory."""


@pytest.mark.long
def test_documented_arguments_are_kept(tmp_path):
    path = str(tmp_path / "it.rec")
    program = tmp_path / "work.py"
    program.write_text(WORK)
    text = f"{', '.join(PROBES)} /pid == $target || ppid == $target/ {{ n++; }}"
    command = f"'{sys.executable}' {program} {tmp_path}/written"
    sonde("-q", "-b", "64m", "--record-reads", "--record", path, "-n", text, "-c", command)
    script = "".join(
        f'{probe} /pid == $target || ppid == $target/ {{ printf("{probe} {form}\\n", {arguments}); }}\n'
        for probe, (form, arguments, _) in PROBES.items()
    )
    done = sonde("-q", "--replay", path, "-n", script)
    assert "does not hold" not in unwrapped(done.stderr)
    for probe, (_, _, pattern) in PROBES.items():
        assert probe in MAY_BE_SILENT or re.search(rf"^{probe} {pattern}$", done.stdout, re.MULTILINE), probe


@pytest.mark.long
def test_probes_of_tracepoints_with_other_arguments_are_recorded_with_all_of_theirs(tmp_path):
    """One clause for several probes, which share a program only where as many arguments are recorded."""
    path = str(tmp_path / "it.rec")
    probes = "proc:::lwp-create, proc:::exec-success, proc:::lwp-exit, proc:::signal-send"
    command = "sh -c 'kill -0 $$; true & wait'"
    sonde("-q", "--record", path, "-n", f"{probes} /pid == $target/ {{ n++; }}", "-c", command)
    done = sonde("-q", "--replay", path, "-n", "rawtp:::signal_generate { @[arg4 <= 2] = count(); }")
    assert re.fullmatch(r"\s*1 +\d+\s*", done.stdout)
    assert not done.stderr
