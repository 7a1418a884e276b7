"""The BTF reader, on blobs written here, and the D types made from them."""

import struct

import pytest

from sonde.bpf import btf
from sonde.bpf.btf import Btf, BtfError, BtfMember, BtfParameter, BtfValue, BtfVariable
from sonde.model import types
from sonde.model.errors import ProgramError
from sonde.model.probe import RawTracepoint
from sonde.model.target import Target
from sonde.model.types import name_of, resolve, size_of
from sonde.providers.kernel_types import KernelTypes
from sonde.session.registry import Registry


class Blob:
    """Writes a BTF blob word by word; `base` is the blob it is split off."""

    def __init__(self, base=None):
        self.types = b""
        self.strings = b"" if base else b"\0"
        self.count = 0
        self.first = base.first + base.count if base else 1
        self.string_base = base.string_base + len(base.strings) if base else 0

    def string(self, text):
        if not text:
            return 0
        at = self.strings.find(b"\0" + text.encode() + b"\0")
        if at < 0:
            self.strings += text.encode() + b"\0"
            at = len(self.strings) - len(text) - 2
        return self.string_base + at + 1

    def add(self, kind, name="", size_or_type=0, words=(), count=0, flag=False):
        words = [self.string(word) if isinstance(word, str) else word & 0xFFFFFFFF for word in words]
        info = kind << 24 | count | flag << 31
        self.types += struct.pack(f"<III{len(words)}I", self.string(name), info, size_or_type, *words)
        self.count += 1
        return self.first + self.count - 1

    def data(self):
        header = struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(self.types), len(self.types), len(self.strings))
        return header + self.types + self.strings


def integer(blob, name, size, encoding=0):
    return blob.add(btf.INT, name, size, [encoding << 24 | size * 8])


@pytest.fixture
def kernel():
    blob = Blob()
    blob.int = integer(blob, "int", 4, btf.INT_SIGNED)
    blob.ulong = integer(blob, "long unsigned int", 8)
    blob.task = blob.add(
        btf.STRUCT, "task_struct", 24, ["pid", blob.int, 0, "next", blob.int + 3, 64, "", blob.int + 4, 128], 3
    )
    blob.task_pointer = blob.add(btf.PTR, "", blob.task)
    blob.union = blob.add(btf.UNION, "", 8, ["low", blob.int, 0, "flags", blob.ulong, 5 << 24 | 3], 2, flag=True)
    blob.color = blob.add(btf.ENUM, "color", 4, ["RED", 0, "GREEN", 5, "pid", 6], 3)
    blob.sign = blob.add(btf.ENUM, "sign", 4, ["MINUS", -1], 1, flag=True)
    blob.wide = blob.add(btf.ENUM64, "wide", 8, ["HUGE", 7, 1], 1)
    blob.proto = blob.add(btf.FUNC_PROTO, "", 0, ["", blob.task_pointer, "", blob.task_pointer, "", blob.int], 3)
    blob.proto_pointer = blob.add(btf.PTR, "", blob.proto)
    blob.trace = blob.add(btf.TYPEDEF, "btf_trace_wake", blob.proto_pointer)
    blob.func = blob.add(btf.FUNC, "wake", blob.proto, count=1)
    blob.func2 = blob.add(btf.FUNC, "task_struct", blob.proto)
    blob.array = blob.add(btf.ARRAY, "", 0, [blob.int, blob.ulong, 16])
    blob.const = blob.add(btf.CONST, "", blob.array)
    blob.variable = blob.add(btf.VAR, "runqueues", blob.task, [1])
    blob.section = blob.add(btf.DATASEC, ".data..percpu", 64, [blob.variable, 16, 24], 1)
    blob.forward = blob.add(btf.FWD, "hidden", 0)
    blob.tag = blob.add(btf.TYPE_TAG, "user", blob.int)
    blob.user = blob.add(btf.PTR, "", blob.tag)
    blob.variadic = blob.add(btf.FUNC_PROTO, "", blob.int, ["format", blob.user, 0, 0], 2)
    blob.float = blob.add(btf.FLOAT, "double", 8)
    blob.pid_t = blob.add(btf.TYPEDEF, "pid_t", blob.int)
    return blob


