"""What may be missing of static probes that were found while tracing, for people."""

from __future__ import annotations

from collections.abc import Iterator

from sonde.everywhere.following import FollowingSummary

_FEW = 10
"""Files that are named."""


def remarks(summary: FollowingSummary) -> Iterator[str]:
    """A sentence each, none where nothing can be missing."""
    for path, delay in summary.late[:_FEW]:
        yield f"{path} was first mapped while tracing: its probes fire from {delay * 1000:.1f} ms later on"
    if len(summary.late) > _FEW:
        longest = max(delay for _, delay in summary.late)
        yield f"so it is with {len(summary.late) - _FEW} more files, whose probes fire {longest * 1000:.1f} ms later"
    for path, reason in summary.refused[:_FEW]:
        yield f"{path}: {reason}: its probes do not fire"
    if len(summary.refused) > _FEW:
        yield f"so it is with {len(summary.refused) - _FEW} more files"
    if summary.unreadable:
        yield f"{_counted(summary.unreadable, 'file')} with a process that ended could not be looked at for probes"
    if not summary.can_follow:
        yield "the kernel does not tell what processes map: only files that were known at the start had probes"
    if summary.lost:
        yield f"what processes mapped is not known {_counted(summary.lost, 'time')}: probes there may not have fired"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
