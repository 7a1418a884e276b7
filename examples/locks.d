#!/usr/bin/env -S sonde -s
/*
 * Waiting for the kernel's locks: how often, how long, and where.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s locks.d            the whole system, until ^C
 *
 * KIND              WAITS   NANOSECONDS
 * adaptive-block       31        912345
 * ...
 */

#pragma D option quiet

lockstat:::
/progenyof($target)/
{
        @waits[probename] = count();
        @time[probename] = sum(arg1);
        @where[probename, stack(5)] = sum(arg1);
}

END
{
        printf("%-16s %8s %13s\n", "KIND", "WAITS", "NANOSECONDS");
        printa("%-16s %@8d %@13d\n", @waits, @time);
        trunc(@where, 3);
        printf("\nThe longest waits began at\n");
        printa("%s %k %@d ns\n", @where);
}
