#!/usr/bin/env -S sonde -s
/*
 * How long system calls take, in nanoseconds, a histogram for each.
 *
 * A variable of self belongs to the thread, so a call that sleeps is matched
 * with its own beginning however many others run meanwhile.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s syscall-latency.d -c 'ls -l /usr/bin'
 *
 *   statx
 *            value  ------------- Distribution ------------- count
 *              512 |                                         0
 *             1024 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@  1073
 *             2048 |@                                        38
 *             4096 |                                         1
 *             8192 |                                         0
 *            16384 |                                         0
 *            32768 |                                         1
 *            65536 |                                         0
 */

#pragma D option quiet

syscall:::entry
/progenyof($target)/
{
        self->start = timestamp;
}

syscall:::return
/self->start/
{
        @nanoseconds[probefunc] = quantize(timestamp - self->start);
        self->start = 0;
}

END
{
        printa("  %s%@d\n", @nanoseconds);
}
