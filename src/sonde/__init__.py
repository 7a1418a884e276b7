"""sonde: DTrace for Linux. D programs compiled to eBPF and run in the live kernel, from Python.

    import sonde

    with sonde.trace("syscall:::entry { @[probefunc] = count(); }", command="ls") as run:
        run.wait()
    print(run.aggregations["_"])

Each name is imported when it is first used.
"""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sonde.library.abilities import Ability as Ability
    from sonde.library.abilities import abilities as abilities
    from sonde.library.aggregations import LiveAggregation as LiveAggregation
    from sonde.library.capabilities import Capability as Capability
    from sonde.library.capabilities import capabilities as capabilities
    from sonde.library.declarations import KernelFunction as KernelFunction
    from sonde.library.declarations import declarations as declarations
    from sonde.library.declarations import kernel_function as kernel_function
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
    from sonde.library.events import TableBatch as TableBatch
    from sonde.library.events import Text as Text
    from sonde.library.frames import Frame as Frame
    from sonde.library.frames import Stack as Stack
    from sonde.library.histograms import Bucket as Bucket
    from sonde.library.histograms import LinearQuantize as LinearQuantize
    from sonde.library.histograms import LogLinearQuantize as LogLinearQuantize
    from sonde.library.histograms import Quantize as Quantize
    from sonde.library.listing import ListedProbe as ListedProbe
    from sonde.library.listing import ProbeArgument as ProbeArgument
    from sonde.library.listing import probes as probes
    from sonde.library.loading import load as load
    from sonde.library.object_script import ObjectScript as ObjectScript
    from sonde.library.object_script import load_object as load_object
    from sonde.library.objects import Object as Object
    from sonde.library.outputs import Files as Files
    from sonde.library.provider_files import provider_header as provider_header
    from sonde.library.provider_files import provider_object as provider_object
    from sonde.library.recordings import Recording as Recording
    from sonde.library.recordings import read as read
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
    from sonde.library.structures import Structure as Structure
    from sonde.library.structures import structures as structures
    from sonde.library.values import CapturedPacket as CapturedPacket
    from sonde.library.variables import Point as Point
    from sonde.library.variables import Variable as Variable
    from sonde.library.variables import points as points
    from sonde.library.variables import variables as variables
    from sonde.library.verdicts import Verdict as Verdict

_NAMES = {
    "abilities": ("Ability", "abilities"),
    "aggregations": ("LiveAggregation",),
    "capabilities": ("Capability", "capabilities"),
    "declarations": ("KernelFunction", "declarations", "kernel_function"),
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
        "Text",
    ),
    "frames": ("Frame", "Stack"),
    "histograms": ("Bucket", "LinearQuantize", "LogLinearQuantize", "Quantize"),
    "listing": ("ListedProbe", "ProbeArgument", "probes"),
    "object_script": ("ObjectScript", "load_object"),
    "objects": ("Object",),
    "outputs": ("Files",),
    "provider_files": ("provider_header", "provider_object"),
    "recordings": ("Recording", "read"),
    "run": ("Run",),
    "scalars": ("Average", "Count", "Deviation", "Maximum", "Minimum", "Sum"),
    "loading": ("load",),
    "script": ("Script", "compile"),
    "settings": ("OptionRefusedError",),
    "shortest": ("trace",),
    "showing": ("Shown", "show"),
    "structures": ("Structure", "structures"),
    "values": ("CapturedPacket",),
    "variables": ("Point", "Variable", "points", "variables"),
    "verdicts": ("Verdict",),
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> object:
    module = _PLACES.get(name)
    if module is None:
        raise AttributeError(f"module 'sonde' has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(f"sonde.library.{module}"), name)
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
