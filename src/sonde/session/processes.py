"""The processes that -c and -p name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from sonde import launch
from sonde.engines.embedded import followed
from sonde.machine import obstacles
from sonde.model.options import OptionTable
from sonde.session import command as session_command
from sonde.session.engines import EMBEDDED, has_filter
from sonde.session.errors import SessionError
from sonde.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.session.traced import Traced


@contextmanager
def processes(
    commands: Sequence[str],
    pids: Sequence[int],
    options: OptionTable,
    engine: str,
    tell: Callable[[str], None] | None = None,
) -> Iterator[Sequence[Traced]]:
    """The commands, started and held, before the processes of these numbers; given up at the end. `tell` is told of
    those that are not traced as one would expect. Raises SessionError."""
    if not commands and not pids:
        yield ()
        return
    if engine == EMBEDDED:
        with _followed(commands, pids, options, tell) as members:
            yield members
        return
    if options.text("follow") == "all":
        hint = "it sees all processes: leave -c out, and end by exit() in a clause of proc:::exit"
        raise SessionError("option follow=all is for the embedded engine", hint=hint)
    # Not needed for a system-wide trace.

    evaluation = options.text("evaltime")
    found: list[Traced] = []
    with ExitStack() as stack:
        try:
            for command in commands:
                found.append(session_command.StartedProcess(command, evaluation))
                stack.callback(found[-1].close)
            for pid in pids:
                found.append(session_command.ForeignProcess(pid))
                stack.callback(found[-1].close)
        except session_command.CommandError as error:
            raise SessionError(str(error)) from None
        except OSError as error:
            raise _not_controlled(error) from None
        yield found


@contextmanager
def _followed(
    commands: Sequence[str], pids: Sequence[int], options: OptionTable, tell: Callable[[str], None] | None
) -> Iterator[Sequence[Traced]]:
    # A command of this engine is always executed by its tracer.
    evaluation = "exec" if options.text("evaltime") == "fork" else options.text("evaltime")
    try:
        group = followed.FollowedGroup(
            commands, pids, evaluation, has_filter(options), options.text("follow") == "all",
            options.text("sampling") == "stopped",
        )  # fmt: skip
    except (launch.CommandError, launch.GuardianError) as error:
        raise SessionError(str(error)) from None
    except OSError as error:
        raise _not_controlled(error) from None
    try:
        yield group.members
    finally:
        group.close()
        if tell is not None:
            for text in group.remarks.texts:
                tell(text)


def _not_controlled(error: OSError) -> SessionError:
    found = obstacles.obstacle(error)
    hint = "kernel.yama.ptrace_scope or a container may forbid ptrace(2); `sonde doctor` tells more"
    text, hint = found or (error.strerror, hint)
    return SessionError(f"failed to control the process: {text}", hint=hint)
