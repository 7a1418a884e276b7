#!/usr/bin/env -S sonde -s
/*
 * What happens each second: system calls, context switches, wake-ups, new
 * processes. Counts that a second's line shows are taken back from the next
 * one exactly: their sum over all lines is what happened.
 *
 * Run: sonde -s rates.d            the whole system, until ^C
 *
 *      SYSCALLS   SWITCHES    WAKEUPS      FORKS
 *           246        172         93          0
 *           203        117         59          0
 *            59         46         24          0
 */

#pragma D option quiet

BEGIN
{
        printf("%13s %10s %10s %10s\n",
            "SYSCALLS", "SWITCHES", "WAKEUPS", "FORKS");
}

syscall:::entry               { @syscalls = count(); }
rawtp:::sched_switch          { @switches = count(); }
rawtp:::sched_wakeup          { @wakeups = count(); }
rawtp:::sched_process_fork    { @forks = count(); }

tick-1s, END
{
        printa("%@13d %@10d %@10d %@10d\n",
            @syscalls, @switches, @wakeups, @forks);
        clear(@syscalls);
        clear(@switches);
        clear(@wakeups);
        clear(@forks);
}
