#!/usr/bin/env -S sonde -s
/*
 * Processes as they begin, execute programs, and end.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s processes.d        the whole system, until ^C
 *      sonde -s processes.d -c 'sh -c "date; date"'
 *
 *     PID EVENT  DETAIL
 *   25737 fork   25738 by sh
 *   25738 exec   /usr/bin/date
 *   25738 exit   date after 2 ms
 */

#pragma D option quiet

BEGIN
{
        printf("%7s %-6s %s\n", "PID", "EVENT", "DETAIL");
}

/* sched_process_fork(struct task_struct *parent, struct task_struct *child) */
rawtp:::sched_process_fork
/args[1]->pid == args[1]->tgid && progenyof($target)/
{
        began[args[1]->pid] = timestamp;
        printf("%7d %-6s %d by %s\n", args[0]->tgid, "fork", args[1]->pid,
            execname);
}

/* sched_process_exec(struct task_struct *, pid_t, struct linux_binprm *) */
rawtp:::sched_process_exec
/progenyof($target)/
{
        printf("%7d %-6s %s\n", args[0]->pid, "exec",
            stringof(args[2]->filename));
}

/* sched_process_exit(struct task_struct *) */
rawtp:::sched_process_exit
/began[args[0]->pid]/
{
        printf("%7d %-6s %s after %d ms\n", args[0]->pid, "exit", execname,
            (timestamp - began[args[0]->pid]) / 1000000);
        began[args[0]->pid] = 0;
}
