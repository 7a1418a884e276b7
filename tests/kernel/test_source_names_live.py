"""Functions of C++ by the names that the source has for them, as probes of a process and of a file."""

import shutil

import pytest
from support.command.command import sonde, unwrapped
from support.machine import compilers

PROGRAM = r"""
namespace net {
struct Request { int size; const char *path; };
class Server {
    int port = 80;
public:
    Server() { asm volatile("" : : "r"(this) : "memory"); }
    ~Server();
    int serve(const Request *request, int flags);
    int serve(long times);
    template <class T> int push(T value);
};
Server::~Server() { port = 0; }
int Server::serve(const Request *request, int flags) { return request->size + flags + port; }
int Server::serve(long times) { return (int)times; }
template <class T> __attribute__((noinline)) int Server::push(T value) { asm volatile(""); return (int)value; }
}
extern "C" __attribute__((noinline)) int plain(int value) { asm volatile(""); return value; }
__attribute__((noinline)) int plain(long value) { asm volatile(""); return (int)value; }
int main() {
    net::Request request{17, "/index"};
    net::Server server;
    int sum = server.serve(&request, 3) + server.serve(5L) + server.push(1) + server.push(2.5) + plain(1) + plain(1L);
    return sum == 0;
}
"""

CALLS = {
    "net::Server::serve": ["_ZN3net6Server5serveEPKNS_7RequestEi", "_ZN3net6Server5serveEl"],
    "Server::push": ["_ZN3net6Server4pushIiEEiT_", "_ZN3net6Server4pushIdEEiT_"],
    "serve": ["_ZN3net6Server5serveEPKNS_7RequestEi", "_ZN3net6Server5serveEl"],
    "*::push": ["_ZN3net6Server4pushIiEEiT_", "_ZN3net6Server4pushIdEEiT_"],
    "net::*::?Server": ["_ZN3net6ServerD1Ev"],
    "Server::Server": ["_ZN3net6ServerC1Ev"],
    "Server::~Server": ["_ZN3net6ServerD1Ev"],
    "Server::serve(const net::Request *, int)": ["_ZN3net6Server5serveEPKNS_7RequestEi"],
    "net??Server??serve?long?": ["_ZN3net6Server5serveEl"],
    "net::Server::push<double>": ["_ZN3net6Server4pushIdEEiT_"],
    "::plain": ["plain", "_Z5plainl"],
}

OF_BPFTRACE = {
    "net::Server::serve(long)": ["_ZN3net6Server5serveEl"],
    "int net::Server::push<int>(int)": ["_ZN3net6Server4pushIiEEiT_"],
    "net::Server::*e(*)": ["_ZN3net6Server5serveEPKNS_7RequestEi", "_ZN3net6Server5serveEl"],
    "plain": ["plain", "_Z5plainl"],
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A copy, as one of the probes is about whoever runs the file."""
    made = compilers.built("server.cc", PROGRAM, "g++", "-g", "-O0")
    return shutil.copy2(made, tmp_path_factory.mktemp("source_names_live"))


@pytest.mark.share(1)
@pytest.mark.parametrize("name", CALLS)
def test_functions_by_their_names_in_the_source(program, name):
    done = sonde("-q", "-c", program, "-n", f'pid$target:a.out:{name}:entry {{ printf("%s\\n", probefunc); }}')
    found = done.stdout.split()
    assert [each.replace("D2", "D1").replace("C2", "C1") for each in found] == CALLS[name]


@pytest.mark.share(1)
@pytest.mark.parametrize("name", OF_BPFTRACE)
def test_names_in_the_language_of_bpftrace(program, name):
    text = f'uprobe:{program}:cpp:"{name}" {{ printf("%s ", func); }}'
    assert sonde("bt", "-q", "-c", program, "-e", text).stdout.split() == OF_BPFTRACE[name]


def test_an_overload_that_is_not_there(program):
    overloads = "there is net::Server::serve(net::Request const*, int), net::Server::serve(long)"
    done = sonde("-q", "-c", program, "-n", "pid$target:a.out:Server::serve(char):entry {}", status=1)
    assert overloads in unwrapped(done.stderr)
    done = sonde("bt", "-c", program, "-e", f'uprobe:{program}:cpp:"net::Server::serve(char)" {{}}', status=1)
    assert overloads in unwrapped(done.stderr)


def test_variables_of_an_overload(program):
    listed = sonde("vars", program, "net::Server::serve(long)").stdout
    assert "times" in listed
    assert "flags" not in listed


def test_an_overload_in_a_recording(program, tmp_path):
    file = tmp_path / "firings"
    sonde("-q", "-c", program, "--record", file, "-n", "pid$target:a.out:Server::serve:entry {}")
    text = 'pid$target:a.out:serve(long):entry { printf("%s ", probefunc); }'
    assert sonde("-q", "--replay", file, "-n", text).stdout.split() == ["_ZN3net6Server5serveEl"]


def test_parameters_of_such_a_function(program):
    text = """pid$target:a.out:net::Server::push:entry { printf("%d\\n", args->this->port); }"""
    assert sonde("-q", "-c", program, "-n", text).stdout.split() == ["80", "80"]


def test_whoever_runs_the_file(program):
    text = (
        f'uprobe:{program}:net::Server::serve:entry {{ @[pid == $target] = count(); }} END {{ printa("%d %@d", @); }}'
    )
    assert sonde("-q", "-c", program, "-n", text).stdout.split() == ["1", "2"]


def test_a_name_that_no_function_has(program):
    done = sonde("-q", "-c", program, "-n", "pid$target:a.out:client::serve:entry {}", status=1)
    assert "failed to lookup 'client::serve' in module 'a.out'" in done.stderr
    done = sonde("-q", "-c", program, "-n", "pid$target:Server::serve:entry {}", status=1)
    assert "behind the object: pid1234:a.out:scope::name:entry" in unwrapped(done.stderr)
