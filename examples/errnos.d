#!/usr/bin/env -S sonde -s
/*
 * System calls that fail, by process, call and error number (errno(3)).
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s errnos.d           the whole system, until ^C
 *      sonde -s errnos.d -c 'ls /nowhere'
 *
 * PROCESS          CALL                     ERRNO   COUNT
 * ls               ioctl                       25       1
 * ls               statx                        2       2
 * ls               openat                       2      19
 */

#pragma D option quiet

syscall:::return
/errno && progenyof($target)/
{
        @failed[execname, probefunc, errno] = count();
}

END
{
        printf("%-16s %-24s %5s %7s\n", "PROCESS", "CALL", "ERRNO", "COUNT");
        printa("%-16s %-24s %5d %@7d\n", @failed);
}
