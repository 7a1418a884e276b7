"""Random D programs for the front end: made by the grammar, real ones damaged, and token soup."""

from hypothesis import strategies as st

from support.places import ROOT

REAL = tuple(
    path.read_text()
    for directory in ("examples", "src/sonde/frontends/d/library")
    for path in sorted((ROOT / directory).glob("*.d"))
)

NAMES = ("a", "b", "x", "pid", "execname", "arg0", "curthread", "timestamp", "NULL", "t", "A", "f", "nosuch")
MEMBERS = ("m", "n", "pid", "comm", "parent", "state", "if")
WORDS = ("char", "short", "int", "long", "unsigned", "signed", "void", "string", "float", "double", "_Bool")
TYPES = ("int", "char *", "unsigned long", "struct s", "struct s *", "struct task_struct *", "union u", "enum e",
         "string", "t", "uint8_t", "void *", "int (*)(int, ...)", "struct nosuch *",
         "long long", "void", "double")  # fmt: skip
OPERATORS = ("+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&&", "||", "^^", "==", "!=", "<", "<=", ">", ">=",
             ",", "=", "+=", "<<=", "|=", "/=")  # fmt: skip
CONSTANTS = ("0", "1", "-1", "7", "0x7fffffff", "2147483648", "0xffffffffffffffff", "1UL", "'a'", "'\\n'", "'abcdefgh'",
             '"s"', '""', '"%d\\n"', '"a\\0b"', "18446744073709551616", "09", "1.5",
             "$1", "$$1", "$target", "$pid", "$9")  # fmt: skip
FUNCTIONS = ("trace", "printf", "printa", "stack", "ustack", "exit", "strlen", "strjoin", "substr", "copyin", "alloca",
             "copyinstr", "tracemem", "index", "clear", "trunc", "normalize", "count", "sum", "quantize", "lquantize",
             "llquantize", "speculate", "sizeof", "stringof", "sym", "system",
             "raise", "setopt", "print", "nosuch")  # fmt: skip
SCOPES = ("", "", "", "this->", "self->", "@", "`", "vmlinux`")
PROBES = ("BEGIN", "END", "ERROR", "syscall::read:entry", "syscall:::", "tick-1", "7", "proc:::start", "::", "*", "x",
          "syscall::[a-z]*:return", "pid0:::", "BEGIN, END", "a:b:c:d:e", "syscall::read:entry, tick-1")  # fmt: skip


def _joined(*parts):
    return st.tuples(*(st.just(p) if isinstance(p, str) else p for p in parts)).map("".join)


def _listed(strategy, separator=", ", most=3):
    return st.lists(strategy, max_size=most).map(separator.join)


names = st.sampled_from(NAMES)
types = st.sampled_from(TYPES)
variables = _joined(st.sampled_from(SCOPES), names)


def _compound(inner):
    return st.one_of(
        _joined(inner, " ", st.sampled_from(OPERATORS), " ", inner),
        _joined("(", inner, ")"),
        _joined(st.sampled_from(("-", "~", "!", "*", "&", "+", "++", "--", "sizeof ", "stringof ")), inner),
        _joined(inner, st.sampled_from(("++", "--"))),
        _joined("(", types, ")", inner),
        _joined("sizeof (", types, ")"),
        _joined("offsetof(", types, ", ", st.sampled_from(MEMBERS), ")"),
        _joined("xlate <", types, ">(", inner, ")"),
        _joined(inner, st.sampled_from((".", "->")), st.sampled_from(MEMBERS)),
        _joined(variables, "[", _listed(inner), "]"),
        _joined(inner, " ? ", inner, " : ", inner),
        _joined(st.sampled_from(FUNCTIONS), "(", _listed(inner), ")"),
        _joined("@", names, "[", _listed(inner), "]"),
    )


