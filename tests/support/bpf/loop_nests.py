"""Random programs of loops in loops: plain ones, which count in many ways, those of bpf_loop, and functions."""

from sonde.bpf import instructions as i

LOOP, RANDOM = 181, 7
_COUNTERS = (i.R6, i.R7, i.R8)
"""Of plain loops in one another; deeper ones count on the stack."""
_MOST_DEPTH = 3


class LoopNests:
    """One program: its `code`. Calls of helpers are of bpf_loop and get_prandom_u32 only. `turns` is how many the loops
    of a program have at most."""

    def __init__(self, random, turns=9, tricks=True):
        self._random, self._turns, self._tricks = random, turns, tricks
        self._functions = []
        self._calls = []
        self._pending = []
        main = self._function(0, takes_number=False)
        order = [main, *range(main)]
        begins, code = {}, []
        for number in order:
            begins[number] = len(code)
            code += self._functions[number]
        for caller, at, called in self._calls:
            place = begins[caller] + at
            code[place] = code[place]._replace(imm=begins[called] - place - 1)
        self.code = code

    def _function(self, depth, takes_number):
        """Make a function; its number. r9 is the argument, a number below `turns` or nothing that is known."""
        begin = [i.mov_reg(9, 1) if takes_number else i.mov_imm(9, 3)]
        self._pending.append([])
        body = self._statements(depth, 0, len(begin))
        self._functions.append([*begin, *body, i.mov_imm(0, 0), i.exit_()])
        number = len(self._functions) - 1
        self._calls += [(number, at, called) for at, called in self._pending.pop()]
        return number

    def _statements(self, depth, level, at):
        """Statements, the first of which is instruction `at` of its function."""
        code = []
        for _ in range(self._random.randrange(1, 3)):
            code += self._statement(depth, level, at + len(code))
        return code

    def _statement(self, depth, level, at):
        kinds = [self._plain] * 3 + [self._branch] + ([self._back, self._call] if depth < _MOST_DEPTH else [])
        if level > 2:
            kinds = [self._branch]
        kinds += [self._stored] if self._tricks and level else []
        return self._random.choice([*kinds, self._simple])(depth, level, at)

    def _simple(self, depth, level, at):
        return [i.mov_imm(1, 5), i.alu64_imm(i.ADD, 1, 7), i.store_reg(8, 10, -128, 1)][: self._random.randrange(1, 4)]

    def _branch(self, depth, level, at):
        code = self._statements(depth, level + 1, at + 2) if level < 2 else self._simple(depth, level, at + 2)
        return [i.call(RANDOM), i.jump_imm(i.JSET, 0, 1, len(code)), *code]

    def _number(self, register):
        """A number of turns in a register: a constant, what somebody gave, or one with a bound."""
        most = self._random.randrange(self._turns)
        return self._random.choice([
            [i.mov_imm(register, most)],
            [i.call(RANDOM), i.alu64_imm(i.AND, 0, 3), i.mov_reg(register, 0)],
            [i.call(RANDOM), i.jump_imm(i.JLT, 0, most + 1, 1), i.mov_imm(0, most), i.mov_reg(register, 0)],
            [i.call(RANDOM), i.alu64_imm(i.MOD, 0, most + 1), i.mov32_reg(register, 0)],
        ])  # fmt: skip

    def _plain(self, depth, level, at):
        """A loop by jumping back."""
        counter, place = _COUNTERS[min(level, 2)], -8 * (level + 1)
        count, step = self._random.randrange(1, self._turns + 1), self._random.randrange(1, 3)
        ways = {
            "less": ([i.mov_imm(counter, 0)], [i.alu64_imm(i.ADD, counter, step)], i.JLT, count),
            "not": ([i.mov_imm(counter, 0)], [i.alu64_imm(i.ADD, counter, 1)], i.JNE, count),
            "down": ([i.mov_imm(counter, count)], [i.alu64_imm(i.ADD, counter, -1)], i.JNE, 0),
            "signed": ([i.mov_imm(counter, count)], [i.alu64_imm(i.SUB, counter, 1)], i.JSGT, 0),
            "halves": (
                [i.mov_imm(counter, 0)],
                [i.alu64_imm(i.ADD, counter, step), i.mov_reg(1, counter), i.alu64_imm(i.LSH, 1, 32),
                 i.alu64_imm(i.RSH, 1, 32)],
                i.JLT, count,
            ),
            "doubled": ([i.mov_imm(counter, 1)], [i.alu64_imm(i.LSH, counter, 1)], i.JLE, count),
            "stack": (
                [i.store_imm(8, 10, place, 0)],
                [i.load(8, 1, 10, place), i.alu64_imm(i.ADD, 1, step), i.store_reg(8, 10, place, 1)], i.JLT, count,
            ),
        }  # fmt: skip
        way = self._random.choice(sorted(ways)) if level < 3 else "stack"
        first, update, test, bound = ways[way]
        body = self._statements(depth, level + 1, at + len(first))
        tested = 1 if way in ("halves", "stack") else counter
        return [*first, *body, *update, i.jump_imm(test, tested, bound, -(len(body) + len(update) + 1))]

    def _stored(self, depth, level, at):
        """A counter on the stack of a loop around is changed, by whatever way."""
        place = -8 * self._random.randrange(1, level + 1)
        value = self._random.randrange(2)
        return self._random.choice([
            [i.store_imm(8, 10, place, value)],
            [i.store_imm(4, 10, place, value)],
            [i.mov_reg(2, 10), i.alu64_imm(i.ADD, 2, place), i.store_reg(8, 10, -136, 2), i.load(8, 3, 10, -136),
             i.store_imm(8, 3, 0, value)],
            [i.call(RANDOM), i.alu64_imm(i.AND, 0, 8), i.mov_reg(2, 10), i.alu64_imm(i.ADD, 2, place - 8),
             i.alu64_reg(i.ADD, 2, 0), i.store_imm(8, 2, 0, value)],
        ])  # fmt: skip

    def _back(self, depth, level, at):
        """A loop by bpf_loop, whose context is the stack."""
        called = self._function(depth + 1, takes_number=True)
        count = self._number(1)
        self._pending[-1].append((at + len(count), called))
        return [
            *count, *i.ld_function(2, 0), i.mov_reg(3, 10), i.alu64_imm(i.ADD, 3, -8), i.mov_imm(4, 0), i.call(LOOP),
        ]  # fmt: skip

    def _call(self, depth, level, at):
        called = self._function(depth + 1, takes_number=True)
        count = self._number(1)
        self._pending[-1].append((at + len(count), called))
        return [*count, i.call_local(0)]
