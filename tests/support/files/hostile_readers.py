"""Everything in the package that reads files of others, each as a function of a path.

A reader ends well if it returns, or raises what its documentation says. `EXPECTED` are the errors that stand for a file
without sense; what else comes out of a reader is a fault.
"""

import contextlib
import io
import os
import tomllib
from pathlib import Path

from sonde.bpf.btf import BtfError
from sonde.cli.main import main
from sonde.engines.fired import RecordedFiring
from sonde.formats.captured_file import CaptureError
from sonde.formats.packet_file import devices, records
from sonde.formats.perf_data import PerfDataError
from sonde.formats.profile import ProfileError
from sonde.library.testing.case import SUFFIX
from sonde.library.testing.reading import CaseFileError, cases_of, read_cases, text_of_file
from sonde.model.errors import SourceError
from sonde.objects.errors import ObjectError
from sonde.objects.externals import read_configuration
from sonde.objects.reading import LARGEST as LARGEST_OBJECT
from sonde.objects.reading import read_object
from sonde.pictures.saved import LARGEST as LARGEST_PROFILE
from sonde.pictures.saved import read_profile
from sonde.providers.kernel_places import KernelPlaces
from sonde.providers.kernel_types import open_btf
from sonde.providers.pattern import Pattern
from sonde.recording.build_ids import of_files
from sonde.symbols.code_objects import CodeObjects
from sonde.symbols.dwarf.errors import DebugInfoError, damaged
from sonde.symbols.dwarf.information import open_information
from sonde.symbols.dwarf.points import Points
from sonde.symbols.dwarf.relocated import relocated
from sonde.symbols.elf.costs import Costs
from sonde.symbols.elf.debug_files import find_debug_file
from sonde.symbols.elf.file import ElfError, ElfFile
from sonde.symbols.elf.indirect import Loaded
from sonde.symbols.elf.library_search import in_directories, run_paths
from sonde.symbols.elf.stapsdt import notes_of
from sonde.symbols.elf.symbol_files import with_symbols
from sonde.symbols.functions import CodeObject
from sonde.symbols.kallsyms import Kallsyms
from sonde.symbols.kernel_addresses import by_symbol
from sonde.symbols.kernel_files import open_module
from sonde.symbols.kernel_objects import KernelObjects
from sonde.symbols.kernel_text import KernelText
from sonde.symbols.mappings import Mapping, parse_maps
from sonde.symbols.objects import Objects
from sonde.symbols.perf_map import Home, PerfMap
from sonde.symbols.unwinding.kept_rows import kept_rows
from sonde.untrusted import kernel_lines, kernel_text, read_named, read_regular, text_of, unpacked
from support.files.perf_files import open_firings
from support.symbols.listed_symbols import symbols

EXPECTED = (
    CaptureError, ElfError, DebugInfoError, OSError, ObjectError, BtfError, ProfileError, PerfDataError,
    tomllib.TOMLDecodeError,
)  # fmt: skip
ADDRESSES = (0, 0x1040, 0x1139, 0x11A9, 0x401136, 0x7FFFFFFF, (1 << 64) - 1)


class LostError(Exception):
    """What is known of one file has cost what is known of another."""


