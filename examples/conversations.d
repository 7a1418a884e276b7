#!/usr/bin/env -S sonde -s
/*
 * Who talks to whom, on the network's own terms: packets and bytes by protocol
 * and the ends of each way, and the longest silence between two packets of it,
 * in ms. Packets come from a file, which needs no privileges, or from a device.
 * Everybody's, also with -c or -p: packets are sent in nobody's name.
 *
 * Run: sonde -s conversations.d --packets trace.pcapng
 *      sonde -s conversations.d        all devices, until ^C
 *
 * FROM            TO              PROTOCOL   PACKETS      BYTES    SILENCE
 * 192.0.2.7       198.51.100.9          17        31       2914        120
 * 192.0.2.7       198.51.100.9           6         1        104          0
 */

#pragma D option quiet

int64_t last[string, string, int];

packet:::
/args[0]->ip_ver/
{
        this->from = args[0]->ip_saddr;
        this->to = args[0]->ip_daddr;
        this->kind = args[0]->ip_protocol;
        this->before = last[this->from, this->to, this->kind];
        last[this->from, this->to, this->kind] = walltimestamp;
        @packets[this->from, this->to, this->kind] = count();
        @bytes[this->from, this->to, this->kind] = sum(args[0]->len);
        @silence[this->from, this->to, this->kind] =
            max(this->before ? (walltimestamp - this->before) / 1000000 : 0);
}

END
{
        printf("%-15s %-15s %8s %9s %10s %10s\n", "FROM", "TO", "PROTOCOL",
            "PACKETS", "BYTES", "SILENCE");
        printa("%-15s %-15s %8d %@9d %@10d %@10d\n", @packets, @bytes,
            @silence);
}