@pytest.fixture
def module(kernel):
    blob = Blob(kernel)
    blob.first_string = blob.add(btf.FWD, "opaque")
    blob.item = blob.add(btf.STRUCT, "item", 8, ["owner", kernel.task_pointer, 0], 1)
    blob.pointer = blob.add(btf.PTR, "", blob.item)
    blob.proto = blob.add(btf.FUNC_PROTO, "", 0, [0, kernel.task_pointer, 0, blob.pointer], 2)
    blob.proto_pointer = blob.add(btf.PTR, "", blob.proto)
    blob.trace = blob.add(btf.TYPEDEF, "btf_trace_item", blob.proto_pointer)
    # A name the kernel's strings have already.
    blob.types += struct.pack("<III", kernel.string("runqueues"), btf.FWD << 24, 0)
    blob.count += 1
    return blob


def test_find_by_name_and_kind(kernel):
    data = Btf(kernel.data())
    assert data.find("task_struct", btf.STRUCT) == kernel.task
    assert data.find("task_struct", btf.FUNC) == kernel.func2
    assert data.find("task_struct", btf.TYPEDEF) is None
    assert data.find("task_struct", btf.FUNC, btf.STRUCT) == kernel.task
    assert data.find("task_struc", btf.STRUCT) is None
    assert data.find("ask_struct", btf.STRUCT) is None
    assert data.end_id == kernel.count + 1


def test_a_members_name_is_not_a_types(kernel):
    assert Btf(kernel.data()).find("next", btf.STRUCT, btf.INT, btf.PTR, btf.ENUM) is None


def test_decode(kernel):
    data = Btf(kernel.data())
    kind = data.type(kernel.int)
    assert (kind.name, kind.size, kind.bits, kind.encoding) == ("int", 4, 32, btf.INT_SIGNED)
    assert data.type(kernel.task).members[1] == BtfMember("next", kernel.task_pointer, 64, 0)
    assert data.type(kernel.union).members == (
        BtfMember("low", kernel.int, 0, 0),
        BtfMember("flags", kernel.ulong, 3, 5),
    )
    assert data.type(kernel.color).values == (BtfValue("RED", 0), BtfValue("GREEN", 5), BtfValue("pid", 6))
    assert data.type(kernel.sign).values == (BtfValue("MINUS", -1),)
    assert data.type(kernel.wide).values == (BtfValue("HUGE", 7 + (1 << 32)),)
    assert data.type(kernel.variadic).parameters == (BtfParameter("format", kernel.user), BtfParameter("", 0))
    assert (data.type(kernel.array).type, data.type(kernel.array).length) == (kernel.int, 16)
    assert data.type(kernel.section).variables == (BtfVariable(kernel.variable, 16, 24),)
    assert data.type(kernel.func).linkage == 1
    assert data.type(kernel.trace).type == kernel.proto_pointer
    assert data.type(0).name == "void"


def test_there_is_no_type_beyond_the_last(kernel):
    with pytest.raises(BtfError):
        Btf(kernel.data()).type(kernel.count + 1)


def test_enumerators(kernel):
    data = Btf(kernel.data())
    assert data.find_enumerator("GREEN") == (kernel.color, 5)
    assert data.find_enumerator("HUGE") == (kernel.wide, 7 + (1 << 32))
    assert data.find_enumerator("pid") == (kernel.color, 6)
    assert data.find_enumerator("next") is None
    assert data.find_enumerator("color") is None


def test_prefixes(kernel):
    data = Btf(kernel.data())
    assert data.names("btf_trace_") == ["btf_trace_wake"]
    assert data.find_prefix("btf_trace_", btf.TYPEDEF) == {"btf_trace_wake": kernel.trace}
    assert data.find_prefix("btf_trace_", btf.FUNC) == {}


