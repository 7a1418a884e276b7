"""Programs of bpftrace's language, compiled in this process for the embedded engine, within bounds of time."""

import re
import signal
import traceback

from sonde.frontends.languages import front_end
from sonde.library.compiling import For, compiled
from sonde.library.errors import Error
from sonde.library.settings import option_table
from sonde.model.errors import ProgramError
from sonde.session.kernels import registry_of

SECONDS = 5.0
"""Of CPU time for one program."""
_TOLD = re.compile(r"stdin(:\d+:\d+-(\d+:)?\d+)?: ERROR: \S")


class TooSlowError(BaseException):
    """The time is over."""


def _over(_signal, _frame):
    raise TooSlowError


def options():
    return option_table([("quiet", "yes"), ("strsize", "1024")])


def registry():
    return registry_of("embedded", None, False, None, None)


def told(program, machine):
    """The first line of the message about a mistake, "" if there is none."""
    try:
        front_end("bpftrace").check((("text", program),), options(), machine, (), 0, "bpftrace")
    except ProgramError as error:
        return str(error).splitlines()[0]
    return ""


def warnings(program, machine):
    """The warnings of a program that compiles."""
    checked = front_end("bpftrace").check((("text", program),), options(), machine, (), 0, "bpftrace")
    return [str(each.text) for each in checked.warnings(False)]


def outcome(program):
    """What is wrong with how a program's compilation ends, "" if nothing is: it compiles, or has one mistake."""
    before = signal.signal(signal.SIGVTALRM, _over)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        compiled("bpftrace", (("text", program),), options(), (), For("embedded"), "bpftrace")
    except Error as error:
        text = str(error)
        mistakes = text.count("ERROR:") - text.count("ERROR: expanded from")
        return "" if _TOLD.match(text) and mistakes == 1 else f"not one mistake: {text}"
    except TooSlowError:
        return f"more than {SECONDS} s of CPU:\n{traceback.format_exc()[-1500:]}"
    except Exception:
        # Any other end is what is looked for.
        return traceback.format_exc()[-1500:]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return ""
