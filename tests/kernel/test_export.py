"""`sonde export`: what a program counts is scraped by a Prometheus server, and by clients of bad manners."""

import re
import signal
import socket
import subprocess
import time
import urllib.error
from contextlib import closing, contextmanager

import pytest
from prometheus_client.parser import text_string_to_metric_families as families
from support.command.command import build, sonde, start
from support.command.prometheus import PrometheusServer, fetch
from support.machine import packages

READER = """
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
    char bytes[64];
    sigset_t set;
    int number, zero = open("/dev/zero", O_RDONLY);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, 0);
    puts("ready");
    fflush(stdout);
    for (;;) {
        sigwait(&set, &number);
        for (int i = 0; i < 101; i++) read(zero, bytes, i % 64);
    }
}
"""
SIZES = [i % 64 for i in range(101)]

PROGRAM = """
syscall::read:entry /pid == $target/ { @calls[execname, probefunc] = count(); @asked = sum(arg2); @most = max(arg2); }
syscall::read:return /pid == $target/ { @got[execname] = quantize(arg1); @mean = avg(arg1); }
syscall::read:entry /pid == $target && arg2 == 40/ { clear(@calls); clear(@asked); clear(@got); }
"""

BPFTRACE = """
tracepoint:syscalls:sys_enter_read /pid == %d/ {
    @calls[comm, pid] = count(); @sizes = lhist(args.count, 0, 64, 16); @last = args.count; @few[args.count] = count();
    @all = stats(args.count); @text = comm; @falls = sum((int64)-args.count);
}
interval:ms:50 { clear(@calls); clear(@sizes); }
"""


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """A program that calls read() 101 times at each SIGUSR1."""
    return build(tmp_path_factory.mktemp("reader"), "reader", READER)


