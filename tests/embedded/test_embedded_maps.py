"""Maps of the embedded engine against models in Python, and what one map does that another does not."""

import struct
from collections import OrderedDict
from errno import E2BIG, EEXIST, EINVAL, ENOENT, ENOMEM

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bpf.embedded_world import World

from sonde.bpf import maps
from sonde.model.errors import EngineError
from sonde.model.spec import MapSpec
from sonde.runtime.machine.memory import OFFSET_BITS, AccessError

HASHES = [maps.HASH, maps.PERCPU_HASH, maps.LRU_HASH, maps.LRU_PERCPU_HASH]
ARRAYS = [maps.ARRAY, maps.PERCPU_ARRAY]


def u32(number):
    return struct.pack("=I", number)


KEYS = st.integers(0, 6).map(lambda n: struct.pack("=IB", n, 7))
FLAGS = st.sampled_from([0, 0, 0, 1, 2, 3, 4, 8])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("update"), KEYS, st.binary(min_size=12, max_size=12), FLAGS),
        st.tuples(st.just("delete"), KEYS),
        st.tuples(st.just("lookup"), KEYS),
    ),
    max_size=40,
)


class Model:
    """A dictionary with the kernel's results; `is_lru`: a full one forgets what was used longest ago."""

    def __init__(self, capacity, is_lru):
        self.capacity, self.is_lru = capacity, is_lru
        self.values = OrderedDict()

    def update(self, key, value, flags):
        if flags > 2:
            return -EINVAL
        if key in self.values:
            if flags == 1:
                return -EEXIST
        elif flags == 2:
            return -ENOENT
        elif len(self.values) == self.capacity:
            if not self.is_lru:
                return -E2BIG
            self.values.popitem(last=False)
        self.values[key] = value
        self.values.move_to_end(key)
        return 0

    def delete(self, key):
        return 0 if self.values.pop(key, None) else -ENOENT

    def lookup(self, key):
        if key in self.values:
            self.values.move_to_end(key)
        return self.values.get(key)


@pytest.mark.share(1)
@pytest.mark.parametrize("kind", HASHES)
@given(steps=STEPS)
@settings(max_examples=100)
def test_a_hash_behaves_like_a_dictionary_of_limited_size(kind, steps):
    world = World()
    made = world.map(kind, 5, 12, 4)
    model = Model(4, kind in (maps.LRU_HASH, maps.LRU_PERCPU_HASH))
    key_at, value_at = world.place(bytes(5)), world.place(bytes(12))
    for name, key, *others in steps:
        world.memory.write(key_at, key)
        if name == "update":
            world.memory.write(value_at, others[0])
            assert made.calls["map_update_elem"](key_at, value_at, others[1]) == model.update(key, *others)
        elif name == "delete":
            assert made.calls["map_delete_elem"](key_at) == model.delete(key)
        else:
            found = made.calls["map_lookup_elem"](key_at)
            assert (world.memory.read(found, 12) if found else None) == model.lookup(key)
    size = 16 if kind in maps.PER_CPU else 12
    assert sorted(made.items()) == sorted((key, value.ljust(size, b"\0")) for key, value in model.values.items())


def removed(world, made, key):
    """The result of bpf_map_delete_elem."""
    return made.calls["map_delete_elem"](world.place(key))


@pytest.mark.parametrize("kind", ARRAYS)
def test_an_array_has_all_elements_from_the_beginning(kind):
    world = World()
    made = world.map(kind, 4, 12, 3)
    assert [made.update(u32(index), b"v" * 12, flags) for index, flags in [(1, 0), (2, 2)]] == [0, 0]
    wrong = [(3, 0, E2BIG), (0, 1, EEXIST), (3, 1, E2BIG), (0, 3, EINVAL), (0, 4, EINVAL), (0, 8, EINVAL)]
    assert [made.update(u32(index), bytes(12), flags) for index, flags, _ in wrong] == [-error for *_, error in wrong]
    assert removed(world, made, u32(0)) == -EINVAL
    size = 16 if kind in maps.PER_CPU else 12
    filled = (b"v" * 12).ljust(size, b"\0")
    assert made.items() == [(u32(0), bytes(size)), (u32(1), filled), (u32(2), filled)]
    assert made.lookup(u32(3)) == 0 == made.calls["map_lookup_elem"](world.place(u32(3)))
    assert made.lookup(u32(2)) - made.lookup(u32(1)) == 16


def test_a_value_looked_up_before_an_update_stays_what_it_was():
    world = World()
    made = world.map(maps.HASH, 4, 8, 4)
    made.update(b"key.", b"old-----")
    before = made.lookup(b"key.")
    made.update(b"key.", b"new-----")
    assert world.memory.read(before, 8) == b"old-----"
    assert world.memory.read(made.lookup(b"key."), 8) == b"new-----"


