#!/usr/bin/env -S sonde -s
/*
 * Page faults of processes, by the code that caused them.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s pagefaults.d -c 'ls -lR /usr/share'
 *
 *   ls                         libc.so.6`__memset_avx2_unaligned      57
 */

#pragma D option quiet

rawtp:exceptions::page_fault_user
/progenyof($target)/
{
        @[execname, ufunc(args[1]->ip)] = count();
}

END
{
        trunc(@, 20);
        printa("  %-16s %-45A %@6d\n", @);
}
