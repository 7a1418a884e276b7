"""Random programs in the kernel: whether its verifier takes them, and what they do under BPF_PROG_TEST_RUN."""

import os
import struct
from contextlib import ExitStack, contextmanager

from sonde.bpf import programs
from sonde.bpf.instructions import encode
from sonde.engines.kernel import commands
from sonde.engines.kernel import maps as kernel_maps
from sonde.engines.kernel.commands import ProgramCode
from sonde.engines.kernel.ring import KernelRing
from sonde.engines.kernel.syscalls import address_of, bpf
from sonde.machine.system import possible_cpus
from support.bpf.outcomes import Outcome, elements, is_shown, records_of

SLEEPABLE = 1 << 4
LOG_SIZE = 1 << 20
OUTPUT_SIZE = 4096


class RefusedError(Exception):
    """The verifier does not take the program; the text is its log."""


class KernelProgram:
    """A loaded program with its maps, for one run."""

    def __init__(self, sample, descriptor, made):
        self.sample = sample
        self._descriptor = descriptor
        self._maps = made

    def run(self):
        ring = KernelRing(self._maps["ring"].descriptor, 4096) if "ring" in self._maps else None
        try:
            result, data = _test_run(self._descriptor, self.sample)
            records = records_of(bytes(ring.read())) if ring is not None else ()
        finally:
            if ring is not None:
                ring.close()
        contents = {name: elements(m.spec, m.read()) for name, m in self._maps.items() if is_shown(m.spec)}
        return Outcome(result, data, contents, records)


@contextmanager
def loaded(sample):
    """The program in the kernel. Raises RefusedError, with an empty text: `log_of` has the reasons."""
    with ExitStack() as stack:
        made = {spec.name: kernel_maps.create(spec, possible_cpus()) for spec in sample.maps}
        for one in made.values():
            stack.callback(one.close)
        try:
            descriptor = _load(sample, made, None)
        except OSError as error:
            raise RefusedError(os.strerror(error.errno)) from None
        stack.callback(os.close, descriptor)
        yield KernelProgram(sample, descriptor, made)


def log_of(sample):
    """The verifier's log of a program, None if it takes it."""
    made = {spec.name: kernel_maps.create(spec, possible_cpus()) for spec in sample.maps}
    log = bytearray(LOG_SIZE)
    try:
        os.close(_load(sample, made, log))
    except OSError:
        return log.partition(b"\0")[0].decode()
    finally:
        for one in made.values():
            one.close()
    return None


def _load(sample, made, log):
    code = list(sample.code)
    for at, name in sample.map_references:
        code[at] = code[at]._replace(imm=made[name].descriptor)
    flags = SLEEPABLE if sample.kind == programs.SYSCALL else 0
    btf = commands.load_btf(sample.btf) if sample.btf else 0
    try:
        program = ProgramCode("random", sample.kind, 0, encode(code), btf, sample.func_info, flags=flags)
        return commands.load_program(program, log)
    finally:
        if btf:
            os.close(btf)


def _test_run(descriptor, sample):
    attributes = bytearray(80)
    struct.pack_into("=I", attributes, 0, descriptor)
    data = bytearray(sample.data)
    if sample.kind in (programs.SYSCALL, programs.RAW_TRACEPOINT):
        struct.pack_into("=I4xQ", attributes, 40, len(data), address_of(data))
        bpf(commands.PROG_TEST_RUN, attributes)
        return struct.unpack_from("=I", attributes, 4)[0], bytes(data)
    output = bytearray(OUTPUT_SIZE)
    struct.pack_into("=IIQQI", attributes, 8, len(data), len(output), address_of(data), address_of(output), 1)
    bpf(commands.PROG_TEST_RUN, attributes)
    result, _, size = struct.unpack_from("=III", attributes, 4)
    return result, bytes(output[:size])
