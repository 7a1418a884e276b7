"""Programs made from PREVAIL's cases: instructions that bring about the state a case begins with, then its code."""

from __future__ import annotations

import re
from typing import NamedTuple

from prevail_cases import Case

from sonde.bpf import maps, programs
from sonde.bpf.assembler import AssemblyError, assemble
from sonde.bpf.instructions import encode
from sonde.model.spec import MapSpec, ProgramSpec


class InexpressibleError(Exception):
    """A case that no program can show; the text says why."""


class Translated(NamedTuple):
    program: ProgramSpec
    maps: tuple[MapSpec, ...]


_UNKNOWN = MapSpec("unknown", maps.ARRAY, 4, 8, 1)
_TABLE = MapSpec("table", maps.HASH, 4, 4, 4)
_PROGRAMS = MapSpec("programs", maps.PROG_ARRAY, 4, 4, 4)

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "s<": "s>=", "s>=": "s<", "s>": "s<=",
            "s<=": "s>"}  # fmt: skip
_ATOMICS = {"+=": "fetch_add", "|=": "fetch_or", "&=": "fetch_and", "^=": "fetch_xor"}


def translate(case: Case) -> Translated:
    """The program of a case. Raises InexpressibleError."""
    state = _State(case)
    body = [line for label, code in case.code for line in (f"{label}:", *map(_statement, code))]
    if not any(re.search(r"\br0\b", message) for message in case.messages):
        # What a function returns is of no matter to the case, but has to be a number.
        body = ["r0 = 0\nexit" if line == "exit" else line for line in body]
    text = "\n".join([*state.lines, *body])
    if "the_end" in text or not re.search(r"\b(exit|goto \w+)$", re.sub(r"if .*$", "", text.rsplit("\n", 1)[-1])):
        text += "\nthe_end:\nr0 = 0\nexit"
    try:
        code, references = assemble(text)
    except AssemblyError as error:
        raise InexpressibleError(f"not an instruction of eBPF: {error}") from None
    specs = {one.name: one for one in (_UNKNOWN, _TABLE, _PROGRAMS, *state.regions)}
    used = tuple(specs[name] for name in dict.fromkeys(name for _, name in references))
    kind = programs.XDP if state.has_packet else programs.RAW_TRACEPOINT
    return Translated(ProgramSpec("prevail", kind, 0, encode(code), references, ()), used)


def _statement(line: str) -> str:
    """One line of their pseudo C in the kernel's."""
    text = line.split(";")[0].strip()
    text = re.sub(r"<(\w+)>", r"\1", text)
    text = re.sub(r"\bgoto exit\b", "goto the_end", text) if text.startswith("assume") else text
    for pattern, build in _FORMS:
        match = re.fullmatch(pattern, text)
        if match:
            return build(match)
    return text


def _assumption(m: re.Match[str]) -> str:
    left, operation, right = m[1], m[2].replace("w", ""), m[3]
    if left[0] == "w" and right[0] == "r":
        right = "w" + right[1:]
    return f"if {left} {_NEGATED[operation]} {right} goto the_end"


def _atomic(m: re.Match[str]) -> str:
    kind = "64" if m[1] == "64" else ""
    name = {"x=": "xchg", "cx=": "cmpxchg"}.get(m[3]) or _ATOMICS[m[3]]
    if m[3] == "cx=":
        return f"r0 = atomic{kind}_cmpxchg((u{m[1]} *)({m[2]}), r0, r{m[4]})"
    return f"r{m[4]} = atomic{kind}_{name}((u{m[1]} *)({m[2]}), r{m[4]})"


