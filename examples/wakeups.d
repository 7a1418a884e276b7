#!/usr/bin/env -S sonde -s
/*
 * Who wakes whom: the chains along which work is handed on.
 *
 * With -c or -p: whom that process wakes, and all that it starts. An interrupt
 * wakes in the name of whoever it has interrupted.
 *
 * Run: sonde -s wakeups.d          the whole system, until ^C
 *
 * WAKER            SLEEPER            COUNT
 * dd               cat                  812
 * cat              dd                   811
 */

#pragma D option quiet

sched:::wakeup
/progenyof($target)/
{
        @[execname, args[1]->pr_fname] = count();
}

END
{
        printf("%-16s %-16s %7s\n", "WAKER", "SLEEPER", "COUNT");
        printa("%-16s %-16s %@7d\n", @);
}
