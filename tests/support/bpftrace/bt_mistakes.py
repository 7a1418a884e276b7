"""Wrong programs of bpftrace's language: « and » stand around what bpftrace 0.26 marks, and behind each its kind.

The kind is what its message says at least, whatever else it says. Numbers behind a mark count the characters up to the
next word where a place is between two.
"""

SYNTAX = """
begin { exit() } «#define X 5» ;; C definitions must appear before probes and functions
begin { exit() } «struct s { int a; }» begin { } ;; C definitions must appear before probes and functions
begin { exit() } «import» "x"; ;; root imports must appear before probes and functions
begin { exit() } «config» = { max_map_keys = 5 } ;; config must appear before probes and functions
config = { } «config» = { } begin { } ;; duplicate config block
«let» $a = 5; begin { } ;; root-level let statements need to be map declarations
begin { for ($x : 5) «{» } } ;; expected map or range in for loop
begin { for ($x : $y) «{» } } ;; expected map or range in for loop
begin { @m[1] = 1; for ($kv : @m[1]) «{» } } ;; expected map or range in for loop
begin { print("\\x«zz»"); } ;; invalid hex escape sequence
macro m($a, «$a») { $a } begin { $x = 1; m($x, $x) } ;; Variable for macro argument has already been used: $a
macro m(@a, «@a») { @a } begin { @x = 1; m(@x, @x) } ;; Map for macro argument has already been used: @a
macro m(a, «a») { a } begin { m(1, 2) } ;; Ident for macro argument has already been used: a
macro m($a) { «let $a» = 1; $a } begin { $x = 1; m($x) } ;; Variable declaration shadows macro arg $a
begin { $x = «; » } ;; expected expression
begin { $x = 1 + «) »} ;; expected expression
begin { $x = 5 «print»($x) } ;; expected ';'
begin { @a = 5 «@b» = 6 } ;; expected ';'
begin { exit() «exit»() } ;; expected ';'
begin { $n++ «print»($n); } ;; expected ';'
begin { let $n = 4 «print»($n); } ;; expected ';'
begin { $n: int16; } ;; expected ';' ;; 1:11-12
begin { while (1) { break «print»(1); } } ;; expected ';'
begin { while (1) { continue «print»(1); } } ;; expected ';'
begin { return 7 «print»(1); } ;; expected ';'
begin { $v = { $a = 3; $a + 1 } «exit»(); } ;; expected ';'
begin { _ = 7 «print»(2); } ;; expected ';'
begin { (3, 4) «=» 5 } ;; expected ';'
begin { 2«.»5 } ;; expected ';'
begin { print(«<») } ;; expected expression
begin { $t = («,»); } ;; expected expression
begin { print(1«;» } ;; expected ')'
begin { if ($x «=» 1) { } } ;; expected ')'
begin { for ($i : 3«+»1..9) { } } ;; expected ')'
begin { for ($i : 0..9«-»1) { } } ;; expected ')'
begin { for ($i : 4..«)» { } } ;; expected expression
begin { for ($i : «.».8) { } } ;; expected expression
begin { for («@kv» : @all) { } } ;; expected variable in for loop
begin { for ($kv : @all) «print»($kv); } ;; expected '{'
begin { @a[1«}» ;; expected
begin { print((first=1, «7»)); } ;; expected identifier
begin { print((first=1,«)»); } ;; expected identifier
begin { print((one=1, «one=2»)); } ;; already contains name: one
begin { @n = «4++»; } ;; increment/decrement requires a variable or map ;; 1:15-17
begin { @n = --6; } ;; increment/decrement requires a variable or map ;; 1:16-17
begin { @n = "text"++; } ;; increment/decrement requires a variable or map ;; 1:20-22
begin { $x = 1; &«7»; } ;; address-of operator (&) can only be used on a map or variable
begin { $p = (1, 2); «$p.0 = 3»; } ;; immutable
begin { @p = (1, (2, 3)); «@p.1 = 3»; } ;; immutable
begin { $x = $  ; } ;; expected identifier after '$' ;; 1:15-16
begin { print(3_«_»); } ;; trailing underscore
begin { print(55e1); } ;; coefficient part of scientific literal must be 1-9: 55e1 ;; 1:15-19
begin { print(«3e25»); } ;; overflow error
begin { print(«99999999999d»); } ;; overflow error
begin { print(«36893488147419103232»); } ;; overflow error
begin { print(7«x»); } ;; invalid integer suffix 'x'
begin { print("«\\477»"); } ;; octal escape sequence out of range
begin { print(«$0»); } ;; is out of integer range
begin { print(«$99999999999999999999999»); } ;; is out of integer range
begin { print("open); } ;; unterminated string
begin /pid == 3 «{» exit() } ;; expected '/' to close predicate
begin «exit»() ;; expected '{'
begin { exit(); ;; expected
begin «} » { } ;; expected '{'
config «{» max_map_keys = 5 } begin { } ;; expected '='
config = { max_map_keys 5 } begin { } ;; expected '=' ;; 1:25-26
config = { «@key» = 5 } begin { } ;; expected config key
let @a = hash(«)»; begin { @a = 1 } ;; expected positive integer
import «5»; begin { } ;; expected string after 'import'
macro «(»x) { x } begin { } ;; expected
begin { if (1) { } else «print»(1) } ;; expected '{' or 'if' after 'else'
begin { unroll(3) «print»(1) } ;; expected '{'
begin { let «x» = 1 } ;; expected variable after 'let'
begin { «break;» } ;; 'break' statement is not allowed in a probe
begin { if (pid) { unroll(3) { «continue;» } } } ;; 'continue' statement is not allowed in a probe
begin { while (1) { break; } «break;» } ;; 'break' statement is not allowed in a probe
macro leaves() { «return;» } begin { leaves(); } ;; 'return' statement is not allowed in a macro
macro leaves() { «break;» 5 } begin { while (1) { leaves() } } ;; 'break' statement is not allowed in a macro
begin { if (a«=»1) { } } ;; expected ')'
begin { while (pid«,» tid) { } } ;; expected ')'
begin { «$» 5; } ;; expected identifier after '$'
begin { print(8u«k»); } ;; invalid integer suffix 'k'
macro m(«comm») { 1 } begin { } ;; builtin 'comm' can't be used as a macro argument
"""

