#!/usr/bin/env -S sonde -s
/*
 * How processes end: normally, by a signal, or with a core dump.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s exits.d            the whole system, until ^C
 *
 * PROCESS          END                                           COUNT
 * sh               exited                                           12
 * sleep            killed                                            2
 */

#pragma D option quiet

proc:::exit
/progenyof($target)/
{
        @[execname, args[0] == CLD_EXITED ? "exited" :
            args[0] == CLD_KILLED ? "killed" :
            args[0] == CLD_DUMPED ? "dumped core" : "?"] = count();
}

END
{
        printf("%-16s %-45s %5s\n", "PROCESS", "END", "COUNT");
        printa("%-16s %-45s %@5d\n", @);
}
