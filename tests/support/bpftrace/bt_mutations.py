"""Programs of bpftrace's language that have been damaged: each compiles, or ends in one mistake with its place."""

import random
import re

from support.bpftrace import bt_programs

WORDS = (
    "begin", "end", "{", "}", "(", ")", "[", "]", ";", ",", ".", "..", ":", "=", "==", "+", "-", "*", "/", "%", "&",
    "&&", "|", "<<", "?", "!", "~", "++", "->", "@", "@m", "@m[1]", "$x", "$1", "$#", "$99999999999999999999", "args",
    "arg0", "retval", "comm", "pid", "kstack", "ustack(3)", "func", "probe", "count()", "sum(5)", "hist(7)",
    "lhist(5, 0, 9, 1)", "print(", "printf(", '"%d%s"', '"text"', '"open', "delete(@m, 1)", "clear(@m)", "exit()",
    "if", "else", "while", "for", "unroll", "break;", "continue;", "return;", "let", "let $y: uint8 = 300", "macro",
    "fn", "import", "config = {", "struct", "struct nosuch *", "(uint8)", "(string)", "(void)", "sizeof(", "offsetof(",
    "0x", "0xffffffffffffffff", "99999999999999999999999", "1e99", "5_", "08", "-1", "0", "1s", "tracepoint:a:b",
    "interval:s:1", "profile:hz:0", "/1/", "#include <x.h>", "\\", "\0", "«", "'", "`", "()", "(1,)", "(a=1)", ".0",
    ".x", "[0]", "*(uint8*)0", "&$x", "//", "/*", "*/", "\n",
)  # fmt: skip


def _listed(text):
    """Words that two spaces or more, or lines, stand between."""
    return tuple(re.split(r"\s\s+|\n", text.strip()))


EXPRESSIONS = _listed(
    """
5  -1  0  $x  $y  $1  $#  @m  @m[1]  @n[1, 2]  @c  "text"  ""  pid  comm  kstack  ustack(3)  args  args.x  arg0
retval  func  probe  count()  sum(5)  hist(7)  avg(-1)  stats(3)  lhist(5, 0, 9, 1)  tseries(5, 1s, 10)
str(arg0)  str($x, 5)  buf($x, 3)  (uint8)5  (int64)$x  (string)3  (uint8*)5  *(uint8*)0  *$x  &$x  &@m  $x.y
$x.0  $x[0]  (1, 2)  (1, (2, 3)).1.0  ()  (a=1, b=2)  (a=1).a  sizeof(int8)  sizeof(struct nosuch)
offsetof(struct task_struct, pid)  nsecs  nsecs(boot)  curtask  curtask.pid  curtask->comm  curtask->nosuch
((struct task_struct *)5)->comm[3]  strlen(comm)  len(@m)  has_key(@m, 1)  ksym(5)  usym(5)  kaddr("x")
strncmp("a", comm, 1)  { let $z = 5; $z }  !comm  ~5  -comm  $x++  --@m  pid ? 1 : comm  9223372036854775807
18446744073709551615  ntop(5)  rand  strftime("%H", nsecs)  bswap((uint16)5)  macaddr($x)  cgroup  numaid
elapsed  nosuch  nosuch(1)  (1 / 0)  (1 << 70)  (5 % 0)  1s  0x10  true  false  EPERM  ctx  path(5)  typeof($x)
strcap(comm, 3)
"""
)
STATEMENTS = _listed(
    """
delete(@m, 1);  delete(@m[1]);  clear(@m);  zero(@c);  print(@m);  print(@m, 5);  print(@c, 5, 2);
@c = count();  @m = 5;  @m = "text";  @m[1] = 1;  @m["a"] = 1;  @n[1, 2] = 3;  @h = hist(3, 2);  $x = 5;
$x = "t";  $x = (1, 2);  let $x;  let $y: uint8 = 300;  let $x: string[5];  if (pid) { $w = 1; }
while ($x) { $x--; }  for ($i : 0..3) { print($i); }  for ($kv : @m) { print($kv.1); }
for ($kv : @c) { break; }  unroll(3) { @m++; }  break;  continue;  return;  return 5;  exit();  exit(3);
printf("%d %s\\n", 1, comm);  printf("%s", 1);  system("true");  join(5);  cat("/x");  time("%H");  $x += comm;
@m += 5;  @m[1]++;  $x.y = 5;  _ = 5;  errorf("x");  assert(1, "x");  print($x);  override(5);  signal(5);
fail();  { $x = 1; }  ;  pid;
"""
)
HEADS = _listed(
    """
end  interval:s:1  profile:hz:99  tracepoint:syscalls:sys_enter_openat  tracepoint:syscalls:sys_exit_*
software:faults:1  uprobe:/bin/sh:main  rawtracepoint:sched_switch  self:signal:SIGUSR1  begin /comm/
begin /pid == 5/  begin, end  hardware:cycles:  watchpoint:0x10:8:w  usdt:/bin/sh:x  iter:task  fentry:vfs_read
kprobe:vfs_read  bench:x  test:y
"""
)
_TOKEN = re.compile(r'"[^"]*"|\w+|\s+|[^\w\s]')
_PART = re.compile(r'"[^"]*"|[$@]\w+|\b\d+\b')
_OPERATORS = re.compile(r" (==|!=|<=|>=|<<|>>|&&|\|\||[-+*/%&|^<>]) ")