PROBES = """
«profile:hz:0» { } ;; profile frequency should be a positive integer
«interval:ms:0» { } ;; interval frequency should be a positive integer
«profile:min:5» { } ;; min is not an accepted unit of time
«interval:days:5» { } ;; days is not an accepted unit of time
«self:timer:SIGUSR1» { } ;; timer is not a supported trigger
«self:signal:SIGNOSUCH» { } ;; SIGNOSUCH is not a supported signal
«self:signal» { } ;; self probe type requires 2 arguments, found 1
«software:*:5» { } ;; wildcards are not allowed for software probe type
«hardware:c*:5» { } ;; wildcards are not allowed for hardware probe type
«software:nosuch:5» { } ;; nosuch is not a software probe
«hardware:nosuch:5» { } ;; nosuch is not a hardware probe
«kprobe:f+1+2» { } ;; Cannot take more than one offset
«kprobe:f+x» { } ;; Invalid offset
«uprobe:/bin/sh:f+1+2» { } ;; Cannot take more than one offset
«uprobe:/no/such/binary:f» { } ;; uprobe target file '/no/such/binary' does not exist or is not executable
«usdt:/no/such/binary:x» { } ;; usdt target file '/no/such/binary' does not exist or is not executable
«watchpoint:0x10:8» { } ;; watchpoint probe type requires 3 arguments, found 2
«watchpoint:abc:8:w» { } ;; Invalid function/address argument
«watchpoint:0x10:abc:w» { } ;; Invalid length argument
«watchpoint:0:8:w» { } ;; watchpoint must be attached to a non-zero address
«watchpoint:0x1000:3:w» { } ;; watchpoint length must be one of (1,2,4,8)
«watchpoint:0x1000:8:q» { } ;; watchpoint mode must be combination of (r,w,x)
«watchpoint:0x1000:8:ww» { } ;; watchpoint modes may not be duplicated
«watchpoint:0x1000:8:r» { } ;; invalid watchpoint mode: r
«w:0x1001:8:w» { } ;; this watchpoint cannot be set
«asyncwatchpoint:0x1000:8:w» { } ;; Invalid probe type: asyncwatchpoint
«fentry:bpf» { } ;; the 'bpf' variant of this probe requires a bpf program name
«fexit:bpf:x:f» { } ;; bpf program id must be a number or '*'
«fentry:bpf:7:f» { } ;; programs of BPF are not traced
«fentry:a:b:c» { } ;; Only the 'bpf' variant of this probe supports 4 arguments
«kprobe:vfs_*+4» { } ;; wildcards and offsets do not go together
«kprobe:0xffffffff81000000» { } ;; Probing by address requires --unsafe
«nosuch*:x» { } ;; No probe type matched for nosuch*
«own=nosuch:x» { } ;; Invalid probe type: nosuch
«rt:nosuch:sched_switch» { } ;; No matches for rawtracepoint nosuch:sched_switch.
«interval:s:x» { } ;; Invalid rate of interval probe: invalid integer: x
«bench:a» { } ;; No probes attached; use --bench to run benchmark probes.
«test:» { } ;; test probes must have a name
«bench» { } ;; bench probe type requires 1 arguments, found 0
test:a { } «test:a» { } ;; was used as the name for more than one TEST probe
«iter:task:a:b» { } ;; iter probe type takes 2 arguments (1 optional)
«iter:task*» { } ;; iter probe type does not support wildcards
«iter:» { } ;; iter should specify a iterator's name
«iter:task_nosuch» { } ;; iter task_nosuch not available for your kernel version.
«nothing» { } ;; Invalid probe type: nothing
«nothing:at:all» { } ;; Invalid probe type: nothing
«begin:x» { } ;; begin probe type requires 0 arguments, found 1
«end:x:y» { } ;; end probe type requires 0 arguments, found 2
«interval» { } ;; interval probe type requires 1 or 2 arguments, found 0
«profile» { } ;; profile probe type requires 1 or 2 arguments, found 0
«interval:s:2x» { } ;; Invalid rate of interval probe
«profile:hz:often» { } ;; Invalid rate of profile probe: invalid integer: often
«profile:500» { } ;; Minimum is 1000 or 1us. Found: 500 nanoseconds
«interval:7» { } ;; Minimum is 1000 or 1us. Found: 7 nanoseconds
«tracepoint» { } ;; tracepoint probe type requires 2 arguments, found 0
«tracepoint:syscalls» { } ;; tracepoint probe type requires 2 arguments, found 1
«rawtracepoint» { } ;; rawtracepoint probe type requires 2 or 1 arguments, found 0
«kprobe:a:b:c» { } ;; kprobe probe type requires 1 or 2 arguments, found 3
«uprobe» { } ;; uprobe probe type requires 2 or 3 arguments, found 0
«uprobe:/bin/sh» { } ;; uprobe probe type requires 2 or 3 arguments, found 1
«usdt» { } ;; usdt probe type requires 2 or 3 arguments, found 0
«kretprobe:vfs_read+4» { } ;; Offset not allowed
«uretprobe:/bin/sh:main+4» { } ;; Offset not allowed
«software:faults:3x» { } ;; Invalid count for software probe
«hardware:cycles:3x» { } ;; Invalid count for hardware probe
begin { } «tracepoint:alone» { } ;; tracepoint probe type requires 2 arguments, found 1
begin, «wrong:x» { } ;; Invalid probe type: wrong
"""

