"""Static probes of programs that were built with DTrace's own -h and -G, which describe them in DOF."""

import struct

import pytest
from support.command.command import build, sonde

STRINGS = b"\0"


def strings(*texts):
    """Their table, and where each begins."""
    data, places = b"\0", []
    for each in texts:
        places.append(len(data))
        data += each.encode() + b"\0"
    return data, places


def dof(provider, function, name, native, shown, order, offsets, enabled=()):
    """DOF with one probe, as bytes, and where in it the address of its function is to be. `enabled` are the offsets of
    the places that ask whether anybody listens."""
    texts, (at_provider, at_function, at_name, *_) = strings(provider, function, name)
    at_native = len(texts)
    texts += b"".join(each.encode() + b"\0" for each in native)
    at_shown = len(texts)
    texts += b"".join(each.encode() + b"\0" for each in shown)
    # The address first: what is behind it is of fixed size.
    probe = struct.pack("<Q6IBBHIHHI", 0, at_function, at_name, at_native, at_shown, 0, 0, len(native), len(shown),
                        len(offsets), 0, len(enabled), 0, 0)  # fmt: skip
    parts = [
        (8, 0, texts),
        (16, len(probe), probe),
        (17, 1, bytes(order)),
        (18, 4, struct.pack(f"<{len(offsets)}I", *offsets)),
        (15, 0, struct.pack("<5I", 0, 1, 2, 3, at_provider) + bytes(20) + struct.pack("<I", 5)),
        (26, 4, struct.pack(f"<{len(enabled)}I", *enabled)),
    ]
    start = 64 + 32 * len(parts)
    headers, body, place = b"", b"", 0
    for kind, size, data in parts:
        body += bytes(-(start + len(body)) % 8)
        if kind == 16:
            place = start + len(body)
        headers += struct.pack("<4IQQ", kind, 8, 1, size, start + len(body), len(data))
        body += data
    whole = start + len(body)
    ident = b"\x7fDOF\x02\x01\x03".ljust(16, b"\0")
    return struct.pack("<16s4IQQQQ", ident, 0, 64, 32, len(parts), 64, whole, whole, 0) + headers + body, place


def section(data, place, symbol):
    """As assembler."""

    def of(part):
        return ".byte " + ",".join(map(str, part))

    return "\n".join(
        ['.section .SUNW_dof, "aw", @progbits', ".balign 8", of(data[:place]), f".quad {symbol}", of(data[place + 8 :]),
         ".text"]
    )  # fmt: skip


CODE = """
.text
.globl sale
.type sale, @function
sale:
    mov $-7, %edi
    lea text(%rip), %rsi
    mov $0x1ff, %edx
    mov $4, %ecx
    movabs $0x500000005, %r8
    mov $0x10006, %r9d
    push $0
    push $8
    push $7
    nop
    nop
    nop
    nop
    nop
    add $24, %rsp
    ret
.size sale, . - sale
text: .asciz "coffee"
"""

NATIVE = ("int", "const char *", "uint8_t", "long", "unsigned long", "short", "long", "int")
VALUES = "-7 coffee 255 4 21474836485 6 7 8"


ASKS = """
    xor %eax, %eax
    nop
    nop
    nop
    test %eax, %eax
    jne asked
asked:
"""
"""What DTrace's -G makes of PROVIDER_NAME_ENABLED()."""


def program_text(shown, order, asks=False):
    """A program in C whose probe fires once; `asks`: after it has asked whether anybody listens."""
    site, enabled, code = 5 + 7 + 5 + 5 + 10 + 6 + 2 + 2 + 2, (), CODE
    if asks:
        site, enabled, code = site + 2 + 3 + 2 + 2, (0,), CODE.replace("sale:\n", f"sale:\n{ASKS}", 1)
    text = code + section(*dof("shop", "sale", "item__sold", NATIVE, shown, order, (site,), enabled), "sale")
    lines = "".join('"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n"\n' for line in text.splitlines())
    return f"asm({lines});\nvoid sale(void);\nint main() {{ sale(); return 0; }}\n"


@pytest.fixture(params=[("-pie", "-fPIE"), ("-no-pie", "-fno-PIE"), ("-pie", "-fPIE", "-s")],
                ids=["pie", "fixed", "stripped"])  # fmt: skip
def make(request, tmp_path):
    def made(shown, order, asks=False):
        return build(tmp_path, "shop", program_text(shown, order, asks), *request.param)

    return made


@pytest.mark.share(1)
@pytest.mark.parametrize("provider", ["shop$target", "shop*"])
def test_arguments_of_a_call(make, provider):
    """In registers and on the stack; extended as their types say."""
    program = make(NATIVE, range(8))
    text = (
        provider
        + ':::item-sold { printf("%d %s %d %d %d %d %d %d\\n", (int64_t)arg0, copyinstr(arg1), arg2, arg3, arg4, '
        "arg5, arg6, arg7); }"
    )
    assert sonde("-qn", text, "-c", program).stdout.split("\n")[0] == VALUES


@pytest.mark.share(1)
def test_arguments_that_the_definition_maps(make):
    """`probe item__sold(int a, ...) : (long d, int a, int a)`"""
    program = make(("long", "int", "int"), (3, 0, 0))
    text = 'shop$target:::item-sold { printf("%d %d %d %d %s\\n", args[0], args[1], args[2], arg3, probefunc); }'
    shown = sonde("-qn", text, "-c", program).stdout.split("\n")[0].split()
    assert shown[:4] == ["4", "-7", "-7", "0"]
    listed = [line.split() for line in sonde("-lv", "-n", "shop$target:::", "-c", program).stdout.splitlines()]
    assert [line[1] for line in listed if line and line[0].startswith("args[")] == ["int64_t", "int32_t", "int32_t"]


@pytest.mark.share(1)
@pytest.mark.parametrize("provider", ["shop$target", "shop*"])
def test_where_a_program_asks_is_no_site(make, provider):
    """Though an offset of the same probe leads there."""
    program = make(NATIVE, range(8), asks=True)
    text = f'{provider}:::item-sold {{ @ = count(); printf("%d\\n", arg6); }}'
    assert sonde("-qn", text, "-c", program).stdout.split() == ["7", "1"]