@contextmanager
def started(program):
    process = subprocess.Popen([program], stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


class Exported:
    """A command that exports: its `address`, and the messages `told` so far, at the end all of them."""

    def __init__(self, *words):
        self._command = start("export", "--listen", "127.0.0.1:0", *words, text=True, stdout=subprocess.DEVNULL)
        self.told = ""
        for line in self._command.stderr:
            self.told += line
            found = re.search(r"metrics are at http://(127.0.0.1:\d+)/metrics", line)
            if found:
                self.address = found[1]
                return
        raise AssertionError(f"{self.told} {self._command.wait()}")

    def scrape(self):
        """The samples, by their names and labels; none where it is told to come later."""
        try:
            text = fetch(f"http://{self.address}/metrics")
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            time.sleep(0.1)
            return {}
        return {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for family in families(text)
            for sample in family.samples
        }

    def awaited(self, wanted, *key):
        """A scrape, as soon as a sample has the value that is wanted."""
        for _ in range(100):
            found = self.scrape()
            if found.get(key) == wanted:
                return found
        raise AssertionError(found)

    def close(self):
        self._command.send_signal(signal.SIGINT)
        try:
            _, rest = self._command.communicate()
        finally:
            self._command.kill()
        self.told += rest
        assert self._command.returncode == 0, self.told


def port_that_is_free():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@packages.needs("prometheus")
def test_a_prometheus_server_has_the_counts_whatever_was_cleared(reader, tmp_path):
    with (
        started(reader) as process,
        closing(Exported("-p", str(process.pid), "-n", PROGRAM)) as exported,
        closing(PrometheusServer(exported.address, tmp_path, port_that_is_free())) as server,
    ):
        server.wait("sonde_export_info")
        process.send_signal(signal.SIGUSR1)
        name = ("execname", "reader")
        assert server.wait("sonde_calls_total == 101") == {(name, ("probefunc", "read")): 101}
        assert server.query("sonde_asked_total") == {(): sum(SIZES)}
        assert server.query("sonde_most") == {(): 63}
        assert server.query("sonde_mean_sum / sonde_mean_count") == {(): sum(SIZES) / 101}
        assert server.query("sonde_got_count") == {(name,): 101}
        buckets = {float(dict(labels)["le"]): count for labels, count in server.query("sonde_got_bucket").items()}
        assert {1, 3, 7, 15, 31, 63, float("inf")} <= buckets.keys()
        assert buckets == {most: sum(size <= most for size in SIZES) for most in buckets}
        assert 31 < server.query("histogram_quantile(0.9, sonde_got_bucket)")[name,] <= 63
        types = server.types()
        assert [types[f"sonde_{each}"] for each in ("calls_total", "most", "mean", "got")] == [
            "counter", "gauge", "summary", "histogram",
        ]  # fmt: skip


def test_maps_of_a_bpftrace_program_are_metrics(reader):
    with started(reader) as process:
        exported = Exported("--label-sets", "10", "-e", BPFTRACE % process.pid)
        with closing(exported):
            process.send_signal(signal.SIGUSR1)
            key = ("comm", "reader"), ("pid", str(process.pid))
            found = exported.awaited(101, "sonde_calls_total", *key)
            assert found["sonde_last",] == SIZES[-1]
            assert found["sonde_all_count",], found["sonde_all_sum",] == (101, sum(SIZES))
            assert found["sonde_sizes_count",] == 101
            assert found["sonde_sizes_bucket", ("le", "31.0")] == sum(size <= 31 for size in SIZES)
            few = {key[1][1]: value for key, value in found.items() if key[0] == "sonde_few_total"}
            other = few.pop("(other)")
            assert len(few) == 10
            assert few == {size: SIZES.count(int(size)) for size in few}
            assert other == 101 - sum(few.values())
            assert found["sonde_export_merged_keys", ("aggregation", "@few")] == 54
    assert "@text is not exported: its values are no numbers" in exported.told
    assert "@few has more than 10 keys: those behind them are one label set, (other), of sonde_few" in exported.told
    assert "--gauge falls makes it a gauge" in exported.told


def test_a_sum_that_may_fall_is_a_gauge_where_it_is_wanted(reader):
    program = "syscall::read:entry /pid == $target/ { @falls = sum(-arg2); }"
    with started(reader) as process:
        exported = Exported("--gauge", "falls", "--prefix", "own", "-p", str(process.pid), "-n", program)
        with closing(exported):
            process.send_signal(signal.SIGUSR1)
            exported.awaited(-sum(SIZES), "own_falls")
    assert "fallen" not in exported.told


def test_clients_that_take_nothing_do_not_hold_up_tracing(reader):
    """They connect, ask, and read nothing; others send half a line. What is traced meanwhile is all there, and so is
    whoever scrapes when they have gone."""
    program = 'syscall::read:entry /pid == $target/ { @calls = count(); printf("%d", arg2); }'
    with started(reader) as process, closing(Exported("-p", str(process.pid), "-n", program)) as exported:
        host, port = exported.address.split(":")
        clients = [socket.create_connection((host, int(port))) for _ in range(23)]
        for place, each in enumerate(clients):
            each.sendall(b"GET /metrics HTTP/1.1\r\n\r\n" * 50 if place % 2 else b"GET /met")
        process.send_signal(signal.SIGUSR1)
        for each in clients:
            each.close()
        found = exported.awaited(101, "sonde_calls_total")
        assert found["sonde_export_lost_total", ("kind", "records")] == 0


@pytest.mark.long
def test_the_language_is_known_wherever_the_program_stands(tmp_path):
    script = tmp_path / "count.bt"
    script.write_text("begin { @ = count(); exit(); }")
    program = script.read_text()
    for words in (["-q", "-e", program], ["--engine", "kernel", str(script)], ["bt", "-q", str(script)]):
        assert "@: 1" in sonde("export", "--listen", "0", *words).stdout
    done = sonde("export", "--listen", "0", "-qn", "BEGIN { @ = count(); }", "-c", "/nowhere/x.bt", status=1)
    assert "/nowhere/x.bt" in done.stderr


@pytest.mark.share(1)
@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("-n", "BEGIN { trace(1); }"), 1, "there is nothing to export"),
        (("-n", "BEGIN { @ = count(); }", "--listen", "192.0.2.1:80"), 1, "cannot listen at 192.0.2.1:80"),
        (("-n", "BEGIN { @ = count(); }", "--listen", "here"), 1, "--listen here: it takes HOST:PORT"),
        (("-n", "BEGIN { @ = count(); }", "--gauge", "x"), 1, "--gauge x: the program has no aggregation of that name"),
        (("-n", "BEGIN { @ = count(); }", "--label-sets", "0"), 2, "--label-sets 0: it takes a number"),
        (("-l", "-n", "BEGIN"), 1, "export runs programs"),
        ((), 2, "a program is to be exported"),
        (("--label-set", "3", "-n", "BEGIN { @ = count(); }"), 2, "did you mean --label-sets?"),
    ],
)  # fmt: skip
def test_what_cannot_be_exported_is_told(words, status, told):
    assert told in sonde("export", *words, status=status).stderr
