"""sonde: DTrace for Linux. D programs compiled to eBPF and run in the live kernel, from Python.

    import sonde

    with sonde.trace("syscall:::entry { @[probefunc] = count(); }", command="ls") as run:
        run.wait()
    print(run.aggregations["_"])

Each name is imported when it is first used.
"""

from sonde import lazy as _lazy

__version__ = "0.1.0"

_lazy.install()

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sonde.library.aggregations import LiveAggregation as LiveAggregation
    from sonde.library.errors import CompileError as CompileError
    from sonde.library.errors import DestructiveError as DestructiveError
    from sonde.library.errors import Error as Error
    from sonde.library.errors import NotPermittedError as NotPermittedError
    from sonde.library.errors import ScriptError as ScriptError
    from sonde.library.errors import TracingError as TracingError
    from sonde.library.events import Aggregation as Aggregation
    from sonde.library.events import Event as Event
    from sonde.library.events import Exit as Exit
    from sonde.library.events import Loss as Loss
    from sonde.library.events import Message as Message
    from sonde.library.events import ProbeError as ProbeError
    from sonde.library.events import ProbeName as ProbeName
    from sonde.library.events import Record as Record
    from sonde.library.events import RingRecord as RingRecord
    from sonde.library.events import TableBatch as TableBatch
    from sonde.library.events import Text as Text
    from sonde.library.frames import Frame as Frame
    from sonde.library.frames import Stack as Stack
    from sonde.library.histograms import Bucket as Bucket
    from sonde.library.histograms import LinearQuantize as LinearQuantize
    from sonde.library.histograms import LogLinearQuantize as LogLinearQuantize
    from sonde.library.histograms import Quantize as Quantize
    from sonde.library.inspection.abilities import Ability as Ability
    from sonde.library.inspection.abilities import abilities as abilities
    from sonde.library.inspection.capabilities import Capability as Capability
    from sonde.library.inspection.capabilities import capabilities as capabilities
    from sonde.library.inspection.declarations import KernelFunction as KernelFunction
    from sonde.library.inspection.declarations import declarations as declarations
    from sonde.library.inspection.declarations import kernel_function as kernel_function
    from sonde.library.inspection.listing import ListedProbe as ListedProbe
    from sonde.library.inspection.listing import ProbeArgument as ProbeArgument
    from sonde.library.inspection.listing import probes as probes
    from sonde.library.inspection.provider_files import provider_header as provider_header
    from sonde.library.inspection.provider_files import provider_object as provider_object
    from sonde.library.inspection.structures import Structure as Structure
    from sonde.library.inspection.structures import structures as structures
    from sonde.library.inspection.variables import Point as Point
    from sonde.library.inspection.variables import Variable as Variable
    from sonde.library.inspection.variables import points as points
    from sonde.library.inspection.variables import variables as variables
    from sonde.library.loading import load as load
    from sonde.library.notebook.extension import load_ipython_extension as load_ipython_extension
    from sonde.library.object_script import ObjectScript as ObjectScript
    from sonde.library.object_script import load_object as load_object
    from sonde.library.objects import Object as Object
    from sonde.library.outputs import Files as Files
    from sonde.library.probing.aggregating import ProbeAggregation as ProbeAggregation
    from sonde.library.probing.aggregating import avg as avg
    from sonde.library.probing.aggregating import count as count
    from sonde.library.probing.aggregating import llquantize as llquantize
    from sonde.library.probing.aggregating import lquantize as lquantize
    from sonde.library.probing.aggregating import max as max
    from sonde.library.probing.aggregating import min as min
    from sonde.library.probing.aggregating import quantize as quantize
    from sonde.library.probing.aggregating import stddev as stddev
    from sonde.library.probing.aggregating import sum as sum
    from sonde.library.probing.decorating import ProbeFunction as ProbeFunction
    from sonde.library.probing.decorating import probe as probe
    from sonde.library.probing.running import run as run
    from sonde.library.probing.subroutines import alloca as alloca
    from sonde.library.probing.subroutines import basename as basename
    from sonde.library.probing.subroutines import bcopy as bcopy
    from sonde.library.probing.subroutines import breakpoint as breakpoint
    from sonde.library.probing.subroutines import capture as capture
    from sonde.library.probing.subroutines import chill as chill
    from sonde.library.probing.subroutines import cleanpath as cleanpath
    from sonde.library.probing.subroutines import clear as clear
    from sonde.library.probing.subroutines import commit as commit
    from sonde.library.probing.subroutines import copyin as copyin
    from sonde.library.probing.subroutines import copyinstr as copyinstr
    from sonde.library.probing.subroutines import copyinto as copyinto
    from sonde.library.probing.subroutines import copyout as copyout
    from sonde.library.probing.subroutines import copyoutstr as copyoutstr
    from sonde.library.probing.subroutines import d_path as d_path
    from sonde.library.probing.subroutines import ddi_pathname as ddi_pathname
    from sonde.library.probing.subroutines import delay as delay
    from sonde.library.probing.subroutines import denormalize as denormalize
    from sonde.library.probing.subroutines import dirname as dirname
    from sonde.library.probing.subroutines import discard as discard
    from sonde.library.probing.subroutines import exit as exit
    from sonde.library.probing.subroutines import flagstr as flagstr
    from sonde.library.probing.subroutines import freopen as freopen
    from sonde.library.probing.subroutines import ftruncate as ftruncate
    from sonde.library.probing.subroutines import func as func
    from sonde.library.probing.subroutines import getf as getf
    from sonde.library.probing.subroutines import getmajor as getmajor
    from sonde.library.probing.subroutines import getminor as getminor
    from sonde.library.probing.subroutines import htonl as htonl
    from sonde.library.probing.subroutines import htonll as htonll
    from sonde.library.probing.subroutines import htons as htons
    from sonde.library.probing.subroutines import index as index
    from sonde.library.probing.subroutines import inet_ntoa as inet_ntoa
    from sonde.library.probing.subroutines import inet_ntoa6 as inet_ntoa6
    from sonde.library.probing.subroutines import inet_ntop as inet_ntop
    from sonde.library.probing.subroutines import inject as inject
    from sonde.library.probing.subroutines import json as json
    from sonde.library.probing.subroutines import jstack as jstack
    from sonde.library.probing.subroutines import link_ntop as link_ntop
    from sonde.library.probing.subroutines import lltostr as lltostr
    from sonde.library.probing.subroutines import memstr as memstr
    from sonde.library.probing.subroutines import mod as mod
    from sonde.library.probing.subroutines import msgdsize as msgdsize
    from sonde.library.probing.subroutines import msgsize as msgsize
    from sonde.library.probing.subroutines import mutex_owned as mutex_owned
    from sonde.library.probing.subroutines import mutex_owner as mutex_owner
    from sonde.library.probing.subroutines import mutex_type_adaptive as mutex_type_adaptive
    from sonde.library.probing.subroutines import mutex_type_spin as mutex_type_spin
    from sonde.library.probing.subroutines import normalize as normalize
    from sonde.library.probing.subroutines import ntohl as ntohl
    from sonde.library.probing.subroutines import ntohll as ntohll
    from sonde.library.probing.subroutines import ntohs as ntohs
    from sonde.library.probing.subroutines import panic as panic
    from sonde.library.probing.subroutines import pcap as pcap
    from sonde.library.probing.subroutines import printa as printa
    from sonde.library.probing.subroutines import printf as printf
    from sonde.library.probing.subroutines import progenyof as progenyof
    from sonde.library.probing.subroutines import raise_ as raise_
    from sonde.library.probing.subroutines import rand as rand
    from sonde.library.probing.subroutines import rindex as rindex
    from sonde.library.probing.subroutines import rw_iswriter as rw_iswriter
    from sonde.library.probing.subroutines import rw_read_held as rw_read_held
    from sonde.library.probing.subroutines import rw_write_held as rw_write_held
    from sonde.library.probing.subroutines import sample as sample
    from sonde.library.probing.subroutines import setopt as setopt
    from sonde.library.probing.subroutines import speculate as speculate
    from sonde.library.probing.subroutines import speculation as speculation
    from sonde.library.probing.subroutines import stack as stack
    from sonde.library.probing.subroutines import stop as stop
    from sonde.library.probing.subroutines import strchr as strchr
    from sonde.library.probing.subroutines import strjoin as strjoin
    from sonde.library.probing.subroutines import strlen as strlen
    from sonde.library.probing.subroutines import strrchr as strrchr
    from sonde.library.probing.subroutines import strstr as strstr
    from sonde.library.probing.subroutines import strtok as strtok
    from sonde.library.probing.subroutines import strtoll as strtoll
    from sonde.library.probing.subroutines import substr as substr
    from sonde.library.probing.subroutines import sym as sym
    from sonde.library.probing.subroutines import system as system
    from sonde.library.probing.subroutines import tolower as tolower
    from sonde.library.probing.subroutines import toupper as toupper
    from sonde.library.probing.subroutines import tracemem as tracemem
    from sonde.library.probing.subroutines import trunc as trunc
    from sonde.library.probing.subroutines import uaddr as uaddr
    from sonde.library.probing.subroutines import ufunc as ufunc
    from sonde.library.probing.subroutines import umod as umod
    from sonde.library.probing.subroutines import ustack as ustack
    from sonde.library.probing.subroutines import usym as usym
    from sonde.library.probing.words import Firing as Firing
    from sonde.library.probing.words import cast as cast
    from sonde.library.probing.words import i8 as i8
    from sonde.library.probing.words import i16 as i16
    from sonde.library.probing.words import i32 as i32
    from sonde.library.probing.words import i64 as i64
    from sonde.library.probing.words import kernel as kernel
    from sonde.library.probing.words import offsetof as offsetof
    from sonde.library.probing.words import sizeof as sizeof
    from sonde.library.probing.words import stringof as stringof
    from sonde.library.probing.words import thread as thread
    from sonde.library.probing.words import u8 as u8
    from sonde.library.probing.words import u16 as u16
    from sonde.library.probing.words import u32 as u32
    from sonde.library.probing.words import u64 as u64
    from sonde.library.recordings import Recording as Recording
    from sonde.library.recordings import read as read
    from sonde.library.rich_pictures import FlameGraph as FlameGraph
    from sonde.library.rich_pictures import HeatMap as HeatMap
    from sonde.library.run import Run as Run
    from sonde.library.scalars import Average as Average
    from sonde.library.scalars import Count as Count
    from sonde.library.scalars import Deviation as Deviation
    from sonde.library.scalars import Maximum as Maximum
    from sonde.library.scalars import Minimum as Minimum
    from sonde.library.scalars import Sum as Sum
    from sonde.library.script import Script as Script
    from sonde.library.script import compile as compile
    from sonde.library.settings import OptionRefusedError as OptionRefusedError
    from sonde.library.shortest import trace as trace
    from sonde.library.showing import Shown as Shown
    from sonde.library.showing import show as show
    from sonde.library.values import CapturedPacket as CapturedPacket
    from sonde.library.verdicts import Verdict as Verdict

