#!/usr/bin/env -S sonde -s
/*
 * Signals as they are sent: who, which, to whom.
 *
 * signal_generate has (int sig, struct kernel_siginfo *, struct task_struct *
 * receiver, ...). The kernel itself sends some, on behalf of whoever runs.
 *
 * With -c or -p: what that process sends, and all that it starts.
 *
 * Run: sonde -s signals.d          the whole system, until ^C
 *
 * SENDER              PID SIG RECEIVER            PID
 * sh                25935  15 sh                25936
 * sh                25936  17 sh                25935
 */

#pragma D option quiet

BEGIN
{
        printf("%-16s %6s %3s %-16s %6s\n",
            "SENDER", "PID", "SIG", "RECEIVER", "PID");
}

rawtp:::signal_generate
/progenyof($target)/
{
        printf("%-16s %6d %3d %-16s %6d\n", execname, pid, args[0],
            stringof(args[2]->comm), args[2]->tgid);
}