def test_split_btf_goes_on_after_the_kernels(kernel, module):
    data = Btf(module.data(), Btf(kernel.data()))
    assert data.first_id == kernel.count + 1
    assert data.find("item", btf.STRUCT) == module.item
    assert data.find("opaque", btf.FWD) == module.first_string
    assert data.type(module.first_string).name == "opaque"
    assert data.type(module.trace).name == "btf_trace_item"
    assert data.find("task_struct", btf.STRUCT) is None
    assert data.find("runqueues", btf.FWD) == module.first + module.count - 1
    assert data.type(module.item).members == (BtfMember("owner", kernel.task_pointer, 0, 0),)
    assert data.type(kernel.task).name == "task_struct"
    assert data.names("btf_trace_") == ["btf_trace_item"]
    assert data.find_enumerator("GREEN") is None


def test_many_names_are_found_as_few_are(kernel, module):
    """By an index that many searches make; also names that are members' alone, and those of the kernel's strings."""
    kinds = [(kind,) for kind in range(1, btf.ENUM64 + 1)] + [(btf.STRUCT, btf.FUNC, btf.FWD)]
    whole, split = kernel.data(), module.data()
    names = [name for letter in "abcdefghijklmnopqrstuvwxyzG_" for name in Btf(whole).names(letter)]
    names += ["item", "opaque", "owner", "nosuch", "task_struc"]

    def found(make, is_fresh):
        data, result = make(), []
        for name in names:
            for each in kinds:
                data = make() if is_fresh else data
                result.append([*data.find_all(name, *each)])
        return result

    for make in (lambda: Btf(whole), lambda: Btf(split, Btf(whole))):
        one_by_one = found(make, True)
        assert found(make, False) == one_by_one
        assert any(one_by_one)
    assert len(names) > 10


@pytest.mark.parametrize("data", [b"", b"\0" * 64, b"\xeb\x9f" + b"\1" * 30, b"\x9f\xeb\2\0" + b"\0" * 20])
def test_what_is_not_btf_is_refused(data):
    with pytest.raises(BtfError):
        Btf(data)


def test_cut_off_data_is_refused(kernel):
    with pytest.raises(BtfError):
        Btf(kernel.data()[:-1])


def test_a_last_type_that_is_cut_off_is_refused():
    blob = Blob()
    blob.add(btf.STRUCT, "short", 8, ["a", 0, 0], 2)
    with pytest.raises(BtfError, match="cut off"):
        Btf(blob.data()).find("short", btf.STRUCT)


def test_unknown_kinds_are_refused():
    blob = Blob()
    blob.add(25, "new", 0)
    with pytest.raises(BtfError, match="unknown BTF kind 25"):
        Btf(blob.data()).find("new", btf.INT)


@pytest.fixture
def directory(kernel, module, tmp_path):
    (tmp_path / "vmlinux").write_bytes(kernel.data())
    (tmp_path / "things").write_bytes(module.data())
    (tmp_path / "broken").write_bytes(b"no BTF")
    return str(tmp_path)


def test_types(directory):
    kernel = KernelTypes(directory)
    assert kernel.type_named("int") is types.INT
    assert kernel.type_named("unsigned long") is types.ULONG
    assert kernel.type_named("double") == types.DOUBLE
    assert name_of(kernel.type_named("pid_t")) == "pid_t"
    assert resolve(kernel.type_named("pid_t")) is types.INT
    assert kernel.type_named("task_struct") is None
    assert kernel.tagged_type("enum", "color") == types.Enum("color", 4, False, (("RED", 0), ("GREEN", 5), ("pid", 6)))
    assert kernel.enumerator("MINUS") == (kernel.tagged_type("enum", "sign"), -1)
    assert kernel.tagged_type("union", "task_struct") is None


def test_a_structure_is_one_object_and_may_refer_to_itself(directory):
    kernel = KernelTypes(directory)
    task = kernel.tagged_type("struct", "task_struct")
    assert task.size == 24
    assert task.find("next").type.to is task
    assert task.find("flags").offset == 128 + 3
    assert task.find("flags").bits == 5
    assert kernel.tagged_type("struct", "task_struct", "things") is task
    item = kernel.tagged_type("struct", "item")
    assert item.find("owner").type.to is task


def test_a_member_is_found_without_the_types_of_the_others(directory, kernel):
    known = KernelTypes(directory)
    task = known.tagged_type("struct", "task_struct")
    assert task.find("next").type.to is task
    assert kernel.int not in known._source("vmlinux")._made
    assert ("struct", "task_struct") in known.asked
    assert task.find("missing") is None


