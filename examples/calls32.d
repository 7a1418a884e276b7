#!/usr/bin/env -S sonde -s
/*
 * System calls made through the 32-bit table, by process. They have numbers
 * and names of their own: the module is ia32.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s calls32.d          the whole system, until ^C
 *      sonde -s calls32.d -c ./a-32-bit-program
 *
 * PROCESS          CALL                       COUNT
 * a-32-bit-progra  write                          1
 * a-32-bit-progra  exit_group                     1
 */

#pragma D option quiet

syscall:ia32::entry
/progenyof($target)/
{
        @calls[execname, probefunc] = count();
}

END
{
        printf("%-16s %-24s %7s\n", "PROCESS", "CALL", "COUNT");
        printa("%-16s %-24s %@7d\n", @calls);
}
