#!/usr/bin/env -S sonde -s
/*
 * How often processes leave the CPU, and how long they stay away.
 *
 * sched_switch(bool preempt, struct task_struct *prev, *next, ...) fires on
 * the CPU that switches. Thread 0 is the idle task.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s offcpu.d           the whole system, until ^C
 *      sonde -s offcpu.d -c 'sleep 1'
 *
 * PROCESS          SWITCHES   AWAY (MS)
 * kcompactd0              2         511
 * sleep                   2        1000
 * rcu_preempt            11         307
 */

#pragma D option quiet

rawtp:::sched_switch
/args[1]->pid && progenyof($target)/
{
        left[args[1]->pid] = timestamp;
        @switches[stringof(args[1]->comm)] = count();
}

rawtp:::sched_switch
/args[2]->pid && left[args[2]->pid]/
{
        @away[stringof(args[2]->comm)] =
            sum(timestamp - left[args[2]->pid]);
        left[args[2]->pid] = 0;
}

END
{
        normalize(@away, 1000000);
        printf("%-16s %8s %11s\n", "PROCESS", "SWITCHES", "AWAY (MS)");
        printa("%-16s %@8d %@11d\n", @switches, @away);
}
