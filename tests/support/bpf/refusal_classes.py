"""Why the kernel's verifier refuses a program, told from its log: what matters for safety, and what is form."""

import re

MEMORY, REFERENCES, UNINITIALISED, FORM, TERMINATION, OTHER = (
    "memory safety", "leaked references", "uninitialised reads", "form", "termination", "other",
)  # fmt: skip

SAFETY = frozenset({MEMORY, REFERENCES, UNINITIALISED})
"""Classes in which a verifier that accepts what the kernel refuses is wrong."""

_PATTERNS = (
    (REFERENCES, r"reference leak|[Uu]nreleased reference|reference has not been acquired|must be referenced"),
    (UNINITIALISED, r"!read_ok|invalid read from stack|invalid indirect read|is not initialized"),
    (TERMINATION, r"infinite loop|back-edge|too complex|BPF program is too large|processed \d+ insns \(limit|"
                  r"call stack|combined stack size|recursive call"),
    (FORM, r"reserved fields|unreachable insn|jump out of range|jump into the middle|invalid BPF_|unknown opcode|"
           r"unknown insn|last insn is not|invalid bpf_ld_imm64|BPF_END uses|invalid shift|div by zero|"
           r"uses reserved|is invalid$|BPF_(MOV|ALU|NEG|XADD|ATOMIC|LDX|STX|ST|EXIT|CALL|JA)\b.*(uses|invalid)|"
           r"invalid (argument|src|dst) register|No program to jit|missing btf|number of funcs|"
           r"R\d+ is invalid|invalid atomic|At callback return|verifier bug|callback function|addr leak|JMP.*invalid"),
    (MEMORY, r"invalid mem access|outside of|invalid write to stack|misaligned|unbounded|invalid access|prohibited|"
             r"invalid bpf_context access|modified ctx ptr|zero-sized|cannot write|cannot be written|"
             r"value is negative|min value|max value|indirect access|write into map forbidden|read from map forbidden|"
             r"expected=|frame pointer is read only|leaks addr|NULL pointer|variable-offset|variable offset|expected|"
             r"different pointers|corrupt|invalid size of register|cannot pass|partial copy|comparison|arithmetic|"
             r"cannot use helper|unknown func|invalid func|supports? only|only supports|is not a |must be a|"
             r"invalid stack|pointer|off=|helper access|cannot overwrite|allowed|cannot return stack|"
             r"not a scalar|only read from|no direct value access"),
)  # fmt: skip


def reason(log):
    """The line of a verifier's log that says why."""
    # What comes behind it are states and statistics.
    noise = ("processed ", "verification time", "stack depth", "mark_precise", "max_states", "old state:", "cur state:")
    lines = [line for line in log.splitlines() if line.strip() and not line.startswith(noise)]
    return lines[-1].strip() if lines else ""


def classify(log):
    """The class of a refusal."""
    text = reason(log)
    for name, pattern in _PATTERNS:
        if re.search(pattern, text):
            return name
    return OTHER


def kind_of(log):
    """The reason without its numbers, to count refusals of one kind."""
    return re.sub(r"-?\b0x[0-9a-f]+\b|-?\d+", "N", reason(log))
