"""The page of the compiler's messages, docs/messages.md, made from the table of cases: condition, example and text."""

from __future__ import annotations

import textwrap

from support.d.error_tags import CASES, ELSEWHERE, NEVER, Case

CONDITIONS = {
    "D_ACT_SPEC": "a destructive action stands behind speculate()",
    "D_ADDROF_BITFIELD": "`&` of a bit-field",
    "D_ADDROF_LVAL": "`&` of what is not in memory",
    "D_ADDROF_VAR": "`&` of a variable of D, an aggregation or translated data",
    "D_AGG_COMM": "an aggregation is fed behind commit()",
    "D_AGG_FUNC": "an aggregation is assigned anything but the call of an aggregating function",
    "D_AGG_MDIM": "an aggregation has keys twice",
    "D_AGG_NULL": "a statement names an aggregation and does nothing with it",
    "D_AGG_REDEF": "an aggregation is fed by two functions",
    "D_AGG_SCALAR": "an aggregating function is given what is no number and no pointer",
    "D_AGG_SPEC": "an aggregation is fed behind speculate()",
    "D_ALLOCA_INCOMPAT": "a variable holds scratch memory and other pointers",
    "D_ALLOCA_SIZE": "a constant given to alloca() is more than `scratchsize`",
    "D_ARGS_IDX": "the probe has fewer arguments",
    "D_ARGS_MULTI": "`args[]` where the probes of a description have different arguments",
    "D_ARGS_NONE": "`args[]` outside of clauses",
    "D_ARGS_XLATOR": "an argument has a type that only a missing translator could give",
    "D_ARR_BADREF": "several keys for what is no associative array",
    "D_ARR_BOUNDS": "a constant index is outside of the array",
    "D_ARR_LOCAL": "a `this->` variable has keys",
    "D_ATTR_MIN": "something is less stable than the option `amin` wants",
    "D_CAST_INVAL": "a cast between types that have nothing in common",
    "D_CG_DYN": "an expression is translated data as a whole",
    "D_CG_EXPR": "an action is used as a value",
    "D_CHR_NL": "a character constant goes over the end of its line",
    "D_CHR_NULL": "a character constant is empty",
    "D_CHR_OFLOW": "a character constant has more than eight characters",
    "D_CLEAR_AGGARG": "clear() is given no aggregation",
    "D_CLEAR_AGGBAD": "clear() is given an aggregation that nothing feeds",
    "D_COMM_DREC": "commit() behind an action that records data",
    "D_DECL_ARRBIG": "an array is too large",
    "D_DECL_ARRNULL": "an array has neither a size nor keys",
    "D_DECL_ARRSUB": "the size of an array is no positive constant",
    "D_DECL_BADCLASS": "`auto`, `register` or `static`",
    "D_DECL_BFCONST": "the width of a bit-field is no positive constant",
    "D_DECL_BFSIZE": "a bit-field is wider than its type",
    "D_DECL_BFTYPE": "a bit-field of what is no integer",
    "D_DECL_CHARATTR": "`short` or `long` with `char`",
    "D_DECL_CLASS": "two storage classes",
    "D_DECL_COMBO": "words of types that do not go together",
    "D_DECL_DYNOBJ": "an array of associative arrays",
    "D_DECL_ENCONST": "an enumerator's value is no constant",
    "D_DECL_ENOFLOW": "an enumerator follows the largest `int`",
    "D_DECL_IDRED": "a name is declared again as something else",
    "D_DECL_INCOMPLETE": "an object of a structure that is not defined",
    "D_DECL_LOCASSC": "an associative array is declared with `this`",
    "D_DECL_LONGINT": "`long` with what is no number",
    "D_DECL_MNAME": "a member has no name",
    "D_DECL_PARMCLASS": "a parameter has a storage class",
    "D_DECL_PROTO_FORM": "two parameters have one name",
    "D_DECL_PROTO_NAME": "a parameter of type `void` has a name",
    "D_DECL_PROTO_TYPE": "a key has the type `void`, or a key or a parameter is an associative array",
    "D_DECL_PROTO_VARARGS": "keys end with `...`",
    "D_DECL_PROTO_VOID": "`void` is one of several parameters",
    "D_DECL_SCOPE": "a name that is declared has a backquote",
    "D_DECL_SIGNINT": "`signed` or `unsigned` with what is no integer",
    "D_DECL_TYPERED": "a structure, union or enumeration is defined again",
    "D_DECL_USELESS": "a declaration declares nothing",
    "D_DECL_VOIDATTR": "words for numbers with `void`",
    "D_DECL_VOIDOBJ": "an object of type `void`",
    "D_DEREF_FUNC": "`*` of a pointer to a function",
    "D_DEREF_NONPTR": "`*` or an index of what is no pointer",
    "D_DEREF_VOID": "`*` of a pointer to `void`",
    "D_DIV_ZERO": "a constant zero divides",
    "D_DREC_COMM": "an action that records data stands behind commit()",
    "D_EMPTY": "a program has nothing but declarations and pragmas",
    "D_EXIT_SPEC": "exit() behind speculate()",
    "D_FREOPEN_INVALID": "freopen() of the name that DTrace keeps for itself",
    "D_FUNC_IDENT": "what stands before the parentheses of a call is no name",
    "D_FUNC_IDKIND": "a variable is called",
    "D_FUNC_UNDEF": "there is no such function",
    "D_IDENT_BADREF": "a name is used as another kind of thing than it is",
    "D_IDENT_UNDEF": "there is no variable, aggregation or symbol of that name",
    "D_INT_DIGIT": "an octal constant has an 8 or a 9",
    "D_INT_OFLOW": "a constant needs more than 64 bits",
    "D_KEY_TYPE": "a key is an aggregation, translated data or nothing",
    "D_LLQUANT_FACTORTYPE": "the factor of llquantize() is no constant",
    "D_LLQUANT_FACTORVAL": "the factor of llquantize() is below 2 or above 65,535",
    "D_LLQUANT_HMAGTYPE": "the high magnitude of llquantize() is no constant",
    "D_LLQUANT_HMAGVAL": "the high magnitude of llquantize() is below the low one, or too high",
    "D_LLQUANT_LMAGTYPE": "the low magnitude of llquantize() is no constant",
    "D_LLQUANT_LMAGVAL": "the low magnitude of llquantize() is not of 16 bits",
    "D_LLQUANT_MATCHFACTOR": "an aggregation has two factors of llquantize()",
    "D_LLQUANT_MATCHHMAG": "an aggregation has two high magnitudes of llquantize()",
    "D_LLQUANT_MATCHLMAG": "an aggregation has two low magnitudes of llquantize()",
    "D_LLQUANT_MATCHSTEPS": "an aggregation has two numbers of steps of llquantize()",
    "D_LLQUANT_STEPTYPE": "the steps of llquantize() are no positive constant",
    "D_LLQUANT_STEPVAL": "the steps of llquantize() do not divide the magnitudes evenly",
    "D_LQUANT_BASETYPE": "the base of lquantize() is no constant",
    "D_LQUANT_BASEVAL": "the base of lquantize() is not of 32 bits",
    "D_LQUANT_LIMTYPE": "the limit of lquantize() is no constant",
    "D_LQUANT_LIMVAL": "the limit of lquantize() is not of 32 bits",
    "D_LQUANT_MATCHBASE": "an aggregation has two bases of lquantize()",
    "D_LQUANT_MATCHLIM": "an aggregation has two limits of lquantize()",
    "D_LQUANT_MATCHSTEP": "an aggregation has two steps of lquantize()",
    "D_LQUANT_MISMATCH": "the limit of lquantize() is not above the base",
    "D_LQUANT_STEPLARGE": "the step of lquantize() is larger than the range",
    "D_LQUANT_STEPSMALL": "the step of lquantize() makes too many levels",
    "D_LQUANT_STEPTYPE": "the step of lquantize() is no positive constant",
    "D_LQUANT_STEPVAL": "the step of lquantize() is not of 16 bits",
    "D_MACRO_OFLOW": "an argument of the command line needs more than 64 bits",
    "D_MACRO_UNDEF": "a macro variable that is not there",
    "D_MACRO_UNUSED": "the program does not use the last argument of the command line",
    "D_NORMALIZE_AGGARG": "normalize() or denormalize() is given no aggregation",
    "D_NORMALIZE_AGGBAD": "normalize() or denormalize() is given an aggregation that nothing feeds",
    "D_OFFSETOF_BITFIELD": "offsetof() of a bit-field",
    "D_OFFSETOF_TYPE": "offsetof() of what is no structure",
    "D_OP_ACT": "an action is an operand of `?:` or a comma",
    "D_OP_ARITH": "an arithmetic operator has an operand that is no number",
    "D_OP_ARRFUN": "an array or a function is assigned to",
    "D_OP_DYN": "an aggregation or translated data is an operand of `?:` or a comma",
    "D_OP_INCOMPAT": "the operands have types that do not go together",
    "D_OP_INCOMPLETE": "a member of a structure that is not defined",
    "D_OP_INT": "an operator for integers has another operand",
    "D_OP_LVAL": "what is assigned to is no variable and not in memory",
    "D_OP_PTR": "`->` behind what is no pointer",
    "D_OP_SCALAR": "a logical operator or a test has an operand that is neither true nor false",
    "D_OP_SOU": "`.` or `->` where there is no structure",
    "D_OP_VFPTR": "a step of what has no size",
    "D_OP_WRITE": "what is assigned to is not the program's",
    "D_PDESC_INVAL": "a description of probes is none",
    "D_PDESC_ZERO": "a description matches no probe, and there is no -Z",
    "D_PRAGCTL_INVAL": "a line that begins with `#` is none that D knows",
    "D_PRAGERR": "a `#error`",
    "D_PRAGMA_DEPEND": "what `depends_on` names is not there",
    "D_PRAGMA_INVAL": "a pragma of D that is not known, or has a wrong value",
    "D_PRAGMA_MALFORM": "a pragma has too few or too many words",
    "D_PRAGMA_OPTSET": "an option is not known, or its value is wrong",
    "D_PRAGMA_SCOPE": "a pragma about a name that is not the program's",
    "D_PRAGMA_UNUSED": "a pragma about a name that is not declared",
    "D_PRED_SCALAR": "a predicate is neither a number nor a pointer",
    "D_PRINTA_AGGARG": "printa() is given something else than an aggregation",
    "D_PRINTA_AGGBAD": "printa() is given an aggregation that nothing feeds",
    "D_PRINTA_AGGKEY": "printa() is given aggregations with different numbers of keys",
    "D_PRINTA_AGGPROTO": "printa() is given aggregations with keys of different types",
    "D_PRINTA_PROTO": "printa() has a format and no aggregation",
    "D_PRINTF_AGG_CONV": "`%@` in a format that is not of printa()",
    "D_PRINTF_ARG_EXTRA": "a format wants fewer arguments",
    "D_PRINTF_ARG_FMT": "a format is no string constant",
    "D_PRINTF_ARG_PROTO": "a conversion lacks its argument",
    "D_PRINTF_ARG_TYPE": "an argument has a type that its conversion does not show",
    "D_PRINTF_DYN_PROTO": "a `*` in a format lacks its argument",
    "D_PRINTF_DYN_TYPE": "the argument for a `*` in a format is no integer",
    "D_PRINTF_FMT_EMPTY": "a format is empty",
    "D_PRINT_SIZE": "print() of a pointer to what has no size",
    "D_PROTO_ARG": "an argument or a key has a wrong type",
    "D_PROTO_LEN": "a wrong number of arguments or keys",
    "D_PROV_BADNAME": "the name of a provider ends with a digit",
    "D_PROV_INCOMPAT": "a provider is defined again with other probes",
    "D_PROV_PRARGLEN": "a probe has more than 255 parameters",
    "D_PROV_PRDUP": "a provider has a probe twice",
    "D_PROV_PRXLATOR": "a probe's arguments need a translator that is not there",
    "D_REGS_IDX": "the index of `uregs[]` is negative",
    "D_SIZEOF_BITFIELD": "sizeof of a bit-field",
    "D_SIZEOF_TYPE": "sizeof of what has no size",
    "D_SPEC_COMM": "speculate() behind commit()",
    "D_SPEC_DREC": "speculate() behind an action that records data",
    "D_SPEC_SPEC": "speculate() behind speculate()",
    "D_STACK_SIZE": "the frames of stack() are no positive constant",
    "D_STRINGOF_TYPE": "stringof() of what is no text and no address",
    "D_STR_NL": "a string goes over the end of its line",
    "D_SYM_NOTYPES": "the type of a kernel symbol is not known",
    "D_SYNTAX": "the program is not D",
    "D_TRACEMEM_ADDR": "tracemem() is given no address",
    "D_TRACEMEM_SIZE": "the size for tracemem() is no positive constant",
    "D_TRACE_DYN": "trace() of an aggregation or of translated data",
    "D_TRACE_VOID": "trace() of nothing",
    "D_TRUNC_AGGARG": "trunc() is given no aggregation",
    "D_TRUNC_AGGBAD": "trunc() is given an aggregation that nothing feeds",
    "D_TYPE_MEMBER": "a structure has no such member",
    "D_UNKNOWN": "what has no tag of its own",
    "D_USTACK_FRAMES": "the frames of ustack() are no positive constant",
    "D_USTACK_STRSIZE": "the second argument of ustack() is no constant",
    "D_VAR_UNDEF": "a variable is read, or changed, before it has a value",
    "D_XLATE_INCOMPAT": "a translator gives a member a value of a wrong type",
    "D_XLATE_MEMB": "a translator gives a value to a member that is not there",
    "D_XLATE_NOCONV": "a translator gives the member that is used no value",
    "D_XLATE_NONE": "there is no translator between the two types",
    "D_XLATE_REDECL": "a translator is declared again",
    "D_XLATE_SOU": "a translator to what is no structure",
}  # fmt: skip
"""What each tag is told for."""