def test_a_per_cpu_value_is_updated_in_place():
    world = World()
    made = world.map(maps.PERCPU_HASH, 4, 8, 4)
    made.update(b"key.", b"old-----")
    before = made.lookup(b"key.")
    made.update(b"key.", b"new-----")
    assert world.memory.read(before, 8) == b"new-----"


def test_a_pointer_to_a_deleted_value_never_leaves_the_map():
    world = World()
    made = world.map(maps.HASH, 4, 8, 2)
    made.update(b"key.", b"old-----")
    pointer = made.lookup(b"key.")
    removed(world, made, b"key.")
    world.memory.write(pointer, b"stray---")
    made.update(b"1...", b"1-------")
    made.update(b"2...", b"2-------")
    assert {pointer >> OFFSET_BITS} == {made.lookup(key) >> OFFSET_BITS for key in (b"1...", b"2...")}
    assert sorted(made.items()) == [(b"1...", b"1-------"), (b"2...", b"2-------")]


@pytest.mark.parametrize("kind", [maps.ARRAY, maps.HASH])
def test_programs_cannot_store_into_what_is_read_only_for_them(kind):
    world = World()
    made = world.map(kind, 4, 8, 2, maps.F_RDONLY_PROG, contents=((bytes(4), b"constant"),), frozen=True)
    address = made.lookup(bytes(4))
    assert world.memory.read(address, 8) == b"constant"
    with pytest.raises(AccessError):
        world.memory.write(address, b"x")


@pytest.mark.parametrize("kind", [maps.ARRAY, maps.HASH])
def test_a_frozen_map_takes_no_update_from_outside(kind):
    world = World()
    made = world.map(kind, 4, 8, 2, contents=((bytes(4), b"constant"),), frozen=True)
    assert made.update(bytes(4), b"variable") == -1
    assert made.items()[0] == (bytes(4), b"constant")


@pytest.mark.parametrize("kind", [*HASHES, *ARRAYS])
def test_a_value_that_is_short_changes_nothing_and_the_excess_is_left_out(kind):
    made = World().map(kind, 4, 12, 1)
    with pytest.raises(ValueError, match="bytes"):
        made.update(bytes(4), b"short")
    assert made.update(bytes(4), b"long enough.and more") == 0
    ((_, value),) = made.items()
    assert value.rstrip(b"\0") == b"long enough."


def test_what_lies_outside_of_memory_is_no_key():
    world = World()
    made = world.map(maps.HASH, 8, 8, 2)
    at = world.place(bytes(8))
    for address in (0, at + 1, at - 1, made.handle):
        with pytest.raises(AccessError):
            made.calls["map_lookup_elem"](address)
        with pytest.raises(AccessError):
            made.calls["map_update_elem"](address, at, 0)
        with pytest.raises(AccessError):
            made.calls["map_delete_elem"](address)


def test_a_replaced_element_of_an_array_of_maps_is_empty_and_the_old_contents_are_told():
    world = World()
    inner = MapSpec("inner", maps.PERCPU_HASH, 4, 8, 8)
    outer = world.map(maps.ARRAY_OF_MAPS, 4, 4, 2, inner=inner)
    handle = outer.lookup(u32(1))
    world.table.maps[handle].update(b"key.", b"value---")
    assert outer.replace(1) == [(b"key.", b"value---")]
    assert outer.elements[1].items() == []
    assert outer.calls["map_lookup_elem"](world.place(u32(1))) == outer.elements[1].handle != handle
    assert handle not in world.table.maps
    assert outer.lookup(u32(2)) == 0


def test_closing_the_table_leaves_no_region():
    world = World()
    inner = MapSpec("inner", maps.HASH, 4, 8, 8)
    made = [
        world.map(maps.ARRAY_OF_MAPS, 4, 4, 2, inner=inner),
        world.map(maps.HASH, 4, 8, 8),
        world.map(maps.ARRAY, 4, 8, 8),
        world.map(maps.RINGBUF, 0, 0, 4096),
        world.map(maps.TASK_STORAGE, 4, 8, 0, maps.F_NO_PREALLOC, typed=True),
    ]
    made[1].update(b"key.", b"value---")
    assert world.memory.regions
    world.table.close()
    assert not world.memory.regions
    assert not world.table.maps


def test_a_large_hash_costs_memory_only_for_what_it_holds():
    from resource import RUSAGE_SELF, getrusage

    world = World()
    before = getrusage(RUSAGE_SELF).ru_maxrss
    made = world.map(maps.HASH, 8, 1 << 10, 1 << 20)
    made.update(b"only one", bytes(1 << 10))
    assert getrusage(RUSAGE_SELF).ru_maxrss - before < 64 << 10