TYPES = """
begin { print(«18446744073709551615 + 1»); } ;; unable to fold literals due to overflow or underflow
begin { print(«5 << 64»); } ;; unable to fold literals due to overflow or underflow
begin { print(«1 / 0»); } ;; unable to fold literals due to overflow or underflow
begin { «return "x";» } ;; Probe return values can only be integers. Found string
struct s { int a[3]; } begin { $x = (struct s *)0; print(«$x.a[5]»); } ;; the index 5 is out of bounds for array
struct s { int a[3]; } begin { $x = (struct s *)0; print(«$x.a["x"]»); } ;; The array index operator [] only accepts
struct s { int a[3]; int b[4]; } begin { $x = (struct s *)0; print(«$x.a == $x.b»); } ;; Only arrays of same size
struct s { int a[3]; int b[4]; } begin { $x = (struct s *)0; print(«$x.a + $x.b»); } ;; cannot be used on arrays
struct s { int a; } begin { print(«offsetof(struct s, b)»); } ;; has no field named 'b'
struct s { int a; } begin { $x = (struct s *)0; print(«$x.b»); } ;; does not contain a field named 'b'
struct s { int a; } begin { $x = (struct s *)0; print(«$x->b»); } ;; does not contain a field named 'b'
tracepoint:syscalls:sys_enter_read { print(«args.nosuch»); } ;; does not contain a field named 'nosuch'
begin { @m = 1; «@m = "text"»; } ;; Type mismatch for @m: trying to assign value of type 'string
begin { @m = "text"; «@m = 1»; } ;; Type mismatch for @m: trying to assign value
begin { $v = 1; «$v = "text"»; } ;; Type mismatch for $v: trying to assign value of type 'string
begin { $v = "text"; «$v = 7»; } ;; Type mismatch for $v: trying to assign value of type 'int8'
begin { $v = (1, 2); «$v = 7»; } ;; Type mismatch for $v
begin { $v = (1, 2); «$v = (1, "x")»; } ;; Type mismatch for $v
begin { $v = (1, 2); «$v = (1, 2, 3)»; } ;; Type mismatch for $v
begin { $v = (a=1, b=2); «$v = (a=1, c=2)»; } ;; Type mismatch for $v
begin { @m = 1; @m = «count()»; } ;; Type mismatch for @m: trying to assign value of type 'count_t' when map already
begin { @m = 1; @m = «hist(4)»; } ;; Type mismatch for @m: trying to assign value of type 'hist_t'
begin { @m = count(); @m = «sum(4)»; } ;; Type mismatch for @m
begin { @m = max(4); @m = «min(4)»; } ;; Type mismatch for @m
begin { @m = count(); «@m = 4»; } ;; Type mismatch for @m
begin { print(«1 - "x"»); } ;; Type mismatch for '-': comparing int8 with string[2]
begin { $x = «-9223372036854775809»; } ;; negative value will underflow
begin { print(«"abc" - "b"»); } ;; illegal literal operation with strings
begin { print(«comm + "x"»); } ;; The + operator can not be used on expressions of types string[16], string[2]
begin { $x = "abc"; print(«$x.y»); } ;; Can not access field 'y' on expression of type 'string[4]'
begin { $t = (1, 2); print(«$t.x»); } ;; Can not access field 'x' on expression of type '(int8,int8)'
begin { print(«*"x"»); } ;; Can not dereference type 'string[2]'. It is not a pointer.
begin { «cat(5)»; } ;; cat() expects a string literal (int provided)
begin { «printf(5)»; } ;; printf() expects a string literal (int provided)
begin { @a[1] = 1; «print(@a, "x")»; } ;; print() expects a int literal (string provided)
begin { print(«path(5)»); } ;; path() only supports pointer or C type argument (int provided)
begin { «return "x";» } ;; Probe return values can only be integers. Found string[2]
begin { print(«"x" == 1»); } ;; Type mismatch for '==': comparing string
begin { print(«(1, 2) == (1, "x")»); } ;; Type mismatch for '=='
begin { print(«"a" * "b"»); } ;; operat
begin { print(«"a" < 5»); } ;; Type mismatch for '<'
begin { $s = "abc"; print(«-$s»); } ;; operator can not be used on expressions of type
begin { $s = "abc"; print(«~$s»); } ;; operator can not be used on expressions of type
begin { $s = "abc"; $s++; } ;; operator can not be used ;; 1:21-25
begin { @v = «pid > 3 ? 1 : "x"»; } ;; Branches must return the same type or compatible types: have 'int8' and 'string
begin { @v = «pid > 3 ? "x" : 1»; } ;; Branches must return the same type
begin { @v = «pid > 3 ? (1, 2) : ("x", 2)»; } ;; Branches must return the same type
begin «/ kstack /» { exit() } ;; Invalid condition: kstack
begin { @k[1] = 1; «@k[1, 2]» = 1; } ;; Argument mismatch for @k
begin { @k[1] = 1; «@k["x"]» = 1; } ;; Argument mismatch for @k
begin { @k[1, "x"] = 1; «@k["x", 1]» = 1; } ;; Argument mismatch for @k
begin { @k[1] = 1; «@k» = 1; } ;; @k used as a map without an explicit key (scalar map)
begin { @k = 1; «@k[1]» = 1; } ;; @k used as a map with an explicit key (non-scalar map)
begin { @k[«count()»] = 1; } ;; count() must be assigned directly to a map
begin { print(«(nosuch)»7); } ;; Cannot resolve unknown type "nosuch" ;; 1:16-22
begin { print((struct nosuch *)7); } ;; Cannot resolve unknown type "struct nosuch" ;; 1:16-31
begin { print(«(uint16)»"abc"); } ;; Cannot cast from "string
begin { print(«(uint16)»(1, 2)); } ;; Cannot cast from "(int8,int8)" to "uint16"
begin { let $v: «nosuch»; print($v); } ;; Cannot resolve unknown type "nosuch"
begin { print(«(1, 2).5»); } ;; Invalid tuple index: 5. Found 2 elements in tuple
begin { $t = (1, 2); print(«$t[7]»); } ;; Invalid tuple index: 7. Found 2 elements in tuple
begin { $r = (a=1); print(«$r.b»); } ;; Record does not contain a field named 'b'
begin { $n = 5; print(«$n.b»); } ;; Can not access field 'b' on expression of type 'int8'
begin { $n = 5; print(«$n.0»); } ;; Can not access index '0' on expression of type 'int8'
begin { $n = 5; print(«$n[0]»); } ;; The array index operator [] can only be used on arrays, pointers, and tuples
begin { $x = true; «$x = 5»; } ;; trying to assign value of type 'int8' when variable already has a type 'bool'
begin { @x = 5; «@x = 3 > 2»; } ;; trying to assign value of type 'bool' when map already has a type 'int8'
begin { @x[true] = 5; «@x[5]» = 4; } ;; trying to access with arguments: 'int8' when map expects arguments: 'bool'
begin { $x = «5 > 3 ? true : 7»; } ;; Branches must return the same type or compatible types: have 'bool' and 'int8'
begin { $t = (1, true); «$t = (1, 2)»; } ;; value of type '(int8,int8)' when variable already has a type '(int8,bool)'
begin { $r = (a=1, b="x"); «$r = (a=1, c="x")»; } ;; value of type 'record { .a = int8, .c = string[2] }'
begin { $p = curtask; «$p = 5»; } ;; value of type 'int8' when variable already has a type 'struct task_struct *'
begin { $p = curtask; «$p = (int8 *)5»; } ;; value of type 'int8 *' when variable already has a type
begin { let $b : bool; «$b = 5»; } ;; trying to assign value of type 'int8' when variable already has a type 'bool'
begin { let $n : uint8 = 5; «$n = 256»; } ;; trying to assign value of type 'int16' when variable already has a type
begin { let $s : string[4] = "abc"; «$s = comm»; } ;; value of type 'string[16]' when variable already has a type
begin { $x = 5; «$x = username»; } ;; trying to assign value of type 'username_t' when variable already has a type
begin { $x = 5; «$x = strftime("%Y", 0)»; } ;; trying to assign value of type 'timestamp' when variable already has
begin { $x = 5; «$x = strerror(nsecs)»; } ;; trying to assign value of type 'string[64]' when variable already has
begin { @a[ksym(0)] = 1; «@a[5]» = 1; } ;; trying to access with arguments: 'int8' when map expects arguments: 'ksym_t'
begin { $x = 5; «$x = buf("ab", 2)»; } ;; trying to assign value of type 'buffer[6]' when variable already has a type
begin { $x = «username + 1»; } ;; Type mismatch for '+': comparing username_t with int8
begin { «if (username) { }» } ;; Invalid condition: username_t
begin { @ = «hist(strftime("%Y", 0))»; } ;; hist() only supports int arguments
begin { print(«username == 0»); } ;; Type mismatch for '==': comparing username_t with int8
"""