_HEAD = """\
# Messages of the compiler

What is wrong with a program has one of the tags that DTrace has for it. `-xerrtags`
shows them, in brackets before the message. The text, the line and which of several
mistakes is told first are DTrace's too; people get the place and a remedy below
that. Each tag is listed here with the condition it is told for, a program that has
this mistake and nothing else, and what is said about it, behind the line. The
examples are run by `tests/unit/test_error_tags.py`, and this page is made from them
by `tools/messages.py`. They are checked against a few types and probes of their own:
`uid_t`, `syscall::read:entry` and so on mean the same elsewhere.

A program is read to its end before its clauses are looked into, so that mistakes in
the syntax, in declarations and in pragmas come first. In a clause names and types
come before what is wrong with actions and formats.
"""

_LONGEST = 400
"""Characters of a program that are shown."""


_WIDTH = 80


def _wrapped(line: str, indent: str) -> str:
    """A line of an example, or several: what is in brackets or behind a hyphen stays whole."""
    return textwrap.fill(
        line, _WIDTH, initial_indent="    ", subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
        drop_whitespace=True, replace_whitespace=False,
    )  # fmt: skip


def _example(case: Case) -> str:
    program = case.program if len(case.program) <= _LONGEST else case.program[:60] + " ..."
    lines = [_wrapped(line, "        ") for line in program.rstrip().split("\n")]
    told = [_wrapped(line, "        ") for line in f"{case.line}: {case.text}".expandtabs(4).split("\n")]
    return "\n".join([*lines, "", *told])


def page() -> str:
    """The text of docs/messages.md."""
    cases = sorted(CASES, key=lambda each: each.tag)
    parts = [_HEAD, *(f"{_condition(case.tag)}\n\n{_example(case)}\n" for case in cases)]
    processes = "Descriptions that name a process, as `pid1234:libc.so.6:malloc:entry` does, have"
    listed = textwrap.fill(", ".join(sorted(ELSEWHERE)), _WIDTH)
    parts.append(f"## Processes\n\n{processes}\n{listed}:\n`tests/unit/test_pid_descriptions.py`.\n")
    never = (
        textwrap.fill(f"- `{tag}`: {why}.", _WIDTH, subsequent_indent="  ") + "\n" for tag, why in sorted(NEVER.items())
    )
    parts.append("## Tags that are never told\n\n" + "".join(never))
    return "\n".join(parts)


def _condition(tag: str) -> str:
    return textwrap.fill(f"**{tag}**: {CONDITIONS[tag]}.", _WIDTH, break_on_hyphens=False)