class Readers:
    """`good` is a program whose `function` at `address` must be named beside everything else."""

    def __init__(self, good, function, address):
        self._good = good
        self._function, self._address = function, address

    def packets(self, path):
        for each in records(path):
            assert each
        devices(path)

    def perf_data(self, path):
        source = open_firings(path)
        names = source.symbolizer(True)
        for each in source.happenings():
            if isinstance(each, RecordedFiring):
                for address in (each.kernel_stack or ())[:2]:
                    names.kernel(address)
                for address in (each.user_stack or ())[:2]:
                    names.user(each.thread.pid, address)
            else:
                names.take(each)
        names.close()
        source.close()

    def elf(self, path):
        file = ElfFile.open(path)
        with file.costs:
            file.check()
            _ = file.build_id, file.is_position_independent_program, file.thread_block, len(symbols(file))
            run_paths(file)
            file.find("main")
            file.thread_offset("per_thread")
            for section in file.sections[:100]:
                with contextlib.suppress(ElfError):
                    file.contents(section, 1 << 20)

    def names(self, path):
        """The names in two objects, one of which is anybody's."""
        objects = Objects("/proc")
        for _ in range(2):
            self._symbolize(objects, path)
            mapping = self._mapping(self._good)
            names = objects.names(os.getpid(), mapping)
            found = names.symbolize(self._address) if names else None
            if not found or found[0] != self._function:
                raise LostError(f"{self._good} has lost its names: {found}")

    def _symbolize(self, objects, path):
        try:
            mapping = self._mapping(path)
        except OSError:
            return
        names = objects.names(os.getpid(), mapping)
        if names is not None:
            for address in ADDRESSES:
                names.symbolize(address)
                names.inlined(address)
        objects.refused()

    @staticmethod
    def _mapping(path):
        return Mapping(0x400000, 0x600000, 0, "00:00", os.stat(path).st_ino, path, True)

    def debug_link(self, path):
        file = ElfFile.open(path)
        with file.costs:
            find_debug_file(path, file, "", (os.path.dirname(path),))
            with_symbols(file, path)

    def notes(self, path):
        file = ElfFile.open(path)
        with file.costs:
            notes_of(file)

    def rows(self, path):
        file = ElfFile.open(path)
        with file.costs:
            list(kept_rows(file, os.path.dirname(path)))

    def functions(self, path):
        for each in CodeObjects().files(path):
            _ = each.functions
            each.find("main")
            for function in each.functions[:10]:
                each.instructions(function)

    def debug_information(self, path):
        information = open_information(path, costs=Costs())
        for name in ("largest", "shop::total", "twice"):
            with contextlib.suppress(DebugInfoError, ElfError), damaged(path, ElfError):
                information.functions(name)
        for address in ADDRESSES:
            with contextlib.suppress(DebugInfoError, ElfError), damaged(path, ElfError):
                information.function_at(address)
        for line in (17, 25, 38):
            with contextlib.suppress(DebugInfoError, ElfError), damaged(path, ElfError):
                Points(information).at_line("program.c", line)

    def kernel(self, path):
        """A file that is said to be the kernel's, and a module's."""
        module = relocated(open_module(path))
        home = CodeObject("module", path, Loaded(module, 0), (module,))
        for each in (KernelObjects(path, True).of("vmlinux"), home):
            text = KernelText(each.loaded.file)
            for function in each.functions[:3]:
                text.obstacle(function, 0, 1)
                by_symbol(each, function.address)
        places = KernelPlaces(KernelObjects(path, True), os.devnull)
        for pattern in (Pattern("fbt", "", "main", "4"), Pattern("fbt", "", "program.c@17", "")):
            with contextlib.suppress(SourceError):
                places.match(pattern)

    def build_ids(self, path):
        list(of_files([path]))

    def perf_map(self, path):
        home = Path(path).parent / "home"
        (home / "tmp").mkdir(parents=True, exist_ok=True)
        place = home / "tmp" / "perf-7.map"
        with contextlib.suppress(FileNotFoundError):
            place.unlink()
        with contextlib.suppress(OSError):
            os.link(path, place, follow_symlinks=False)
        found = PerfMap(Home(7, os.getuid(), str(home)))
        found.refresh()
        found.refresh()
        for address in ADDRESSES:
            found.symbolize(address)

    def maps(self, path):
        for each in parse_maps(kernel_text(path)):
            _ = each.is_object

    def status(self, path):
        kernel_lines(path)

    def symbols_of_the_kernel(self, path):
        found = Kallsyms(path)
        found.find("main")

    def bpf_object(self, path):
        read_object(read_regular(path, LARGEST_OBJECT))

    def btf(self, path):
        open_btf(path).names("a")

    def configuration(self, path):
        read_configuration(text_of(unpacked(read_named(path, 4 << 20), 4 << 20)))

    def profile(self, path):
        read_profile(read_named(path, LARGEST_PROFILE), "title")

    def libraries(self, path):
        list(in_directories("libfile.so", "", [os.path.dirname(path)]))

    def script_tests(self, path):
        """As a test file, and as the expected output of one."""
        with contextlib.suppress(CaseFileError):
            cases_of(path + SUFFIX, tomllib.loads(text_of_file(path)))
        with contextlib.suppress(CaseFileError):
            read_cases(path)

    def script(self, path):
        command("-S", "-e", "-s", path)

    def spec(self, path):
        command("-xengine=embedded", "--dry-run", "--spec", path)

    def raw(self, path):
        command("raw", path)

    def recording(self, path):
        command("read", path)


def command(*words):
    """Run the command in this process; its status must be one that is documented."""
    nothing = io.StringIO()
    with contextlib.redirect_stderr(nothing), contextlib.redirect_stdout(nothing):
        try:
            status = main(["sonde", *words])
        except SystemExit as error:
            status = error.code
    if status not in (0, 1, 2, 7):
        raise LostError(f"status {status}: {nothing.getvalue()[-200:]}")


NAMES = [name for name in vars(Readers) if not name.startswith("_")]
OF_ELF = [
    "elf",
    "names",
    "debug_link",
    "notes",
    "rows",
    "functions",
    "debug_information",
    "kernel",
    "build_ids",
    "btf",
    "bpf_object",
]
