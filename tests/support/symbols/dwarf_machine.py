"""What trees of values come to, and DWARF's stack machine run step by step on numbers: the model for the trees."""

from sonde.model import location as values

MASK = (1 << 64) - 1


def signed(number, size=8):
    number &= (1 << 8 * size) - 1
    return number - (1 << 8 * size) if number >> 8 * size - 1 else number


def concrete(value, registers, load, entry=None, bias=0):
    """A tree's number; `load(address, size)` reads memory."""
    match value:
        case values.Constant(number):
            return number & MASK
        case values.Address(number):
            return number + bias & MASK
        case values.Register(number):
            return registers[number] & MASK
        case values.EntryRegister(number):
            return entry[number] & MASK
        case values.Chosen(key, cases):
            known = concrete(key, registers, load, entry, bias)
            return next(
                concrete(each, registers, load, entry, bias)
                for number, each in cases
                if concrete(number, registers, load, entry, bias) == known
            )
        case values.Load(address, size):
            return load(concrete(address, registers, load, entry, bias), size)
        case values.Extend(inner, size, is_signed):
            number = concrete(inner, registers, load, entry, bias)
            return (signed(number, size) if is_signed else number & (1 << 8 * size) - 1) & MASK
        case values.Unary(operation, inner):
            number = signed(concrete(inner, registers, load, entry, bias))
            return {"neg": -number, "not": ~number, "abs": abs(number)}[operation] & MASK
        case values.Binary(operation, left, right):
            one, two = (concrete(each, registers, load, entry, bias) for each in (left, right))
            return OPERATIONS[operation](one, two) & MASK
    raise AssertionError(value)


def quotient(left, right):
    result = abs(left) // abs(right) if right else 0
    return -result if (left < 0) != (right < 0) else result


def on_signed(function):
    return lambda left, right: int(function(signed(left), signed(right)))


OPERATIONS = {
    "plus": lambda a, b: a + b, "minus": lambda a, b: a - b, "mul": lambda a, b: a * b, "and": lambda a, b: a & b,
    "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "shl": lambda a, b: a << b if b < 64 else 0,
    "shr": lambda a, b: a >> b if b < 64 else 0, "shra": lambda a, b: signed(a) >> min(b, 64),
    "div": on_signed(quotient), "mod": on_signed(lambda a, b: a - quotient(a, b) * b if b else 0),
    "udiv": lambda a, b: a // b if b else 0, "umod": lambda a, b: a % b if b else 0,
    "eq": on_signed(lambda a, b: a == b), "ne": on_signed(lambda a, b: a != b), "lt": on_signed(lambda a, b: a < b),
    "le": on_signed(lambda a, b: a <= b), "gt": on_signed(lambda a, b: a > b), "ge": on_signed(lambda a, b: a >= b),
    "ult": lambda a, b: int(a < b), "ule": lambda a, b: int(a <= b), "ugt": lambda a, b: int(a > b),
    "uge": lambda a, b: int(a >= b),
}  # fmt: skip


def run_operations(operations, registers, load, frame_base, cfa):
    """The stack after operations, each a tuple of a name and operands."""
    stack = []
    for name, *operands in operations:
        match name:
            case "lit" | "const":
                stack.append(operands[0])
            case "breg":
                stack.append(registers[operands[0]] + operands[1])
            case "fbreg":
                stack.append(frame_base + operands[0])
            case "cfa":
                stack.append(cfa)
            case "plus_uconst":
                stack.append(stack.pop() + operands[0])
            case "deref":
                stack.append(load(stack.pop(), operands[0]))
            case "dup":
                stack.append(stack[-1])
            case "drop":
                stack.pop()
            case "pick":
                stack.append(stack[len(stack) - 1 - operands[0]])
            case "swap":
                stack[-2:] = [stack[-1], stack[-2]]
            case "rot":
                stack[-3:] = [stack[-1], stack[-3], stack[-2]]
            case "neg":
                stack.append(-stack.pop())
            case "not":
                stack.append(~stack.pop())
            case "abs":
                stack.append(abs(signed(stack.pop())))
            case _:
                right = stack.pop()
                stack.append(OPERATIONS[name](stack.pop(), right))
        stack[-1:] = [each & MASK for each in stack[-1:]]
    return stack