_FORMS = (
    (r"assume ([rw]\d+) (\S+) (\S+)", _assumption),
    (r"lock \*\(u(\d+) \*\)\(([^)]*)\) (x=|cx=) r(\d+)", _atomic),
    (r"lock \*\(u(\d+) \*\)\(([^)]*)\) (\S=) r(\d+) fetch", _atomic),
    (r"r(\d+) = (-?\w+)ll", lambda m: f"r{m[1]} = {m[2]} ll"),
    (r"([rw])(\d+) s(8|16|32)= [rw](\d+)", lambda m: f"{m[1]}{m[2]} = (s{m[3]}){m[1]}{m[4]}"),
    (r"([rw]\d+) = - *([rw]\d+)", lambda m: f"{m[1]} = -{m[2]}"),
    (r"([rw])(\d+) ?(\S*=) ?[rw](\d+)", lambda m: f"{m[1]}{m[2]} {m[3]} {m[1]}{m[4]}"),
    (r"if ([rw])(\d+) (\S+) [rw](\d+) (goto \w+)", lambda m: f"if {m[1]}{m[2]} {m[3]} {m[1]}{m[4]} {m[5]}"),
    (r"r(\d+) = swap(\d+) r(\d+)", lambda m: f"r{m[1]} = bswap{m[2]} r{m[3]}"),
    (r"call (\d+)", lambda m: f"call helper#{m[1]}"),
    (r"callx r(\d+)", lambda m: f".insn 0x8d {m[1]} 0 0 0"),
    (r"if (\w+) &!= (\w+) (goto \w+)", lambda m: f"if {m[1]} & {m[2]} {m[3]}"),
    (r"if (\w+) &== (\w+) (goto \w+)", lambda m: f"if {m[1]} & {m[2]} goto pc+1\n{m[3]}"),
    (r"r0 = \*\(u(\d+) \*\)skb\[r(\d+)\]", lambda m: f"r0 = *(u{m[1]} *)skb[r{m[2]} +0]"),
)


