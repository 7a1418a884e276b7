"""Programs that are loaded and attached, and then taken away."""

from __future__ import annotations

from sonde.library.errors import aborted, as_errors
from sonde.library.foreground import Job, require_allowed, require_bounded
from sonde.library.holding import Held
from sonde.session.engines import make


def attach_only(job: Job, held: Held) -> None:
    """Load a program and attach all its probes, of which none fires. Raises Error."""
    require_allowed(job)
    is_metered = job.is_foreign and require_bounded(job.spec, held.engine, job.options, True)
    with as_errors():
        try:
            tracing = make(held.engine, job.options, held.traced, is_metered=is_metered).load(job.spec)
            try:
                for each in held.traced:
                    each.prepare()
                tracing.attach()
            finally:
                tracing.close()
        except OSError as error:
            raise aborted(error) from None
