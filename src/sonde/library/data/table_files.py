"""Files that tables are written to while they grow: a stream of Arrow's, a Parquet file, a folder of those."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq

from sonde.library.arrow_schema import OF_SONDE
from sonde.library.errors import Error
from sonde.model.options import STANDARD_OUTPUT
from sonde.report.output import write_all
from sonde.typed import Any, Protocol
from sonde.written_files import Folder, create_named

_ROWS = 1 << 17
"""Rows of a group of a Parquet file: smaller ones wait for more."""

_WHOLE, _OPEN = re.compile(r"part-\d{6,}\.parquet"), re.compile(r"\.part-\d{6,}\.open")
"""Files of a folder."""

_OWN_FOLDER = "give the tables a folder of their own, which is made if there is none"


class TableFile(Protocol):
    """Takes tables of one schema, one after the other. All of these raise OSError."""

    def write(self, table: Any) -> None: ...

    def settle(self) -> None:
        """Some time has passed: have what was written whole on the disk, as far as this kind of file can."""

    def close(self) -> None: ...


class _Gathered:
    """A file of bytes that are taken away."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is kept back."""

    def take(self) -> bytes:
        found, self._parts = b"".join(self._parts), []
        return found


class StreamFile:
    """A stream in Arrow's IPC format (https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format).

    What is written of a table is there as a whole or not at all: readers take a message of length zero for the end, and
    the length of the first message is written last.
    """

    def __init__(self, path: str, schema: Any) -> None:
        self._bytes = _Gathered()
        self._writer = pa.ipc.new_stream(pa.PythonFile(self._bytes, "w"), schema)
        # The schema goes before the first batch: with one that is empty it is there from the beginning.
        empty = [pa.nulls(0, field.type) for field in schema]
        self._writer.write_batch(pa.RecordBatch.from_arrays(empty, schema=schema))
        self._path = path
        self._descriptor = opened_file(path)
        # What somebody else has opened may have begun before, or append.
        self._is_own = path != STANDARD_OUTPUT and stat.S_ISREG(os.fstat(self._descriptor).st_mode)
        self._place = 0
        self._append()

    def write(self, table: Any) -> None:
        self._writer.write_table(table)
        self._append()

    def settle(self) -> None:
        """It is."""

    def close(self) -> None:
        self._writer.close()
        try:
            self._append()
        finally:
            os.close(self._descriptor)

    def _append(self) -> None:
        data = self._bytes.take()
        if not self._is_own:
            write_all(self._descriptor, data)
            return
        try:
            _write_at(self._descriptor, data[8:], self._place + 8)
            _write_at(self._descriptor, data[:8], self._place)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._path) from None
        self._place += len(data)


def _write_at(descriptor: int, data: bytes, place: int) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(descriptor, rest, place)
        rest, place = rest[written:], place + written


def opened_file(path: str) -> int:
    """A descriptor of a file that is begun anew. Raises Error."""
    try:
        return create_named(path, os.O_TRUNC)
    except OSError as error:
        raise Error(f"failed to open output file '{path}': {error.strerror}") from None


class _Descriptor:
    """A file as pyarrow wants it."""

    closed = False

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: Any) -> int:
        write_all(self._descriptor, bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is kept back."""


class ParquetFile:
    """One Parquet file. It can be read when it is closed."""

    def __init__(self, descriptor: int, schema: Any) -> None:
        """The descriptor is closed with the file."""
        self._descriptor = descriptor
        self._writer = pq.ParquetWriter(pa.PythonFile(_Descriptor(self._descriptor), "w"), schema)
        self._waiting: list[Any] = []
        self._rows = 0

    def write(self, table: Any) -> None:
        self._waiting.append(table)
        self._rows += table.num_rows
        if self._rows >= _ROWS:
            self._write()

    def _write(self) -> None:
        waiting, self._waiting, self._rows = self._waiting, [], 0
        if waiting:
            self._writer.write_table(pa.concat_tables(waiting).unify_dictionaries().combine_chunks())

    def settle(self) -> None:
        """There is no such moment but the end."""

    def close(self) -> None:
        try:
            self._write()
            self._writer.close()
        finally:
            os.close(self._descriptor)


def parquet_file(path: str, schema: Any) -> ParquetFile:
    """Raises Error."""
    return ParquetFile(opened_file(path), schema)


class ParquetParts:
    """A folder of Parquet files, each of which gets its name when it is whole. Those of an earlier trace go."""

    def __init__(self, path: str, schema: Any) -> None:
        self._path = path
        self._schema = schema
        self._number = 0
        self._has_rows = False
        try:
            self._folder = Folder(path)
        except OSError as error:
            raise Error(f"failed to make folder '{path}': {error.strerror}", _OWN_FOLDER) from None
        try:
            self._remove_earlier()
            # A folder that takes no files is told before anything is traced.
            self._part: ParquetFile | None = self._begun()
        except BaseException:
            self._folder.close()
            raise

    def _remove_earlier(self) -> None:
        """Raises Error, and then nothing is removed, where there are others' files of these names."""
        try:
            names = self._folder.names()
            whole = [each for each in names if _WHOLE.fullmatch(each)]
            strange = min((each for each in whole if not _is_of_sonde(self._folder, each)), default=None)
            if strange is not None:
                raise Error(f"'{os.path.join(self._path, strange)}' is no table of an earlier trace", _OWN_FOLDER)
            for each in (*whole, *(each for each in names if _OPEN.fullmatch(each))):
                self._folder.remove(each)
        except OSError as error:
            raise Error(f"failed to empty folder '{self._path}': {error.strerror}") from None

    def _begun(self) -> ParquetFile:
        """Raises Error."""
        self._number += 1
        try:
            return ParquetFile(self._folder.create(self._open_name), self._schema)
        except OSError as error:
            name = os.path.join(self._path, self._open_name)
            raise Error(f"failed to open output file '{name}': {error.strerror}") from None

    def write(self, table: Any) -> None:
        if self._part is None:
            self._part = self._begun()
        self._part.write(table)
        self._has_rows = True

    @property
    def _open_name(self) -> str:
        """One that no reader of a folder takes, nor a pattern of Parquet files."""
        return f".part-{self._number:06}.open"

    def settle(self) -> None:
        if self._has_rows:
            self._finish()

    def _finish(self) -> None:
        part, self._part, self._has_rows = self._part, None, False
        if part is not None:
            part.close()
            self._folder.rename(self._open_name, f"part-{self._number:06}.parquet")

    def close(self) -> None:
        """A folder without a file would have no columns: the first part is there, whatever it has."""
        try:
            self._finish()
        finally:
            self._folder.close()


def _is_of_sonde(folder: Folder, name: str) -> bool:
    """Whether a trace has written it, which its metadata say (`arrow_schema.py`)."""
    try:
        with folder.open(name) as file:
            metadata = pq.read_schema(file).metadata or {}
    except (OSError, pa.ArrowException):
        return False
    return any(key.startswith(OF_SONDE) for key in metadata)


def close_all(files: list[TableFile]) -> None:
    """Close what can be closed, where something has gone wrong already."""
    for each in files:
        with suppress(OSError, pa.ArrowException):
            each.close()
