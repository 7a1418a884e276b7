"""Pointers of the kernel that the verifier follows by their types are numbers to a program like any other."""

import pytest
from support.command.command import sonde
from support.machine.activity import activity

MM = "(uint64_t)curthread->mm"
EQUAL = {
    "((uint64_t)curthread >> 3) * 8": "(uint64_t)curthread - ((uint64_t)curthread & 7)",
    f"{MM} ^ 5": f"({MM} | 5) - ({MM} & 5)",
    f"{MM} * 3": f"{MM} + ({MM} << 1)",
    f"{MM} % 64": "((uint64_t)(curthread->mm ? curthread->mm : 0)) & 63",
    "(curthread->mm + (pid - pid))->map_count": "curthread->mm->map_count",
    f"(uint64_t)&curthread->mm->map_count - {MM}": "offsetof(struct mm_struct, map_count)",
    "curthread->mm->cpu_bitmap[pid - pid]": "curthread->mm->cpu_bitmap[0]",
    "curthread->comm[pid - pid + 1]": "curthread->comm[1]",
    "*(&curthread->pid + (pid - pid))": "tid",
    "curthread->mm == curthread->active_mm": f"{MM} == (uint64_t)curthread->active_mm",
    "curthread->mm == NULL ? 1 : 2": f"{MM} ? 2 : 1",
}


@pytest.mark.share(1)
@pytest.mark.parametrize("expression", EQUAL)
def test_of_the_current_thread(expression):
    done = sonde("-qn", f'BEGIN {{ printf("%d %d", {expression}, {EQUAL[expression]}); exit(0); }}')
    assert done.returncode == 0, done.stderr
    found, expected = done.stdout.split()
    assert found == expected


def test_kept_in_variables():
    text = """this struct task_struct *t; self struct mm_struct *m; struct mm_struct *g;
    BEGIN { this->t = curthread; self->m = this->t->mm; g = self->m;
        printf("%d %d %d", ((uint64_t)this->t >> 4) << 4 == ((uint64_t)curthread & ~15),
            this->t->comm[pid - pid] == curthread->comm[0], ((uint64_t)g & 63) == ((uint64_t)self->m & 63));
        exit(0); }"""
    done = sonde("-qn", text)
    assert (done.returncode, done.stdout.strip()) == (0, "1 1 1"), done.stderr


def test_arguments_of_tracepoints():
    text = """rawtp:::sched_switch { printf("%d %d %d", (uint64_t)args[2] >> 1 == (uint64_t)arg2 >> 1,
        args[2]->comm[pid - pid] == args[2]->comm[0], ((uint64_t)args[2] | 1) - 1 == ((uint64_t)args[2] & ~1));
        exit(0); }"""
    with activity():
        done = sonde("-qn", text)
    assert (done.returncode, done.stdout.strip()) == (0, "1 1 1"), done.stderr
