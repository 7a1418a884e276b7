"""Shown text against expected lines: whether they match, and if not in what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sonde.library.testing.placeholders import Line
from sonde.typed import NamedTuple
from sonde.visible import visible

_MOST_CELLS = 200_000
"""Of an alignment's table; behind that lines are not aligned."""

_MOST_SHOWN = 60
_CONTEXT = 2

KEPT, LACKING, ADDED = " ", "-", "+"


class Step(NamedTuple):
    """One line of an alignment: KEPT has both, LACKING only what was expected, ADDED only what was shown; a gap that
    stands for nothing is KEPT without a text."""

    sign: str
    expected: Line | None
    text: str | None


def matches(expected: Sequence[Line], shown: Sequence[str]) -> bool:
    """Whether all lines are as expected. A gap ends at the first line that the next expected one fits."""
    bound: dict[str, str] = {}
    place = at = 0
    retry: tuple[int, int, dict[str, str]] | None = None
    while True:
        if place < len(expected) and expected[place].is_gap:
            place += 1
            retry = (place, at, dict(bound))
            continue
        if at == len(shown) and place == len(expected):
            return True
        found = expected[place].match(shown[at], bound) if at < len(shown) and place < len(expected) else None
        if found is not None:
            bound.update(found)
            place, at = place + 1, at + 1
        elif retry is not None and retry[1] < len(shown):
            # The gap takes one line more.
            place, at, bound = retry[0], retry[1] + 1, dict(retry[2])
            retry = (place, at, dict(bound))
        else:
            return False


def contains(part: Sequence[Line], shown: Sequence[str]) -> bool:
    """Whether a line has the part; of several lines: whether they stand behind each other, each with its own."""
    return any(
        all(line.is_gap or line.search(text) for line, text in zip(part, shown[at:], strict=False))
        for at in range(len(shown) - len(part) + 1)
    )


def alignment(expected: Sequence[Line], shown: Sequence[str]) -> list[Step]:
    """With as few lines as possible that one side alone has."""
    before = _common(zip(expected, shown, strict=False))
    after = min(
        _common(zip(reversed(expected), reversed(shown), strict=False)),
        len(expected) - before, len(shown) - before,
    )  # fmt: skip
    middle = expected[before : len(expected) - after], shown[before : len(shown) - after]
    return [
        *_kept(expected[:before], shown[:before]),
        *_aligned(*middle),
        *_kept(expected[len(expected) - after :], shown[len(shown) - after :]),
    ]


def _common(pairs: Iterator[tuple[Line, str]]) -> int:
    count = 0
    for line, text in pairs:
        if line.is_gap or line.match(text, {}) is None:
            break
        count += 1
    return count


def _kept(expected: Sequence[Line], shown: Sequence[str]) -> Iterator[Step]:
    return (Step(KEPT, line, text) for line, text in zip(expected, shown, strict=True))


def _aligned(expected: Sequence[Line], shown: Sequence[str]) -> Iterator[Step]:
    if (len(expected) + 1) * (len(shown) + 1) > _MOST_CELLS:
        yield from (Step(LACKING, line, None) for line in expected)
        yield from (Step(ADDED, None, text) for text in shown)
        return
    fits = [[line.is_gap or line.match(text, {}) is not None for text in shown] for line in expected]
    costs = _costs(expected, fits, len(shown))
    i = j = 0
    while i < len(expected) or j < len(shown):
        cost = costs[i][j]
        if i < len(expected) and expected[i].is_gap and costs[i + 1][j] == cost:
            yield Step(KEPT, expected[i], None)
            i += 1
        elif i < len(expected) and j < len(shown) and expected[i].is_gap and costs[i][j + 1] == cost:
            yield Step(KEPT, None, shown[j])
            j += 1
        elif i < len(expected) and j < len(shown) and fits[i][j] and costs[i + 1][j + 1] == cost:
            yield Step(KEPT, expected[i], shown[j])
            i, j = i + 1, j + 1
        elif i < len(expected) and costs[i + 1][j] + 1 == cost:
            yield Step(LACKING, expected[i], None)
            i += 1
        else:
            yield Step(ADDED, None, shown[j])
            j += 1


def _costs(expected: Sequence[Line], fits: Sequence[Sequence[bool]], shown: int) -> list[list[int]]:
    """How many lines one side alone has, from each place on."""
    costs = [[0] * (shown + 1) for _ in range(len(expected) + 1)]
    costs[-1] = [shown - at for at in range(shown + 1)]
    for i in range(len(expected) - 1, -1, -1):
        is_gap, row, below = expected[i].is_gap, costs[i], costs[i + 1]
        row[shown] = below[shown] + (not is_gap)
        for j in range(shown - 1, -1, -1):
            if is_gap:
                row[j] = min(below[j], row[j + 1])
            elif fits[i][j]:
                row[j] = below[j + 1]
            else:
                row[j] = 1 + min(below[j], row[j + 1])
    return costs


def difference(expected: Sequence[Line], shown: Sequence[str], behind: int = 0) -> list[str]:
    """For people: lines behind `-`, which were expected, and behind `+`, which were shown, with some around them. As
    many more as there are `behind` those shown were not looked at."""
    steps = [each for each in alignment(expected, shown) if each.text is not None or each.sign != KEPT]
    changed = [place for place, each in enumerate(steps) if each.sign != KEPT]
    if not changed:
        return [
            "  each line fits, but a placeholder's name stands for two things",
            *(f"  {visible(each)}" for each in shown),
        ]
    near = {place + each for place in changed for each in range(-_CONTEXT, _CONTEXT + 1)}
    lines: list[str] = []
    last = -1
    for place in sorted(near & set(range(len(steps)))):
        lines += ["  ..."] if place != last + 1 else []
        last = place
        each = steps[place]
        text = each.text if each.text is not None else each.expected.source if each.expected else ""
        lines.append(f"{each.sign} {visible(text)}".rstrip())
    if last + 1 < len(steps):
        lines.append("  ...")
    rest = max(len(lines) - _MOST_SHOWN, 0) + behind
    return [*lines[:_MOST_SHOWN], f"  and {rest} lines more"] if rest else lines
