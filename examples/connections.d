#!/usr/bin/env -S sonde -s
/*
 * TCP connections as they are made, from here and to here.
 *
 * Everybody's, also with -c or -p: the kernel's network code runs on behalf of
 * whoever it has interrupted.
 *
 * Run: sonde -s connections.d      the whole system, until ^C
 *
 * EVENT     LOCAL                         REMOTE
 * connected 127.0.0.1:40112               127.0.0.1:8080
 * accepted  127.0.0.1:8080                127.0.0.1:40112
 */

#pragma D option quiet

BEGIN
{
        printf("%-9s %-29s %s\n", "EVENT", "LOCAL", "REMOTE");
}

tcp:::connect-established
{
        printf("%-9s %-29s %s:%d\n", "connected",
            strjoin(strjoin(args[3]->tcps_laddr, ":"),
            lltostr(args[3]->tcps_lport)),
            args[3]->tcps_raddr, args[3]->tcps_rport);
}

tcp:::accept-established
{
        printf("%-9s %-29s %s:%d\n", "accepted",
            strjoin(strjoin(args[3]->tcps_laddr, ":"),
            lltostr(args[3]->tcps_lport)),
            args[3]->tcps_raddr, args[3]->tcps_rport);
}
