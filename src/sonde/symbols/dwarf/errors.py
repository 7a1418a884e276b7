"""What is wrong with debug information, for people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sonde.symbols.elf.errors import DebugInfoError as DebugInfoError


@contextmanager
def damaged(path: str, *others: type[Exception]) -> Iterator[None]:
    """Whatever a decoder trips over becomes one DebugInfoError, except for `others`.

    pyelftools has no one class for input that makes no sense: it fails with what the broken value led to, be it a key
    that is missing, an assertion or a number too large for an index.
    """
    try:
        yield
    except DebugInfoError:
        raise
    except ImportError as error:
        raise DebugInfoError(f"{path}: Python's module {error.name} is not installed") from error
    except Exception as error:
        if isinstance(error, others):
            raise
        detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise DebugInfoError(f"the debug information of {path} is damaged ({detail[:200]})") from error
