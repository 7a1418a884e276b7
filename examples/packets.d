#!/usr/bin/env -S sonde -s
/*
 * IP traffic by peer: packets and bytes, sent and received.
 *
 * Everybody's, also with -c or -p: the kernel's network code runs on behalf of
 * whoever it has interrupted.
 *
 * Run: sonde -s packets.d          the whole system, until ^C
 *
 * DIRECTION PEER                                     PACKETS      BYTES
 * received  127.0.0.1                                     10        840
 * sent      127.0.0.1                                     10        840
 */

#pragma D option quiet

ip:::send
{
        @packets["sent", args[2]->ip_daddr] = count();
        @bytes["sent", args[2]->ip_daddr] = sum(args[2]->ip_plength);
}

ip:::receive
{
        @packets["received", args[2]->ip_saddr] = count();
        @bytes["received", args[2]->ip_saddr] = sum(args[2]->ip_plength);
}

END
{
        printf("%-9s %-38s %9s %10s\n", "DIRECTION", "PEER", "PACKETS",
            "BYTES");
        printa("%-9s %-38s %@9d %@10d\n", @packets, @bytes);
}