expressions = st.recursive(st.one_of(st.sampled_from(CONSTANTS), variables), _compound, max_leaves=8)
assignments = _joined(variables, " = ", expressions)
aggregations = _joined(
    "@", names, st.sampled_from(("", "[pid]", "[execname, 1]", "[stack()]")), " = ",
    st.sampled_from(("count", "sum", "avg", "quantize", "lquantize", "stddev")), "(", _listed(expressions), ")",
)  # fmt: skip
plain_statements = st.one_of(expressions, assignments, aggregations)


def _block(inner):
    return _joined("if (", expressions, ") { ", inner, "; } else ", inner)


statements = st.recursive(plain_statements, _block, max_leaves=4)
predicates = st.one_of(st.just(""), _joined("/", expressions, "/"))
clauses = _joined(st.sampled_from(PROBES), " ", predicates, " { ", _listed(statements, "; ", 5), " }")
declarators = st.recursive(
    names,
    lambda inner: st.one_of(
        _joined("*", inner),
        _joined("(", inner, ")"),
        _joined(inner, "[", expressions, "]"),
        _joined(inner, "[", _listed(types), "]"),
        _joined(inner, "(", _listed(types), ")"),
    ),
    max_leaves=3,
)
specifiers = st.one_of(types, _listed(st.sampled_from(WORDS), " "))
members = _joined(specifiers, " ", declarators, st.sampled_from(("", "", " : 3", " : 40", " : 0")), ";")
storage = st.sampled_from(("", "", "", "this ", "self ", "typedef ", "extern ", "static ", "inline ", "const "))
declarations = st.one_of(
    _joined(storage, specifiers, " ", declarators, ";"),
    _joined("struct s { ", _listed(members, " ", 4), " };"),
    _joined("union u { ", _listed(members, " ", 4), "struct s; };"),
    _joined("enum e { A", st.sampled_from(("", " = 3", " = 2147483647")), ", B };"),
    _joined("typedef ", types, " t;"),
    _joined(
        "inline ", types, " ", names, st.sampled_from(("", "[int a]", "[string b, int x]")), " = ", expressions, ";"
    ),
    _joined("translator struct s < ", types, " a > { m = ", expressions, "; n = ", expressions, "; };"),
    _joined("provider p { probe a(", _listed(members.map(lambda m: m.partition(" :")[0].rstrip(";"))), "); };"),
    _joined("#pragma D ", st.sampled_from(("option strsize=", "option ", "attributes ", "depends_on ")), names, "\n"),
)
programs = st.lists(st.one_of(declarations, clauses, clauses), min_size=1, max_size=6).map("\n".join)

# Programs that are mostly right, for what comes behind the checker.