class _State:
    """The instructions that make the state of `case.pre`, in `lines`."""

    def __init__(self, case: Case) -> None:
        self.lines: list[str] = []
        self.regions: list[MapSpec] = []
        self._case = case
        self._facts: dict[str, str] = {}
        self._relations: list[str] = []
        for constraint in case.pre:
            self._note(constraint)
        text = " ".join((*case.pre, *(line for _, code in case.code for line in code)))
        self._mentioned = {int(n) for n in re.findall(r"\b[rw](\d+)\b", text)}
        self.has_packet = "packet" in text or "skb[" in text
        self._top = 4096 if "r10.stack_offset=4096" in case.pre else 512
        self._make()

    def _note(self, constraint: str) -> None:
        if match := re.fullmatch(r"(r\d+|s\[[\d.]+\])\.([a-z_]+)(?:=| in )(.*)", constraint):
            self._facts[f"{match[1]}.{match[2]}"] = match[3]
        else:
            self._relations.append(constraint)

    def _make(self) -> None:
        registers = sorted({name.partition(".")[0] for name in self._facts if name.startswith("r")})
        free = [n for n in range(6, 10) if n not in self._mentioned]
        if not free:
            raise InexpressibleError("every register that a call keeps has a part in the case")
        self._context = free[0]
        self.lines.append(f"r{self._context} = r1")
        self._forget_arguments()
        if "packet_size" in " ".join(self._relations):
            self._packet(self._sizes())
        for place in [name for name in self._facts if name.startswith("s[")]:
            self._stack(place)
        for register in sorted(registers, key=lambda name: name in ("r0", "r1")):
            self._register(register)

    def _forget_arguments(self) -> None:
        """Nothing is in r0 to r5: a tail call that fails takes all of them."""
        self.lines += [f"r1 = r{self._context}", "r2 = map[programs]", "r3 = 0", "call bpf_tail_call"]

    def _sizes(self) -> tuple[int, int]:
        for relation in self._relations:
            if match := re.fullmatch(r"packet_size=(?:\[(\d+), (\d+)\]|(\d+))", relation):
                return (int(match[1]), int(match[2])) if match[1] else (int(match[3]), int(match[3]))
        return 0, 65534

    def _packet(self, sizes: tuple[int, int]) -> None:
        """The packet has at least as many bytes as the case says; how many at most cannot be told a verifier."""
        if not sizes[0]:
            return
        free = [n for n in range(6) if n not in self._mentioned]
        if len(free) < 2:
            raise InexpressibleError("no register is left to compare the packet's end with")
        self.lines += [
            f"r{free[0]} = *(u32 *)(r{self._context} +0)", f"r{free[1]} = *(u32 *)(r{self._context} +4)",
            f"r{free[0]} += {sizes[0]}", f"if r{free[0]} > r{free[1]} goto the_end",
        ]  # fmt: skip

    def _stack(self, place: str) -> None:
        name, _, what = place.rpartition(".")
        numbers = [int(n) for n in re.findall(r"\d+", name)]
        first, last = numbers[0], numbers[-1]
        kind = self._facts.get(f"{name}.type", "number")
        if kind != "number" or not re.fullmatch(r"-?\d+|number|\[.*\]", self._facts[place]):
            raise InexpressibleError("the stack holds something that is no number")
        if what == "type":
            for offset in range(first, last + 1):
                self.lines.append(f"*(u8 *)(r10 {offset - self._top:+d}) = 0")
            return
        size = last - first + 1
        value = self._facts[place]
        if what not in ("svalue", "uvalue") or size not in (1, 2, 4, 8) or not re.fullmatch(r"-?\d+", value):
            raise InexpressibleError("a number on the stack that is only known in part")
        if what == "uvalue" and f"{name}.svalue" in self._facts:
            return
        if self._exceeds(int(value)):
            raise InexpressibleError("a number on the stack that a store cannot hold as immediate")
        self.lines.append(f"*(u{8 * size} *)(r10 {first - self._top:+d}) = {value}")

    def _exceeds(self, value: int) -> bool:
        return not -(1 << 31) <= value < 1 << 31

    def _register(self, name: str) -> None:
        kind = self._facts.get(f"{name}.type")
        if kind is None or name == "r10":
            # A register whose type is not told may be uninitialised, the worst that it can be.
            return
        if kind.startswith("{"):
            self._either(name, [part.strip() for part in kind[1:-1].split(",")])
        else:
            self._typed(name, kind)

    def _either(self, name: str, kinds: list[str]) -> None:
        """One of several types, which an unknown number tells."""
        here = f"{name}_{len(self.lines)}"
        for number in range(len(kinds) - 1):
            self.lines += [*self._number_of_unknown(name), f"if {name} == {number} goto other_{number}_{here}"]
        self._typed(name, kinds[0])
        self.lines.append(f"goto done_{here}")
        for number, kind in enumerate(kinds[1:]):
            self.lines.append(f"other_{number}_{here}:")
            self._typed(name, kind)
            self.lines.append(f"goto done_{here}")
        self.lines.append(f"done_{here}:")

    def _typed(self, name: str, kind: str) -> None:
        makers = {
            "number": self._number, "stack": self._stack_pointer, "ctx": self._context_pointer,
            "packet": self._packet_pointer, "shared": self._shared, "map_fd": self._map, "map_fd_programs": self._map,
        }  # fmt: skip
        if kind not in makers:
            raise InexpressibleError(f"a register of type {kind}")
        makers[kind](name)

    def _number_of_unknown(self, name: str) -> list[str]:
        return [f"{name} = map[unknown][0]", f"{name} = *(u64 *)({name} +0)"]

    def _number(self, name: str) -> None:
        signed, unsigned = self._facts.get(f"{name}.svalue"), self._facts.get(f"{name}.uvalue")
        if (exact := signed or unsigned) and re.fullmatch(r"-?\d+", exact):
            self.lines.append(f"{name} = {int(exact) & (1 << 64) - 1} ll")
            return
        self.lines += self._number_of_unknown(name)
        for prefix, text in (("s", signed), ("", unsigned)):
            if text is None or (prefix == "" and text == f"{name}.svalue"):
                continue
            bounds = re.fullmatch(r"\[(\S+), (\S+)\]", text)
            if not bounds:
                raise InexpressibleError("a number that depends on another")
            for bound, operation in ((bounds[1], f"{prefix}<"), (bounds[2], f"{prefix}>")):
                self._bound(name, operation, bound)

    def _bound(self, name: str, operation: str, bound: str) -> None:
        if bound.endswith("oo") or bound in ("-9223372036854775808", "9223372036854775807", "18446744073709551615"):
            return
        if bound == "0" and operation == "<":
            return
        if not self._exceeds(int(bound)):
            self.lines.append(f"if {name} {operation} {bound} goto the_end")
            return
        other = next((n for n in range(9, -1, -1) if n not in self._mentioned and n != self._context), None)
        if other is None:
            raise InexpressibleError("no register is left for a bound of 64 bits")
        self.lines += [f"r{other} = {int(bound) & (1 << 64) - 1} ll", f"if {name} {operation} r{other} goto the_end"]

    def _offset(self, name: str, what: str, subtract: int = 0) -> None:
        text = self._facts.get(f"{name}.{what}", "0")
        if re.fullmatch(r"-?\d+", text):
            if int(text) != subtract:
                self.lines.append(f"{name} += {int(text) - subtract}")
            return
        bounds = re.fullmatch(r"\[(-?\d+), (-?\d+)\]", text)
        other = next((n for n in range(9, -1, -1) if n not in self._mentioned and n != self._context), None)
        if not bounds or other is None:
            raise InexpressibleError("an offset that depends on another value")
        self.lines += [
            *self._number_of_unknown(f"r{other}"), f"if r{other} s< {bounds[1]} goto the_end",
            f"if r{other} s> {bounds[2]} goto the_end", f"{name} += r{other}",
        ]  # fmt: skip
        if subtract:
            self.lines.append(f"{name} += {-subtract}")

    def _stack_pointer(self, name: str) -> None:
        self.lines.append(f"{name} = r10")
        self._offset(name, "stack_offset", self._top)

    def _context_pointer(self, name: str) -> None:
        self.lines.append(f"{name} = r{self._context}")
        self._offset(name, "ctx_offset")

    def _packet_pointer(self, name: str) -> None:
        if self._facts.get(f"{name}.packet_offset") == "packet_size" or any(
            relation == f"{name}.packet_offset=packet_size" for relation in self._relations
        ):
            self.lines.append(f"{name} = *(u32 *)(r{self._context} +4)")
            return
        self.lines.append(f"{name} = *(u32 *)(r{self._context} +0)")
        self._offset(name, "packet_offset")

    def _shared(self, name: str) -> None:
        size = self._facts.get(f"{name}.shared_region_size", "")
        if not size.isdigit():
            raise InexpressibleError("memory of unknown size")
        region = MapSpec(f"region{len(self.regions)}", maps.HASH, 4, int(size), 1)
        if self._facts.get(f"{name}.svalue", "[1,").startswith("[0"):
            self._maybe_null(name, region)
            return
        self.regions.append(region._replace(kind=maps.ARRAY))
        self.lines.append(f"{name} = map[{region.name}][0]")
        self._offset(name, "shared_offset")

    def _maybe_null(self, name: str, region: MapSpec) -> None:
        """What a lookup returns, by way of the stack, since the call takes what is in the first registers."""
        self.regions.append(region)
        if any(f" {r} = " in f" {line}" for line in self.lines for r in ("r2", "r3", "r4", "r5") if r in self._facts):
            raise InexpressibleError("a call is needed after registers were set")
        saved = [line for line in self.lines if re.match(r"r[0-5] = ", line)]
        self.lines += [
            "*(u32 *)(r10 -512) = 0", "r2 = r10", "r2 += -512", f"r1 = map[{region.name}]",
            "call bpf_map_lookup_elem", "*(u64 *)(r10 -504) = r0",
        ]  # fmt: skip
        self._forget_arguments()
        made = [line for line in saved if not line.startswith(("r1 = r", "r2 = map[programs]", "r3 = 0"))]
        self.lines += [*made, f"{name} = *(u64 *)(r10 -504)"]

    def _map(self, name: str) -> None:
        is_programs = self._facts[f"{name}.type"] == "map_fd_programs"
        self.lines.append(f"{name} = map[{'programs' if is_programs else 'table'}]")
