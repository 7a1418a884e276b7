"""Programs of bpftrace's language that compile with a warning: « and » stand around what bpftrace 0.26 marks, and
behind each its kind. Programs of QUIET have no warning of that kind."""

WARNED = """
begin { exit(); «print(1);» } ;; Unreachable statement.
begin { return; «@x = 3»; print(2); } ;; Unreachable statement.
begin { if (pid) { exit(); } else { return; } «$x = 1»; } ;; Unreachable statement.
begin { while (pid) { break; «$i = 1»; } } ;; Unreachable statement.
begin { while (pid) { return; «print(1);» } } ;; Unreachable statement.
begin { for ($i : 0..9) { continue; «print(1);» } } ;; Unreachable statement.
begin { for ($i : 0..9) { return; «print(1);» } } ;; Unreachable statement.
begin { unroll(3) { exit(); «print(1);» } } ;; Unreachable statement.
begin { return; «for ($i : 0..3) { print($i); }» } ;; Unreachable statement.
begin { pid ? exit(1) : exit(2); «print(1);» } ;; Unreachable statement.
begin { $x = { return; «7» }; print($x); } ;; Unreachable expression; block type is implicitly none.
begin { if (pid) { exit(); «print(2)» } } ;; Unreachable expression; block type is implicitly none.
fn f($a : int64): int64 { return $a; «print(1);» } begin { print(f(1)); } ;; Unreachable statement.
begin { «pid;» } ;; Return value discarded.
begin { «1 + 2  ;» } ;; Return value discarded.
begin «{ pid }» ;; Return value discarded.
begin { «{ 1 }» } ;; Return value discarded.
begin { $x = 5; «$x»; } ;; Return value discarded.
begin { @a[1] = 1; «has_key(@a, 1);» } ;; Return value discarded.
begin { «pid ? 1 : 2;» } ;; Return value discarded.
macro two() { 2 } begin { «two();» } ;; Return value discarded.
fn f(): int64 { return 1; } begin { «f();» } ;; Return value discarded.
begin { @s = nsecs; print(«nsecs» - 5); } ;; Expression of type: uint64 being cast to type: int64. This may cause
begin { $a = (int64)pid; $b = (uint64)pid; print($a == «$b»); } ;; Expression of type: uint64 being cast to type: int64.
begin { $a = (int64)pid; $b = (uint64)pid; print(«$b» < $a); } ;; Expression of type: uint64 being cast to type: int64.
begin { $a = (int32)pid; $c = «(uint64)»$a; $c += $a; } ;; Expression of type: uint64 being cast to type: int64.
begin { $a = «nsecs»; $a = (int64)2; } ;; Expression of type: uint64 being cast to type: int64.
begin { $a = -1; $a = «nsecs»; } ;; Expression of type: uint64 being cast to type: int64.
begin { @a = «nsecs»; @a = -2; } ;; Expression of type: uint64 being cast to type: int64.
begin { @a[«nsecs»] = 1; @a[-1] = 1; } ;; Expression of type: uint64 being cast to type: int64.
begin { @a[«nsecs», 4] = 1; @a[-1, 4] = 1; } ;; Expression of type: uint64 being cast to type: int64.
begin { let $a: uint64 = «(int64)»1; } ;; Expression of type: int64 being cast to type: uint64.
begin { let $a: int32 = «pid»; } ;; Expression of type: uint32 being cast to type: int32.
begin { let $a: int8 = 1; $a = «pid»; } ;; Expression of type: uint32 being cast to type: int8.
begin { $a = («nsecs», "hi"); $a = (-2, "hello"); } ;; Expression of type: uint64 being cast to type: int64.
begin { $a = (x=«nsecs», y="hi"); $a = (x=-2, y="hello"); } ;; Expression of type: uint64 being cast to type: int64.
begin { print(pid ? «nsecs» : -2); } ;; Expression of type: uint64 being cast to type: int64.
begin { @a = sum(-1); print(«nsecs» == @a); } ;; Expression of type: uint64 being cast to type: int64.
begin { @x = nsecs; @y = «-1 / @x»; } ;; signed operands for '/'
begin { $x = -7; print(«$x % 400»); } ;; signed operands for '%'
begin { $x = (int32 *)8; $y = (int64 *)8; @ = «$x > $y»; } ;; comparison of distinct pointer types: int32, int64
begin { $x = «(uint64)»nsecs; } ;; Unnecessary cast: expression is already of type uint64
begin { $x = «(bool)»true; } ;; Unnecessary cast: expression is already of type bool
begin { $x = «(string[6])»"hello"; } ;; Unnecessary cast: expression is already of type string[6]
begin { «let $x»; } ;; Variable $x was never assigned to.
begin { «let $x» : int32; $y = 1; } ;; Variable $x was never assigned to.
begin { let $x; if (pid) { print(«$x»); } $x = 1; } ;; Variable used before it was assigned: $x
begin { let $x : int32; $x += 1; print($x); } ;; Variable used before it was assigned: $x ;; 1:25-27
begin { print(«$1»); } ;; Positional parameter $1 is empty or not provided.
begin { @[1] = count(); for ($kv : @) { «print(@)»; } } ;; 'print()' in a loop
begin { @ = stats(1); «print(@, 3)»; } ;; print()'s top and div arguments are ignored when used on stats() maps.
begin { print(«str("abc", 5000)»); } ;; length param (5000) is too long and will be shortened to 1024 bytes
begin { «while (0) { }» } ;; While loops are deprecated and may be removed in the future.
begin { print(getopt("a", 1, «pid»)); } ;; requires the third parameter to be a string literal
«let @a = hash(5);» begin { } ;; Unused map: @a
config = { stack_mode = build_id } begin { @ = «kstack»; } ;; 'build_id' stack mode can only be used for ustack.
"""

QUIET = """
begin { if (pid) { exit(); } print(1); } ;; Unreachable
begin { for ($i : 0..9) { if ($i > 3) { break; } print($i); } } ;; Unreachable
begin { while (pid) { return; } } ;; Unreachable
begin { _ = pid; _ = { 1 }; } ;; discarded
begin { print(1); $a = 1; ++$a; $a--; @c = count(); @a[1] = 1; delete(@a, 1) } ;; discarded
macro says() { print(1); } fn f(): void { print(2); } begin { says(); f() } ;; discarded
begin { $a = (uint32)1; $a = (int32)2; $b = 1; $b = nsecs; @m = 1; @m = nsecs; } ;; being cast
begin { @k[1] = 1; @k[nsecs] = 1; @n = 0; @n--; @n++; } ;; being cast
begin { let $a: uint64 = 1; let $b: uint16 = (uint16)-1; print(pid == 5); } ;; being cast
begin { print((uint32)1 + (int32)2); print((int64)nsecs - 1); print(1 == -1); } ;; being cast
begin { @a = sum(-1); print(1 == @a); print(@a == pid); @b = count(); print(@a == @b); } ;; being cast
begin { @x = nsecs; @y = @x / 2; @z = pid % 3; print(10 / 3); } ;; signed operands
begin { $x = (uint64)-1; $y = (string[10])"hello"; $z = (int64)5; } ;; Unnecessary
begin { let $x; print(sizeof($x)); $x = 1; print($x); } ;; Variable
begin { let $x; $p = &$x; print($p); $x = 3; } ;; Variable
begin { @[1] = 1; print(@); for ($kv : @) { print($kv); } } ;; in a loop
begin { @ = count(); print(@, 3); } ;; arguments are ignored
"""
