#!/usr/bin/env -S sonde -s
/*
 * What happens each second: system calls, context switches, wake-ups, new
 * processes. Counts that a second's line shows are taken back from the next
 * one exactly: their sum over all lines is what happened.
 *
 * With -c or -p: that process and all that it starts.
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

syscall:::entry            /progenyof($target)/ { @syscalls = count(); }
rawtp:::sched_switch       /progenyof($target)/ { @switches = count(); }
rawtp:::sched_wakeup       /progenyof($target)/ { @wakeups = count(); }
rawtp:::sched_process_fork /progenyof($target)/ { @forks = count(); }

tick-1s, END
{
        printa("%@13d %@10d %@10d %@10d\n",
            @syscalls, @switches, @wakeups, @forks);
        clear(@syscalls);
        clear(@switches);
        clear(@wakeups);
        clear(@forks);
}