def test_task_storage_is_made_on_demand_and_gone_with_the_task():
    world = World()
    storage = world.map(maps.TASK_STORAGE, 4, 12, 0, maps.F_NO_PREALLOC, typed=True)
    initial = world.place(b"initial-----")
    task = 0x7700
    assert storage.get(task, 0, 0) == 0
    assert storage.get(0, 0, 1) == 0
    address = storage.get(task, initial, 1)
    assert world.memory.read(address, 12) == b"initial-----"
    assert storage.get(task, 0, 0) == address == storage.get(task, 0, 1)
    assert storage.get(task, 0, 2) == 0
    storage.forget(task)
    assert storage.get(task, 0, 0) == 0
    assert world.memory.read(storage.get(task, 0, 1), 12) == bytes(12)
    assert [storage.delete_of(task), storage.delete_of(task), storage.delete_of(0)] == [0, -ENOENT, -EINVAL]


def test_task_storage_has_room_for_any_number_of_tasks():
    world = World()
    storage = world.map(maps.TASK_STORAGE, 4, 8, 0, maps.F_NO_PREALLOC, typed=True)
    addresses = {storage.get(task, 0, 1) for task in range(1, 1001)}
    assert len(addresses) == 1000
    for task, address in enumerate(sorted(addresses)):
        world.memory.write(address, struct.pack("=Q", task))
    assert {world.memory.read(address, 8) for address in addresses} == {struct.pack("=Q", n) for n in range(1000)}


STACK_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.binary(min_size=4, max_size=4), FLAGS), st.just(("pop",)), st.just(("peek",))
    ),
    max_size=30,
)


@pytest.mark.share(1)
@pytest.mark.parametrize("kind", [maps.QUEUE, maps.STACK])
@given(steps=STACK_STEPS)
@settings(max_examples=100)
def test_queues_and_stacks_behave_like_lists(kind, steps):
    world = World()
    made = world.map(kind, 0, 4, 3)
    model, at = [], world.place(b"junk")
    for name, *others in steps:
        if name == "push":
            value, flags = others
            expected = 0 if flags in (0, 2) else -EINVAL
            if not expected and len(model) == 3:
                expected = -E2BIG if flags == 0 else model.pop(0) and 0
            if not expected:
                model.append(value)
            assert made.push(value, flags) == expected
            continue
        taken = -1 if kind == maps.STACK else 0
        expected = (0, model[taken]) if model else (-ENOENT, bytes(4))
        found = made.calls["map_pop_elem"](at) if name == "pop" else made.calls["map_peek_elem"](at)
        assert (found, world.memory.read(at, 4)) == expected
        if name == "pop" and model:
            del model[taken]
    in_order = model[::-1] if kind == maps.STACK else model
    assert [value for _, value in made.items()] == in_order


def test_a_stack_trace_map_keeps_each_stack_once():
    made = World().map(maps.STACK_TRACE, 4, 8 * 8, 2)
    number = made.add([1, 2, 3], 0)
    assert number == made.add([1, 2, 3], 0)
    assert made.items() == [(u32(number), struct.pack("=8Q", 1, 2, 3, *[0] * 5))]
    # Of many stacks some have the same bucket.
    found = [made.add([n], 0) for n in range(50)]
    assert -EEXIST in found
    assert -ENOMEM in [made.add([n], 1 << 10) for n in range(50)] or len(made.items()) == 2


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (MapSpec("m", maps.NAMES.index("arena"), 0, 0, 1), "no maps of kind arena"),
        (MapSpec("m", 1000, 4, 4, 1), "no maps of kind number 1000"),
        (MapSpec("m", maps.HASH, 4, 4, 0), "does not allow its shape"),
        (MapSpec("m", maps.PERCPU_HASH, 4, (32 << 10) + 1, 1), "larger than the kernel allows"),
        (
            MapSpec("m", maps.ARRAY, 4, 8, 1, contents=((u32(1), bytes(8)),)),
            "an element of its contents: argument list",
        ),
        (MapSpec("m", maps.ARRAY, 4, 1 << 20, 1 << 20), "not enough memory"),
    ],
)
def test_a_map_that_cannot_be_is_refused_in_one_sentence(spec, text):
    from sonde.runtime.maps.creation import create

    world = World()
    with pytest.raises(EngineError, match=text):
        create(spec, world.memory, world.table)
    assert not world.memory.regions


@pytest.mark.parametrize("by_cpu", ["any", "chip"])
def test_a_map_with_an_element_for_each_cpu_has_one(by_cpu):
    made = World().map(maps.ARRAY, 4, 8, 1, by_cpu=by_cpu)
    assert made.items() == [(u32(0), bytes(8))]
