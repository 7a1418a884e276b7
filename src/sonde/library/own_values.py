"""Values of the structures that bpftrace's language has of its own (`frontends.bpftrace.object_names`)."""

from __future__ import annotations

from collections.abc import Callable

from sonde.consume.stack_values import stack_value, user_stack_value
from sonde.consume.stacks import ADDRESS
from sonde.frontends.bpftrace.object_names import GLUE_FRAMES, OBJECTS
from sonde.frontends.bpftrace.report import objects
from sonde.library.frames import Frame, Stack
from sonde.model.records import Field, TypeSpec
from sonde.typed import Any, Protocol

Own = Callable[[str, bytes], Any]
"""The value of such a structure, by its keyword and its memory."""


class AddressNames(Protocol):
    """Who knows the names of addresses (`library.values.Values`)."""

    def kernel_stack(self, stack: bytes, most: int = 0) -> Stack: ...
    def user_stack(self, stack: bytes) -> Stack: ...
    def kernel_frame(self, address: int, calls: bool = False) -> Frame: ...
    def user_frame(self, process: int, address: int, calls: bool = False) -> Frame: ...


def own_word(type_name: str) -> str:
    """The keyword of such a structure by its type's name, "" of all other types."""
    keyword = type_name.partition(" ")[0]
    return keyword if keyword in OBJECTS else ""


def own_keyword(spec: TypeSpec) -> str:
    """The same of a type."""
    return own_word(spec.name) if spec.kind == "struct" else ""


def has_names(field: Field) -> bool:
    """Whether such a value has names of addresses, which are to be had while the process lives."""
    return own_word(field.detail).startswith(("ksym", "usym", "kstack", "ustack"))


def own_values(places: AddressNames) -> Own:
    """What makes values: addresses of a network are str, buffers bytes, names of addresses frames, stacks stacks."""

    def value(keyword: str, data: bytes) -> Any:
        match keyword.partition("_")[0]:
            case "inet":
                return objects.address_text(data).decode()
            case "buffer":
                return objects.buffer_bytes(data)
            case "ksym":
                return places.kernel_frame(_number(data, 0))
            case "usym":
                return places.user_frame(_number(data, 0), _number(data, ADDRESS))
            case "kstack":
                return places.kernel_stack(stack_value(data), len(data) // ADDRESS - GLUE_FRAMES)
            case _:
                return places.user_stack(user_stack_value(data))

    return value


def _number(data: bytes, place: int) -> int:
    return int.from_bytes(data[place : place + ADDRESS], "little")
