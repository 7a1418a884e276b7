"""Probe names as strings, in programs that serve several probes."""

import os

from support.d.d_run import Run, text


def test_names_of_several_probes_are_strings_like_others():
    """In subroutines, comparisons with variables, assignments, as array keys and record fields."""
    source = f"""string s; string last[string, int]; long n[string];
        syscall::get*pid:entry /pid == {os.getpid()}/ {{
            self->f = probefunc; s = strjoin(probefunc, "/x"); n[probefunc]++; n[strjoin("", probefunc)]++;
            last["f", 1] = probefunc; this->f = probename;
            printf("%d %s %s %s %s %d %d %s %s %d", strlen(probefunc), s, self->f, last["f", 1], probefunc,
                   probefunc < "getpj", probefunc == self->f, substr(probefunc, 3), this->f, n[probefunc]);
        }}"""
    with Run(source) as program:
        program.attach()
        for _ in range(2):
            os.getpid()
            os.getppid()
        os.getpgid(0)
        found = [[text(v) if isinstance(v, bytes) and b"\0" in v else v for v in values] for values in program.values()]
    wanted = {}
    for name in ("getpid", "getppid"):
        own = [values for values in found if values[4] == name.encode()]
        wanted[name] = [[*values[:-1]] for values in own]
        row = [len(name), f"{name}/x".encode(), name.encode(), name.encode(), name.encode(), int(name < "getpj"), 1,
               name[3:].encode(), b"entry"]  # fmt: skip
        assert wanted[name][:2] == [row, row]
        assert [values[-1] for values in own][:2] == [2, 4]


def test_a_short_strsize_cuts_names():
    """Names too."""
    source = f"syscall::getp*:entry /pid == {os.getpid()}/ {{ self->f = probefunc; trace(self->f); exit(0); }}"
    with Run(source, strsize=4) as program:
        program.attach()
        os.getpgid(0)
        assert text(program.values()[0][0]) == b"getp"