def mutated(seed):
    """A random program with some parts exchanged for others, of the same sort or of any."""
    choose = random.Random(f"mutated {seed}")
    text = bt_programs.made(seed % 61, 1).text
    return _well_formed(text, choose) if seed % 2 else _broken(text, choose)


def _well_formed(text, choose):
    """What is no mistake of syntax: statements of which some say something else than they did."""
    body = [_exchanged(each, choose) for each in choose.sample(text[text.index("{") + 1 : -1].split("; "), k=1)]
    body += choose.sample(STATEMENTS, k=choose.randrange(3))
    if choose.random() < 0.5:
        body.append(f"@m[{choose.choice(EXPRESSIONS)}] = {choose.choice(EXPRESSIONS)};")
    choose.shuffle(body)
    head = choose.choice(HEADS) if choose.random() < 0.3 else "begin"
    return f"{head} {{ $x = {choose.choice(EXPRESSIONS)}; {' '.join(body)} }}"


def _exchanged(text, choose):
    """A statement with another expression or operator in it; braces that do not match are taken away."""
    for pattern, words in ((_PART, EXPRESSIONS), (_OPERATORS, (" + ", " - ", " == ", " < ", " << ", " && "))):
        places = list(pattern.finditer(text))
        if places and choose.random() < 0.6:
            at = choose.choice(places)
            text = text[: at.start()] + choose.choice(words) + text[at.end() :]
    balanced = all(text.count(one) == text.count(other) for one, other in ("()", "{}", "[]"))
    return f"{text};" if balanced else f"print({choose.choice(EXPRESSIONS)});"


def _broken(text, choose):
    """Words taken away, doubled, exchanged or replaced by any."""
    tokens = _TOKEN.findall(text)
    if choose.random() < 0.5:
        # A short one is more often wrong in a single place.
        start = choose.randrange(len(tokens))
        tokens = ["begin", " ", "{", *tokens[start : start + choose.randrange(1, 40)], "}"]
    for _ in range(choose.randrange(1, 5)):
        at, word = choose.randrange(len(tokens)), choose.choice(WORDS)
        match choose.randrange(5):
            case 0:
                tokens[at] = word
            case 1:
                tokens.insert(at, f" {word} ")
            case 2:
                del tokens[at : at + choose.randrange(1, 4)]
            case 3:
                tokens[at:at] = tokens[at : at + choose.randrange(1, 9)]
            case _:
                other = choose.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
        tokens = tokens or ["begin"]
    return "".join(tokens)
