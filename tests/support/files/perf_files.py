"""perf.data files as perf writes them, of given samples: to a file, compressed, and to a pipe."""

import struct

from sonde.arch import perf_registers, registers
from sonde.formats import perf_data, perf_features
from sonde.formats import perf_events as perf
from sonde.formats import perf_made_records as made
from sonde.formats.perf_data import Event
from sonde.formats.perf_tracing_data import tracing_data
from sonde.recording.perf_firings import PerfFirings
from sonde.untrusted import open_file

COMMON = """\
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

"""

FORMATS = {
    ("sched", "sched_switch", 300): """\
	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:int prev_prio;	offset:28;	size:4;	signed:1;
	field:long prev_state;	offset:32;	size:8;	signed:1;
	field:char next_comm[16];	offset:40;	size:16;	signed:0;
	field:pid_t next_pid;	offset:56;	size:4;	signed:1;
	field:int next_prio;	offset:60;	size:4;	signed:1;
""",
    ("sched", "sched_process_exec", 301): """\
	field:__data_loc char[] filename;	offset:8;	size:4;	signed:0;
	field:pid_t pid;	offset:12;	size:4;	signed:1;
	field:pid_t old_pid;	offset:16;	size:4;	signed:1;
""",
    ("syscalls", "sys_enter_openat", 400): """\
	field:int __syscall_nr;	offset:8;	size:4;	signed:1;
	field:int dfd;	offset:16;	size:8;	signed:0;
	field:const char * filename;	offset:24;	size:8;	signed:0;
	field:int flags;	offset:32;	size:8;	signed:0;
	field:umode_t mode;	offset:40;	size:8;	signed:0;
""",
    ("syscalls", "sys_exit_openat", 401): """\
	field:int __syscall_nr;	offset:8;	size:4;	signed:1;
	field:long ret;	offset:16;	size:8;	signed:1;
""",
    ("raw_syscalls", "sys_enter", 402): """\
	field:long id;	offset:8;	size:8;	signed:1;
	field:unsigned long args[6];	offset:16;	size:48;	signed:0;
""",
}  # fmt: skip

OPENAT = 257
"""Its number, as the records of these files have it."""

SAMPLE_TYPE = (
    perf.SAMPLE_IP | perf.SAMPLE_TID | perf.SAMPLE_TIME | perf.SAMPLE_CALLCHAIN | perf.SAMPLE_ID | perf.SAMPLE_CPU
    | perf.SAMPLE_PERIOD | perf.SAMPLE_RAW
)  # fmt: skip
TRAILER = struct.Struct("=IIQQII")
_FREQUENCY, _SAMPLE_ID_ALL = 1 << 10, 1 << 18


def described(names=FORMATS):
    groups = {}
    for group, name, number in names:
        text = f'name: {name}\nID: {number}\nformat:\n{COMMON}{FORMATS[group, name, number]}\nprint fmt: ""\n'
        groups.setdefault(group, []).append(text.encode())
    return tracing_data(b"page", b"event", groups, 4096)


def attributes(kind, config, period, flags=_SAMPLE_ID_ALL):
    return struct.pack("=IIQQQQQ", kind, 112, config, period, SAMPLE_TYPE, 0, flags).ljust(112, b"\0")


EVENTS = [
    (f"{group}:{name}", Event(attributes(2, number, 1), (2 * number, 2 * number + 1)))
    for group, name, number in FORMATS
]
EVENTS.append(("cpu-clock:ppp", Event(attributes(1, 0, 999, _SAMPLE_ID_ALL | _FREQUENCY), (2, 3))))
CLOCK = 2
"""An identifier of the samples of the clock."""


WITH_STACK = (SAMPLE_TYPE & ~perf.SAMPLE_RAW) | perf.SAMPLE_REGS_USER | perf.SAMPLE_STACK_USER


def event_with_stack():
    """A clock with registers and stacks, as `perf record --call-graph dwarf` makes it."""
    found = bytearray(attributes(1, 0, 999, _SAMPLE_ID_ALL | _FREQUENCY))
    struct.pack_into("=Q", found, 24, WITH_STACK)
    struct.pack_into("=Q", found, 80, perf_registers.REGISTERS)
    return ("cpu-clock:ppp", Event(bytes(found), (CLOCK,)))