NAMES = """
begin { delete(«@m», 1); } ;; Undefined map: @m
begin { for ($kv : «@m») { } } ;; Undefined map: @m
begin { @m[1] = 1; $kv = 5; for («$kv» : @m) { } } ;; Loop declaration shadows existing variable: $kv
begin { @m[1] = 1; for ($kv : @m) { print(«$kv.2»); } } ;; Invalid tuple index: 2
begin { print(«nosuch»); } ;; Unknown identifier: 'nosuch'
begin { $a = «nosuch» + 1; } ;; Unknown identifier: 'nosuch'
begin { print(«$v»); } ;; Undefined or undeclared variable: $v
begin { $v = «$v» + 1; } ;; Undefined or undeclared variable: $v
begin { «$v» += 1; } ;; Undefined or undeclared variable: $v
begin { if (1) { $v = 1; } print(«$v»); } ;; Undefined or undeclared variable: $v
begin { for ($v : 0..3) { } print(«$v»); } ;; Undefined or undeclared variable: $v
begin { $v = 1 } end { print(«$v»); } ;; Undefined or undeclared variable: $v
begin { let $v = 1; «let $v» = 2; } ;; Variable $v was already declared
begin { $v = 1; if (1) { «let $v» = 2; } } ;; Variable $v was already declared
begin { $v = 1; for («$v» : 0..3) { } } ;; Loop declaration shadows existing variable: $v
begin { print(«@m»); } ;; Undefined map: @m
begin { clear(«@m»); } ;; Undefined map: @m
begin { zero(«@m»); } ;; Undefined map: @m
begin { print(«@m»); } ;; Undefined map: @m
begin { «nosuch()»; } ;; Unknown function: 'nosuch'
begin { @x = «nosuch(1, 2)»; } ;; Unknown function: 'nosuch'
begin { print(«arg0»); } ;; The arg0 builtin can only be used with 'kprobes', 'uprobes' and 'usdt' probes
interval:s:1 { print(«arg3»); } ;; The arg3 builtin can only be used with
begin { print(«retval»); } ;; The retval builtin can only be used with 'kretprobe' and 'uretprobe'
begin { print(«func»); } ;; The func builtin can not be used with 'begin' probes
begin { print(«args».x); } ;; The args builtin can only be used with tracepoint
begin { print(«ctx»); } ;; The ctx builtin can not be used with 'begin' probes
config = { «no_such_key = 5» } begin { } ;; no_such_key: not a known configuration option
config = { «max_map_keys = many» } begin { } ;; max_map_keys: expecting a number, got many
«let @a = potato(5);» begin { @a[1] = 1 } ;; Invalid bpf map type: potato
macro one($v) { $v } begin { print(«one(5)»); } ;; one() has arguments that do not match any definition
macro one(@v) { @v } begin { $x = 1; print(«one($x)»); } ;; one() has arguments that do not match any definition
macro two(a, b) { a + b } begin { print(«two(5)»); } ;; two() has
macro again(a) { «again(a)» } begin { print(again(5)); } ;; Recursive macro call
macro free() { @m = 1; } begin { @m = 2; free(); } ;; Unhygienic access to map: @m ;; 1:16-18
macro same(a) { a } macro same(b) { b } begin { print(same(1)); } ;; Redefinition of macro: same
"""