@pytest.mark.parametrize("name", ["pid", "next", "low", "flags", "missing", ""])
def test_one_member_is_the_same_as_among_all(directory, name):
    alone = KernelTypes(directory).tagged_type("struct", "task_struct").find(name)
    whole = KernelTypes(directory).tagged_type("struct", "task_struct")
    assert len(whole.members) == 3
    assert (alone and alone[2:]) == ((found := whole.find(name)) and found[2:])


def test_functions_and_variables(directory):
    kernel = KernelTypes(directory)
    kind, names = kernel.function("wake")
    assert name_of(kind) == "void (struct task_struct *, struct task_struct *, int)"
    assert names == ("", "", "")
    assert size_of(kernel.variable("runqueues")) == 24
    assert kernel.variable("wake") is None


def test_user_pointers_and_forward_declarations(directory, kernel):
    source = KernelTypes(directory)._source("vmlinux")
    assert source.type(kernel.user) == types.Pointer(types.INT, user=True)
    assert name_of(source.type(kernel.variadic)) == "int (int *, ...)"
    assert not source.type(kernel.forward).complete


def test_no_btf_at_all(tmp_path):
    kernel = KernelTypes(str(tmp_path / "none"))
    assert kernel.type_named("int") is None
    assert kernel.enumerator("RED") is None
    assert kernel.names("btf_trace_") == []
    assert kernel.tracepoint("wake") is None


def test_types_behind_one_of_a_newer_kind_are_not_found(kernel, tmp_path):
    kernel.add(25, "new", 0)
    kernel.add(btf.STRUCT, "late", 8)
    (tmp_path / "vmlinux").write_bytes(kernel.data())
    types_ = KernelTypes(str(tmp_path))
    assert types_.tagged_type("struct", "task_struct")
    assert types_.tagged_type("struct", "late") is None
    assert types_.tracepoint_arguments() == {}
    assert types_.enumerator("GREEN") is None


def test_tracepoints_of_the_kernel_and_its_modules(directory, tmp_path):
    registry = Registry(Target("x86_64", "6.18"), btf=directory, tracefs=str(tmp_path / "none"))
    probes = registry.match("rawtp", "", "", "")
    assert [(str(probe), probe.firing) for probe in probes] == [
        ("rawtp:::wake", RawTracepoint("wake", 2)),
        ("rawtp:::item", RawTracepoint("item", 1)),
    ]
    assert [registry.by_id(probe.id) for probe in probes] == list(probes)
    assert [name_of(argument.native) for argument in registry.arguments(probes[0])] == ["struct task_struct *", "int"]
    assert [name_of(argument.native) for argument in registry.arguments(probes[1])] == ["struct item *"]


def test_without_tracefs_trace_events_are_raw_tracepoints(directory, tmp_path):
    registry = Registry(Target("x86_64", "6.18"), btf=directory, tracefs=str(tmp_path / "none"))
    (probe,) = registry.match("sdt", "sched", "", "wake")
    assert (str(probe), probe.firing) == ("sdt:sched::wake", RawTracepoint("wake", 2))
    assert [name_of(argument.native) for argument in registry.arguments(probe)] == ["struct task_struct *", "int"]
    assert registry.fields(probe) == ()
    assert [str(probe) for probe in registry.match("sdt", "", "", "w*")] == ["sdt:::wake"]
    assert not registry.match("sdt", "sched", "", "w*")


def test_types_that_are_damaged_are_a_message(kernel, tmp_path):
    """Behind what names lead to: a kind that is none, a type that consists of itself, one beyond the last."""
    whole = kernel.data()
    (tmp_path / "btf").write_bytes(whole)
    at = 24 + 4 * Btf(whole)._offset_of(kernel.pid_t)
    for word, value in ((1, 31 << 24), (2, kernel.pid_t), (2, 1 << 20)):
        data = bytearray(whole)
        data[at + 4 * word : at + 4 * word + 4] = value.to_bytes(4, "little")
        (tmp_path / "btf").write_bytes(data)
        types = KernelTypes(str(tmp_path / "btf"))
        with pytest.raises(ProgramError, match="the types of vmlinux cannot be read: "):
            types.type_named("pid_t")