def record(kind, misc, body):
    body += bytes(-len(body) & 7)
    return struct.pack("=IHH", kind, misc, 8 + len(body)) + body


def sample(identifier, time, thread, raw=b"", cpu=0, ip=0x1000, stack=(), misc=perf.MISC_USER):
    """Of a thread (pid, tid), with the words of a call chain."""
    head = struct.pack("=QIIQQIIQ", ip, *thread, time, identifier, cpu, 0, 1)
    chain = struct.pack(f"={1 + len(stack)}Q", len(stack), *stack)
    padding = -(4 + len(raw)) & 7
    return record(perf.RECORD_SAMPLE, misc, head + chain + struct.pack("=I", len(raw) + padding) + raw + bytes(padding))


def sample_with_stack(time, thread, taken, stack, room=None, abi=2, chain=()):
    """Of a thread (pid, tid) with a struct pt_regs and the bytes of its stack."""
    counter = taken[registers.PROGRAM_COUNTER : registers.PROGRAM_COUNTER + 8]
    head = counter + struct.pack("=IIQQIIQ", *thread, time, CLOCK, 0, 0, 1)
    words = struct.pack(f"={1 + len(chain)}Q", len(chain), *chain)
    kept = struct.pack("=Q", abi) + (perf_registers.user_registers(taken, perf_registers.REGISTERS) if abi else b"")
    room = len(stack) if room is None else room
    kept += struct.pack("=Q", room) + (stack.ljust(room, b"\0") + struct.pack("=Q", len(stack)) if room else b"")
    return record(perf.RECORD_SAMPLE, perf.MISC_USER, head + words + kept)


def common(number, tid):
    return struct.pack("=HBBI", number, 0, 0, tid)


def switch(time, thread, following, cpu=0, **more):
    raw = common(300, thread[1]) + struct.pack("=16sIiq16sii", b"before", thread[1], 120, 1, *following, 120)
    return sample(600, time, thread, raw, cpu, **more)


def opened(time, thread, path, flags, cpu=0, **more):
    raw = common(400, thread[1]) + struct.pack("=iiqQQQ", OPENAT, 0, -100, path, flags, 0o644)
    return sample(800, time, thread, raw, cpu, **more)


def returned(time, thread, result, cpu=0, **more):
    return sample(802, time, thread, common(401, thread[1]) + struct.pack("=iiq", OPENAT, 0, result), cpu, **more)


def entered(time, thread, number, arguments, cpu=0):
    return sample(804, time, thread, common(402, thread[1]) + struct.pack("=q6Q", number, *arguments), cpu)


def trailer(time, thread, cpu=0):
    return TRAILER.pack(*thread, time, 0, cpu, 0)


def named(time, thread, name, by_exec=False):
    text = name + b"\0"
    text += bytes(-len(text) & 7)
    misc = perf.MISC_COMM_EXEC if by_exec else 0
    return record(perf.RECORD_COMM, misc, struct.pack("=II", *thread) + text + trailer(time, thread))


def forked(time, thread, maker):
    body = struct.pack("=IIIIQ", thread[0], maker[0], thread[1], maker[1], time)
    return record(perf.RECORD_FORK, 0, body + trailer(time, maker))


def ended(time, thread):
    body = struct.pack("=IIIIQ", thread[0], 1, thread[1], 1, time)
    return record(perf.RECORD_EXIT, 0, body + trailer(time, thread))


def mapped(time, thread, start, size, path, offset=0, inode=7):
    text = path + b"\0"
    text += bytes(-len(text) & 7)
    body = struct.pack("=IIQQQIIQQII", *thread, start, size, offset, 8, 1, inode, 0, 5, 2) + text
    return record(perf.RECORD_MMAP2, perf.MISC_USER, body + trailer(time, thread))


def finished_round():
    return made.finished_round()


def features(tracing=None):
    return [
        (perf_features.TRACING_DATA, described() if tracing is None else tracing),
        (perf_features.BUILD_ID, perf_features.build_ids([perf_features.BuildId("/bin/program", b"\1" * 20, False)])),
        (perf_features.ARCHITECTURE, perf_features.text("x86_64")),
        (perf_features.EVENT_DESCRIPTIONS, perf_features.event_descriptions(EVENTS)),
        (perf_features.SAMPLE_TIMES, perf_features.times(1, 10**9)),
        (perf_features.CLOCK, perf_features.clock(1, 10**18, 10**9)),
    ]  # fmt: skip