CALLS = """
begin { $n = -1; «unroll($n) { }» } ;; invalid unroll value
begin { «unroll("x") { }» } ;; invalid unroll value
begin { @x = «tseries(5, 1s)»; } ;; tseries() requires at least 3 arguments (2 provided)
begin { @x = «tseries(5, 0, 10)»; } ;; tseries() interval_ns must be >= 1 (0 provided)
begin { @x = «tseries(5, 1s, 0)»; } ;; tseries() num_intervals must be >= 1 (0 provided)
begin { @x = «tseries(5, 1s, 9, "mean")»; } ;; tseries() expects one of the following aggregation functions: avg, max
begin { @x = tseries(5, 1s, 9); print(has_key(«@x»)); } ;; does not take the map of a tseries()
begin { @x = «lhist(5, -1, 10, 1)»; } ;; lhist: invalid min value (must be non-negative literal)
begin { print(«str(comm, -1)»); } ;; cannot use negative length (-1)
begin { print(«strncmp("a", "b", -1)»); } ;; Builtin strncmp requires a non-negative literal
begin { print(«strncmp("a", "b")»); } ;; strncmp() requires 3 arguments (2 provided)
begin { «count()»; } ;; count() must be assigned directly to a map
begin { «hist(5)»; } ;; hist() must be assigned directly to a map
begin { $v = «lhist(5, 0, 9, 1)»; } ;; lhist() must be assigned directly to a map
begin { if («hist(5)») { } } ;; hist() must be assigned directly to a map
begin { @m = «count(5)»; } ;; count() requires no arguments (1 provided)
begin { @m = «sum()»; } ;; sum() requires one argument (0 provided)
begin { @m = «avg(1, 2)»; } ;; avg() requires one argument (2 provided)
begin { @m = «lhist(5, 0, 9)»; } ;; lhist() requires 4 arguments (3 provided)
begin { @m = «lhist(5, 9, 0, 1)»; } ;; lhist() min must be less than max
begin { @m = «lhist(5, 0, 9, 0)»; } ;; lhist() step must be >= 1 (0 provided)
begin { @m = «lhist(5, 0, 9000, 1)»; } ;; lhist() too many buckets, must be <= 1000 (would need 9000)
begin { @m = «lhist(5, 0, 9, 50)»; } ;; lhist() step is too large for the given range
begin { $n = 5; @m = «lhist(5, 0, 9, $n)»; } ;; lhist() expects a int literal
begin { @m = «hist(5, 9)»; } ;; hist: bits 9 must be 0..5
begin { $n = 5; @m = «hist(5, $n)»; } ;; hist() expects a int literal
begin { @m = «sum("x")»; } ;; sum() only supports int
begin { @m = «hist("x")»; } ;; hist() only supports int
begin { «exit(1, 2)»; } ;; exit() takes up to one argument (2 provided)
begin { «exit("x")»; } ;; exit() only supports int
begin { «printf()»; } ;; printf() requires at least one argument (0 provided)
begin { «printf(5)»; } ;; printf() expects a string literal
begin { «printf("%d")»; } ;; not enough arguments for format string (0 supplied, 1 expected)
begin { «printf("x", 5)»; } ;; too many arguments for format string (1 supplied, 0 expected)
begin { «printf("%d", "x")»; } ;; unsupported format specifier for type 'string[2]': d
begin { «system("true")»; } ;; system() is an unsafe function
begin { «print()»; } ;; print() requires at least one argument (0 provided)
begin { «print(1, 2)»; } ;; Non-map print() only takes 1 argument, 2 found
begin { @m[1] = 1; «print(@m[1], 3)»; } ;; Non-map print() only takes 1 argument, 2 found
begin { clear(«5»); } ;; clear() expects a map argument
begin { zero(«"x"»); } ;; zero() expects a map argument
begin { @m = 1; «clear(@m, 1)»; } ;; clear() requires one argument (2 provided)
begin { «strlen()»; } ;; strlen() requires one argument (0 provided)
begin { print(«strcontains("x")»); } ;; strcontains() requires 2 arguments (1 provided)
begin { print(«strftime("%H")»); } ;; strftime() requires 2 arguments (1 provided)
begin { «time("%H", 1)»; } ;; time() takes up to one argument (2 provided)
begin { print(«ksym("x")»); } ;; ksym() expects an integer or pointer argument
begin { print(«bswap(1, 2)»); } ;; bswap() requires one argument (2 provided)
begin { print(«kstack(perf, 3, 4)»); } ;; kstack() takes up to 2 arguments (3 provided)
begin { print(nsecs(«nosuch»)); } ;; Invalid timestamp mode: nosuch
begin { for ($i : «"x"..5») { } } ;; Loop range requires an integer for the start value ;; 1:9-25
begin { for ($i : 0.."x") { } } ;; Loop range requires an integer for the end value ;; 1:9-25
begin { «unroll(101) { }» } ;; unroll maximum value is 100
begin { «unroll(0) { }» } ;; unroll minimum value is 1
begin { $x = «(string[2])»"abc"; } ;; Cannot cast from "string[4]" to "string[2]"
fn f($a : int64): int64 { return «f($a)»; } begin { print(f(1)); } ;; Recursive function call detected: f
fn f($a : int64): int64 { return «$b»; } begin { $b = 1; print(f(1)); } ;; Undefined or undeclared variable: $b
fn f($a : int64): int64 { return $a; } begin { print(«f()»); } ;; Function f() takes 1 argument (0 provided)
fn f(): int64 { «return;» } begin { print(f()); } ;; Function f() has to return a value
fn f(): void { «return 1;» } begin { f(); } ;; Function f is of type void, cannot return int8
fn f(): void { @ = 1; } begin { print(«f()»); } ;; Function f has no value
fn f(): int64 { return 1; } «fn f(): int64 »{ return 2; } begin { print(f()); } ;; Redefinition of function: f
begin { @a = sum(7); «@b = @a»; } ;; Map value 'sum_t' cannot be assigned from one map to another
begin { @a = lhist(7, 0, 9, 3); «@b = @a»; } ;; e.g. `@b = lhist(rand %10, 0, 10, 1);`
begin { @a = stats(7); «let $b = @a»; } ;; Value 'stats_t' cannot be assigned to a scratch variable.
begin { @a = hist(7); «$b = @a»; } ;; Value 'hist_t' cannot be assigned to a scratch variable.
begin { @a["x"] = stats(7); «print(@a["x"])»; } ;; Map type stats_t cannot print the value of individual keys
begin { @a = hist(7); if («@a» < 3) { } } ;; Type mismatch for '<': comparing hist_t with int8 ;; 1:27-33
begin { @a = stats(7); $x = «(uint8)»@a; } ;; Cannot cast from "stats_t" to "uint8"
begin { @a = hist(7); «@b[@a]» = 1; } ;; Value 'hist_t' cannot be used as a map key.
begin { let $n: int8; «$n = 700»; } ;; Type mismatch for $n: trying to assign value of type 'int16'
begin { let $n: uint32; «$n = -3»; } ;; Type mismatch for $n
begin { «let $s: string[4] = "long one"»; } ;; trying to assign value of type 'string[9]'
begin { let $s: string[4] = "abc"; «$s = "abcd"»; } ;; Type mismatch for $s
begin { $x = «~false»; } ;; The ~ operator can not be used on expressions of type 'bool'
begin { print(«strftime("%H", -7)»); } ;; strftime() does not accept negative timestamps
begin { print(«strftime("%H", nsecs(monotonic))»); } ;; strftime() can not take a monotonic timestamp
begin { «printf("%d", strerror(2))»; } ;; unsupported format specifier for type
begin { «printf("%x", username)»; } ;; unsupported format specifier for type
begin { «printf("%f", 3)»; } ;; unsupported format specifier: f
begin { «printf("%w", 3)»; } ;; too many arguments for format string (1 supplied, 0 expected)
begin { $m = «macaddr("abcdef")»; } ;; macaddr() does not support literal string arguments
begin { $a = (int8[2])(int16)1; print(«$a[-2]»); } ;; only accepts non-negative integer indices
begin { if comptime (cpu == 3) { } } ;; Unable to resolve comptime expression ;; 1:12-31
begin { print(«typeinfo(7)»); } ;; typeinfo feature is not enabled by default
config = { «stack_mode = blob» } begin { } ;; stack_mode
config = { «max_probes = many» } begin { } ;; expecting a number, got many
config = { «vmlinux = "x"» } begin { } ;; can only be set as an environment variable
config = { «unstable_tseries = maybe» } begin { } ;; valid values are enable, warn, and error
begin { @a = 300; «@a = "ab"»; } ;; trying to assign value of type 'string[3]' when map already has a type 'int16'
begin { @a = 3; «@a = kstack(perf, 5)»; } ;; trying to assign value of type 'kstack_perf_5' when map already has a
begin { @a[7] = 3; «@a["x"]» = 4; } ;; trying to access with arguments: 'string[2]' when map expects arguments: 'int8'
begin { $x = «pid ? 4 : "abc"»; } ;; have 'int8' and 'string[4]'
begin { @a["k"] = hist(7); $x = (1, «@a["k"]»); } ;; Map type hist_t cannot exist inside a tuple.
begin { @a = 1; delete(«@a», 5); } ;; call to delete() with two arguments expects a map with explicit keys
begin { «exit("x")»; } ;; exit() only supports int arguments (string provided)
fn g(): void { «return 700;» } begin { } ;; Function g is of type void, cannot return int16
fn g($a : int64): string { «return $a;» } begin { } ;; Function g is of type string, cannot return int64
fn g($a : int64): int64 { return «$b»; } begin { } ;; Undefined or undeclared variable: $b
fn g(): int64 { return h(); } fn h(): int64 { return «nosuch»; } begin { } ;; Unknown identifier: 'nosuch'
"""

