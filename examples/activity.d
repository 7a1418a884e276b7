#!/usr/bin/env -S sonde -s
/*
 * What programs do: system calls, samples on a CPU, programs they begin.
 *
 * One clause, for probes that are fired in three ways. It knows its probe's
 * names, never what fired it: without root there is one program with the
 * clause, a general probe, and each way has an adapter of six instructions
 * that calls it; with root there is a program for each way (-v tells both).
 *
 * With -c or -p: that process, and all that it starts.
 *
 * Run: sonde -s activity.d          the whole system, until ^C
 *      sonde -s activity.d -c 'make'
 *
 * PROGRAM          EVENT             COUNT
 * cc1              profile-97           81
 * cc1              entry              1930
 * make             exec-success         12
 */

#pragma D option quiet

syscall:::entry,
profile-97,
proc:::exec-success
/progenyof($target)/
{
        @events[execname, probename] = count();
}

END
{
        printf("%-16s %-12s %10s\n", "PROGRAM", "EVENT", "COUNT");
        printa("%-16s %-12s %@10d\n", @events);
}
