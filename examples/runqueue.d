#!/usr/bin/env -S sonde -s
/*
 * Run-queue latency: how long threads that could run wait for a CPU, in
 * nanoseconds. A system with CPUs to spare shows microseconds.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s runqueue.d         the whole system, until ^C
 *      sonde -s runqueue.d -c 'make -j8'
 *
 *   nanoseconds
 *            value  ------------- Distribution ------------- count
 *              512 |                                         0
 *             1024 |@                                        2
 *             2048 |@@                                       3
 *             4096 |@@@                                      5
 *             8192 |@@@@@                                    10
 *            16384 |@@@@@@@@@@@@@@@@                         31
 *            32768 |@@@@@@@@@@@@@                            25
 *            65536 |@                                        1
 *           131072 |                                         0
 */

#pragma D option quiet

/* Whoever leaves the CPU, and the threads that are started. */
rawtp:::sched_switch
/progenyof($target)/
{
        ours[args[1]->pid] = 1;
}

rawtp:::sched_wakeup_new
/progenyof($target)/
{
        ours[args[0]->pid] = 1;
}

rawtp:::sched_wakeup, rawtp:::sched_wakeup_new
/ours[args[0]->pid]/
{
        queued[args[0]->pid] = timestamp;
}

/* Preempted: it goes back into the queue at once. */
rawtp:::sched_switch
/args[0] && args[1]->pid && ours[args[1]->pid]/
{
        queued[args[1]->pid] = timestamp;
}

rawtp:::sched_switch
/queued[args[2]->pid]/
{
        @["nanoseconds"] = quantize(timestamp - queued[args[2]->pid]);
        queued[args[2]->pid] = 0;
}

rawtp:::sched_process_free
{
        ours[args[0]->pid] = 0;
}

END
{
        printa("  %s%@d\n", @);
}