VALUES = r"""
begin { $x = "foo"; printf("%c", «$x[4]»); } ;; the index 4 is out of bounds for array of size 4
begin { printf("%c", «"foo"[7]»); } ;; the index 7 is out of bounds for array of size 4
begin { printf("%c", «comm[16]»); } ;; the index 16 is out of bounds for array of size 16
begin { let $x : string[3] = "ab"; print(«$x[3]»); } ;; the index 3 is out of bounds for array of size 3
begin { $p = (void *)8; print(«$p[0]»); } ;; cannot be used on a pointer to an unsized type (void *).
begin { print(kstack(«nosuch»)); } ;; Error parsing stack mode
begin { print(«kstack(5, 4)»); } ;; Expected stack mode as first argument
begin { print(«ustack(2000)»); } ;; ustack([int limit]): limit shouldn't exceed
begin { $n = pid; print(«ustack($n)»); } ;; ustack: invalid limit value
begin { print(«kstack(raw, pid)»); } ;; kstack: invalid limit value
begin { «if ("text" == 1) { }» } ;; Type mismatch ;; 1:13-24
begin { $a = (1, 2); «if ($a) { exit() }» } ;; Invalid condition: tuple
begin { $s = "x"; «if ($s) { exit() } else { print(1) }» } ;; Invalid condition: string
begin { $s = comm; print(«$s ? 1 : 2»); } ;; Invalid condition: string
begin { «$x = print(1)»; } ;; Value 'void' cannot be assigned to a scratch variable.
begin { «let $x = exit()»; } ;; Value 'void' cannot be assigned to a scratch variable.
begin { «@x = clear(@y)»; @y = 1; } ;; Value 'void' cannot be assigned to a map.
begin { print(«pid(5)»); } ;; pid() only supports curr_ns and init as the argument
begin { print(tid(«other»)); } ;; Invalid PID namespace mode: other (expects: curr_ns or init)
begin { print(«buf(5, -1)»); } ;; cannot use negative length (-1)
begin { print(«offsetof(pid, x)»); } ;; 'uint32' is not a C type.
begin { print(«str((1, 2))»); } ;; str() expects a string, integer or a pointer type as first argument
tracepoint:syscalls:sys_enter_read { print(«args.common_pid»); } ;; BPF does not support accessing common tracepoint f
begin { print((«1 + 2) * "x"»); } ;; Type mismatch for '*': comparing int8 with string
begin { print((«pid).x»); } ;; Can not access field 'x' on expression of type 'uint32'
begin { $a = «0xZZ»; } ;; invalid trailing bytes: 0xZZ
begin { $a = «0x»; } ;; invalid trailing bytes: 0x
begin { let $x : «void»; } ;; Invalid variable declaration type: void
begin { let $x : «count_t»; } ;; Invalid variable declaration type: count_t
begin { $p = (void *)5; print(«*$p»); } ;; Can not dereference type 'void *'
begin { $p = (void **)5; print(«**$p»); } ;; Can not dereference type 'void *'
begin { «override(5)»; } ;; override() can only be used inside kprobes
begin { $x = 5; print(«$x.0»); } ;; Can not access index '0' on expression of type 'int8'
begin { $x = 5; print(«$x.y»); } ;; Can not access field 'y' on expression of type 'int8'
begin { $x = 5; print(«$x[0]»); } ;; The array index operator [] can only be used on arrays, pointers, and tuples
begin { $p = (int8 *)5; $q = «~$p»; } ;; The ~ operator can not be used on expressions of type
begin { print(«*"x"»); } ;; Can not dereference type
begin { $p = (int8 *)5; $q = «$p * 2»; } ;; The * operator can not be used on
begin { print(«pton("1.2.3")»); } ;; pton() expects
begin { print(«pton(comm)»); } ;; pton() expects a string literal
begin { print(«reg("nosuch")»); } ;; 'nosuch' is not a valid register on this architecture
begin { print(«reg(5)»); } ;; reg() expects a string literal
begin { «cat(5)»; } ;; cat() expects a string literal
begin { «time(5)»; } ;; time() expects a string literal
begin { «errorf(5)»; } ;; errorf() expects a string literal
begin { print(«kaddr(5)»); } ;; kaddr() expects a string literal
begin { print(«signal_name("x")»); } ;; signal_name() only supports int arguments
begin { print(«strerror("x")»); } ;; strerror() only supports int arguments
begin { print(«cgroup_path("x")»); } ;; cgroup_path() only supports int arguments
begin { print(«usym("x")»); } ;; usym() expects an integer or pointer argument
begin { print(«func»); } ;; The func builtin can not be used with 'begin' probes
tracepoint:syscalls:sys_enter_read { print(«arg0»); } ;; The arg0 builtin can only be used with 'kprobes', 'uprobes' a
begin { print(«args.x»); } ;; The args builtin can only be used with tracepoint ;; 1:15-19
begin { @a = hist(5); «$x = @a»; } ;; Value 'hist_t' cannot be assigned to a scratch variable.
begin { @a = «tseries(5, 1s, 5, "nosuch")»; } ;; tseries() expects one of the following aggregation functions: avg, ma
begin { @a = «tseries(5, 1s, 0)»; } ;; tseries() num_intervals must be >= 1 (0 provided)
begin { @a = «tseries(5, 0, 5)»; } ;; tseries() interval_ns must be >= 1 (0 provided)
config = { «license = "other"» } begin { } ;; Invalid value for license
config = { «missing_probes = "x"» } begin { } ;; Invalid value for missing_probes: valid values are ignore, warn, and
config = { «max_strlen = "x"» } begin { } ;; expecting a number, got x
config = { «print_maps_on_exit = 5» } begin { } ;; Invalid bool value: valid values are true, false, 1 or 0.
config = { max_map_keys = 5 «max_strlen» = 64 } begin { } ;; expected ';'
macro m($x) { $x } begin { print(«m(5)»); } ;; has arguments that do not match any definition.
macro m() { «m()» } begin { print(m()); } ;; Recursive macro call detected: m
macro m() { «@x» } begin { @x = 1; print(m()); } ;; Unhygienic access to map: @x.
macro m(x) { «$y» } begin { $y = 1; print(m(1)); } ;; Undefined or undeclared variable: $y
fn f() «{» return 1; } begin { } ;; expected ':'
fn f(«x» : int64): int64 { return 1; } begin { } ;; expected variable in function argument
let @a = hash(«"x"»); begin { } ;; expected positive integer for map declaration max entries
let @a = hash(5); begin { «@a» = count(); } ;; Incompatible map types. Type from declaration: hash. Type from value/ke
begin { $x = «@nosuch»; } ;; Undefined map: @nosuch
begin { $x = &«@nosuch»; } ;; Undefined map: @nosuch
begin { $x = «@nosuch»[1]; } ;; Undefined map: @nosuch
"""

MISTAKES = tuple(line for part in (SYNTAX, PROBES, TYPES, NAMES, CALLS, VALUES) for line in part.strip().splitlines())