_NAMES = {
    "inspection.abilities": ("Ability", "abilities"),
    "aggregations": ("LiveAggregation",),
    "inspection.capabilities": ("Capability", "capabilities"),
    "inspection.declarations": ("KernelFunction", "declarations", "kernel_function"),
    "errors": ("CompileError", "DestructiveError", "Error", "NotPermittedError", "ScriptError", "TracingError"),
    "events": (
        "Aggregation",
        "TableBatch",
        "Event",
        "Exit",
        "Loss",
        "Message",
        "ProbeError",
        "ProbeName",
        "Record",
        "RingRecord",
        "Text",
    ),
    "frames": ("Frame", "Stack"),
    "histograms": ("Bucket", "LinearQuantize", "LogLinearQuantize", "Quantize"),
    "inspection.listing": ("ListedProbe", "ProbeArgument", "probes"),
    "object_script": ("ObjectScript", "load_object"),
    "objects": ("Object",),
    "outputs": ("Files",),
    "probing.aggregating": (
        "ProbeAggregation",
        "avg",
        "count",
        "llquantize",
        "lquantize",
        "max",
        "min",
        "quantize",
        "stddev",
        "sum",
    ),
    "probing.decorating": ("ProbeFunction", "probe"),
    "probing.running": ("run",),
    "probing.subroutines": (
        "alloca",
        "basename",
        "bcopy",
        "breakpoint",
        "capture",
        "chill",
        "cleanpath",
        "clear",
        "commit",
        "copyin",
        "copyinstr",
        "copyinto",
        "copyout",
        "copyoutstr",
        "d_path",
        "ddi_pathname",
        "delay",
        "denormalize",
        "dirname",
        "discard",
        "exit",
        "flagstr",
        "freopen",
        "ftruncate",
        "func",
        "getf",
        "getmajor",
        "getminor",
        "htonl",
        "htonll",
        "htons",
        "index",
        "inet_ntoa",
        "inet_ntoa6",
        "inet_ntop",
        "inject",
        "json",
        "jstack",
        "link_ntop",
        "lltostr",
        "memstr",
        "mod",
        "msgdsize",
        "msgsize",
        "mutex_owned",
        "mutex_owner",
        "mutex_type_adaptive",
        "mutex_type_spin",
        "normalize",
        "ntohl",
        "ntohll",
        "ntohs",
        "panic",
        "pcap",
        "printa",
        "printf",
        "progenyof",
        "raise_",
        "rand",
        "rindex",
        "rw_iswriter",
        "rw_read_held",
        "rw_write_held",
        "sample",
        "setopt",
        "speculate",
        "speculation",
        "stack",
        "stop",
        "strchr",
        "strjoin",
        "strlen",
        "strrchr",
        "strstr",
        "strtok",
        "strtoll",
        "substr",
        "sym",
        "system",
        "tolower",
        "toupper",
        "tracemem",
        "trunc",
        "uaddr",
        "ufunc",
        "umod",
        "ustack",
        "usym",
    ),
    "probing.words": (
        "Firing",
        "cast",
        "i16",
        "i32",
        "i64",
        "i8",
        "kernel",
        "offsetof",
        "sizeof",
        "stringof",
        "thread",
        "u16",
        "u32",
        "u64",
        "u8",
    ),
    "inspection.provider_files": ("provider_header", "provider_object"),
    "recordings": ("Recording", "read"),
    "notebook.extension": ("load_ipython_extension",),
    "rich_pictures": ("FlameGraph", "HeatMap"),
    "run": ("Run",),
    "scalars": ("Average", "Count", "Deviation", "Maximum", "Minimum", "Sum"),
    "loading": ("load",),
    "script": ("Script", "compile"),
    "settings": ("OptionRefusedError",),
    "shortest": ("trace",),
    "showing": ("Shown", "show"),
    "inspection.structures": ("Structure", "structures"),
    "values": ("CapturedPacket",),
    "inspection.variables": ("Point", "Variable", "points", "variables"),
    "verdicts": ("Verdict",),
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names}

_PYTHONS = {"exit"}
"""What Python has as well, and nobody gets unasked by `from sonde import *`: in a probe Python's means the same. Those
of sonde that take the place of Python's `max`, `min` and `sum` do what these do."""

__all__ = sorted(_PLACES.keys() - _PYTHONS)


def __getattr__(name: str) -> object:
    module = _PLACES.get(name)
    if module is None:
        raise AttributeError(f"module 'sonde' has no attribute {name!r}")
    from importlib import import_module  # names of the library alone need it

    found = globals()[name] = getattr(import_module(f"sonde.library.{module}"), name)
    return found


def __dir__() -> list[str]:
    return [*sorted(_PLACES), "__version__"]
