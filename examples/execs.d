#!/usr/bin/env -S sonde -s
/*
 * New programs: every successful exec, with its arguments, and every failed
 * one with its reason.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s execs.d            the whole system, until ^C
 *      sonde -s execs.d -c 'sh -c "ls -l /"'
 *
 *     PID    PPID    UID COMMAND
 *   26013   26011      0 sh -c ls -l /
 *   26014   26013      0 ls -l /
 */

#pragma D option quiet

BEGIN
{
        printf("%7s %7s %6s %s\n", "PID", "PPID", "UID", "COMMAND");
}

proc:::exec
/progenyof($target)/
{
        self->path = args[0];
}

proc:::exec-success
/progenyof($target)/
{
        printf("%7d %7d %6d %s\n", pid, ppid, uid, curpsinfo->pr_psargs);
        self->path = 0;
}

proc:::exec-failure
/progenyof($target)/
{
        printf("%7d %7d %6d %s: error %d\n", pid, ppid, uid, self->path,
            -args[0]);
        self->path = 0;
}
