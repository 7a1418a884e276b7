# gdb without starting anything: symbols and a disassembly. A traced program can have no other tracer.
# needs: gdb gcc
printf 'int twice(int x) { return 2 * x; }\nint main(void) { return twice(3); }\n' > g.c; gcc -g -o g g.c
gdb -q -nx -batch -ex 'info line twice' -ex 'ptype twice' -ex 'print sizeof(long)' ./g 2>&1 | sed 's/ 0x[0-9a-f]*//g'
