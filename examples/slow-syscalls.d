#!/usr/bin/env -S sonde -s
/*
 * System calls that take longer than so many milliseconds (10, or what the
 * argument says), as they return.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s slow-syscalls.d         the whole system, until ^C
 *      sonde -s slow-syscalls.d 100
 *      sonde -s slow-syscalls.d -c 'sleep 0.5'
 *
 * PROCESS             PID CALL                          MS RESULT
 * sleep             25727 clock_nanosleep              500      0
 */

#pragma D option quiet
#pragma D option defaultargs

BEGIN
{
        limit = ($1 ? $1 : 10) * 1000000;
        printf("%-16s %6s %-24s %7s %6s\n",
            "PROCESS", "PID", "CALL", "MS", "RESULT");
}

syscall:::entry
/progenyof($target)/
{
        self->start = timestamp;
}

syscall:::return
/self->start && timestamp - self->start >= limit/
{
        printf("%-16s %6d %-24s %7d %6d\n", execname, pid, probefunc,
            (timestamp - self->start) / 1000000, arg0);
}

syscall:::return
{
        self->start = 0;
}