def file(records, told=None, events=EVENTS):
    """What `perf record -o FILE` makes; without features (`told`) one that was given up."""
    data = b"".join(records)
    found = features() if told is None else told
    made_file = bytearray(_opening([event for _, event in events]))
    start = len(made_file)
    made_file += data
    if found:
        struct.pack_into("=Q", made_file, perf_data.DATA_SIZE_OFFSET, len(data))
        bits = perf_data.feature_bits(number for number, _ in found)
        made_file[perf_data.FEATURES_OFFSET : perf_data.FEATURES_OFFSET + 32] = bits
        made_file += perf_data.closing(found, start + len(data))
    return bytes(made_file)


def _opening(events):
    ids = b"".join(struct.pack(f"={len(event.ids)}Q", *event.ids) for event in events)
    at, listed = perf_data.HEADER.size, b""
    for event in events:
        listed += event.attributes + perf_data.SECTION.pack(at, 8 * len(event.ids))
        at += 8 * len(event.ids)
    start = perf_data.HEADER.size + len(ids)
    header = perf_data.HEADER.pack(
        perf_data.MAGIC, perf_data.HEADER.size, 112 + perf_data.SECTION.size, start, len(listed),
        start + len(listed), 0, 0, 0, bytes(32),
    )  # fmt: skip
    return header + ids + listed


def compressed(records, compress, largest=200, **more):
    """The same by `perf record -z`: `compress` flushes what it is given. Records are torn at every `largest` bytes."""
    data = b"".join(records)
    pieces = [data[at : at + largest] for at in range(0, len(data), largest)]
    return file([_unpadded(81, compress(piece)) for piece in pieces] + [finished_round()], **more)


def _unpadded(kind, body):
    return struct.pack("=IHH", kind, 0, 8 + len(body)) + body


def pipe(records, events=EVENTS):
    """What `perf record -o -` makes."""
    made_file = struct.pack("=8sQ", perf_data.MAGIC, 16)
    for _, event in events:
        made_file += _unpadded(64, event.attributes + struct.pack(f"={len(event.ids)}Q", *event.ids))
    made_file += _unpadded(80, struct.pack("=Q", perf_features.ARCHITECTURE) + perf_features.text("x86_64"))
    tracing = described()
    made_file += _unpadded(66, struct.pack("=II", len(tracing), 0)) + tracing + bytes(-len(tracing) & 7)
    return made_file + b"".join(records)


def session():
    """Records of a short session on two CPUs: a shell that starts a program, which opens files."""
    shell, program = (10, 10), (20, 20)
    first = [
        named(0, shell, b"shell"), mapped(0, shell, 0x1000, 0x1000, b"/bin/shell"),
        sample(CLOCK, 100, shell, cpu=0, stack=(perf.CONTEXT_MAX + 4095 - 512, 0x1000, 0x1010)),
        forked(200, program, shell), switch(300, shell, (b"program", 20), cpu=0),
        finished_round(),
    ]  # fmt: skip
    second = [
        opened(900, program, 0x5000, 0x8000, cpu=1), returned(1000, program, 3, cpu=1),
        named(400, program, b"program", by_exec=True), mapped(450, program, 0x2000, 0x1000, b"/bin/program"),
        sample(602, 480, program, common(301, 20) + struct.pack("=Iii", 14 << 16 | 20, 20, 20) + b"/bin/program\0"),
        finished_round(),
        opened(700, program, 0x4000, 0, cpu=0), returned(800, program, -2, cpu=0),
        sample(CLOCK, 1100, program, cpu=1, ip=0xFFFF_FFFF_8000_0000, misc=perf.MISC_KERNEL),
        entered(1200, program, OPENAT, (1, 2, 3, 4, 5, 6)), ended(1300, program),
        finished_round(),
    ]  # fmt: skip
    return first + second


def open_firings(path):
    """The firings of the file at a path."""
    file = open_file(str(path))
    try:
        return PerfFirings(file, str(path))
    except BaseException:
        file.close()
        raise