PRELUDE = """
struct s { int m; char n[5]; struct { unsigned k : 3; int l : 5; }; struct s *p; long q[4]; };
int i; char c; unsigned short h; uint64_t u; string w; struct s v; struct s *z; int g[3]; long o[int, string];
string d[string]; self int si; self string sw; this long tl; this string tw; this struct s tv; double f;
inline int two = 2; inline long twice[long x] = x + x; inline string both[string x] = strjoin(x, x);
translator struct s < long x > { m = x; q = z->q; p = z; n = z->n; };
"""
_integers = st.sampled_from((
    "i", "c", "h", "u", "v.m", "v.k", "v.l", "z->m", "z->k", "z->p->l", "g[1]", "g[i]", 'o[i, "a"]', "self->si",
    "this->tl", "this->tv.k", "v.q[2]", "v.n[c]", "two", "twice[i]", "xlate <struct s>(u).m", "pid", "arg0", "tid",
    "curthread->pid", "curthread->flags", "timestamp", "0", "1", "-1", "7UL", "0x80000000", "'a'", "errno", "`max_pfn",
    "strlen(w)", "index(w, execname)", "sizeof (struct s)", "offsetof(struct s, q)", "rand()", "this->x", "self->y",
))  # fmt: skip
_strings = st.sampled_from((
    "w", "execname", "self->sw", "this->tw", "d[w]", '"abc"', '""', "both[w]", "probefunc", "strjoin(w, execname)",
    "substr(w, 1, 3)", "stringof(v.n)", "(string)curthread->comm", "basename(w)", "lltostr(u)", "strtok(w, execname)",
    "copyinstr(arg0)", "stringof(z->n)",
))  # fmt: skip
_targets = st.sampled_from((
    "i", "c", "h", "u", "v.m", "v.k", "v.l", "g[1]", "g[c]", 'o[i, "a"]', "self->si", "this->tl", "this->tv.k",
    "v.q[2]", "v.n[c]", "this->x", "self->y", "e[i]", "self->r[w]",
))  # fmt: skip
_values = st.recursive(
    _integers,
    lambda inner: st.one_of(
        _joined("(", inner, " ", st.sampled_from(OPERATORS[:19]), " ", inner, ")"),
        _joined("(", inner, " ? ", inner, " : ", inner, ")"),
        _joined("(", st.sampled_from(("char", "unsigned char", "short", "int", "long", "uint64_t")), ")", inner),
        _joined(st.sampled_from(("- ", "~", "!")), inner),
        _joined(_strings, " ", st.sampled_from(("==", "!=", "<", ">=")), " ", _strings),
        _joined("(", _targets, " ", st.sampled_from(("=", "+=", "<<=", "|=", "/=", "%=")), " ", inner, ")"),
        _joined("++", _targets),
    ),
    max_leaves=5,
)
_keys = st.one_of(_values, _strings, st.sampled_from(("stack()", "ustack(3)", "v", "sym(arg0)", "z")))
_correct = st.one_of(
    _joined("trace(", st.one_of(_values, _strings, st.sampled_from(("v", "g", "v.n", "f", "z"))), ")"),
    _joined('printf("%d %s %x\\n", ', _values, ", ", _strings, ", ", _values, ")"),
    _joined(_targets, " = ", _values),
    _joined(st.sampled_from(("w", "self->sw", "this->tw", "d[w]", "d[execname]")), " = ", _strings),
    st.sampled_from((
        "v = *z", "this->tv = v", "z = v.p->p", "z = &this->tv.p[i]", "stack()", "ustack(2)", "clear(@)",
        "v = this->tv", "tracemem(z, 16)", "print(z)", "exit(0)", "z = alloca(16)", "this->s = speculation()",
        "trunc(@, 2)",
    )),
    _joined("@[", _keys, ", ", _keys, "] = ", st.sampled_from(("count()", "sum(i)", "avg(u)", "quantize(c)"))),
    _joined("if (", _values, ") { ", _targets, "++; } else { trace(", _strings, "); }"),
)  # fmt: skip
_probes = st.sampled_from(("BEGIN", "END", "ERROR", "syscall::read:entry", "tick-1", "syscall::read:return, tick-1"))
_correct_clauses = _joined(_probes, " /", _values, "/ { ", _listed(_correct, "; ", 4), " }")
correct = _joined(PRELUDE, _listed(_correct_clauses, "\n", 2))

PIECES = (
    *OPERATORS, *WORDS, *PROBES, *NAMES, *CONSTANTS, *FUNCTIONS, *"{}()[]/;,\"'$@#%&|*-+=!<>:.?`\\\n ",
    "0x9", "this", "self->", "@a[", "/*", "*/", "::::", "struct", "1e5", "\n#line 7 \"x\"\n",
    "\n#pragma D option quiet\n",
    "inline", "translator", "xlate", "if", "else", "...", "__attribute__((packed))", "_Static_assert", "\0", "\udc80",
)  # fmt: skip
soup = st.lists(st.sampled_from(PIECES), max_size=60).map(" ".join)
noise = st.binary(max_size=200).map(lambda data: data.decode(errors="surrogateescape"))


@st.composite
def damaged(draw):
    """A program that was correct, with a few pieces cut out, doubled or put in."""
    text = draw(st.sampled_from(REAL))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        end = min(start + draw(st.integers(0, 30)), len(text))
        piece = draw(st.one_of(st.just(""), st.sampled_from(PIECES), st.just(text[start:end] * 2)))
        text = text[:start] + piece + text[end:]
    return text
