/*
 * Packets behind records of one's own: the kernel appends as much of a packet
 * as the upper half of the flags says, wherever it is, in one copy. Of packets
 * that carry UDP the first 96 bytes are taken, behind what is known of them.
 *
 * Build: bpf-gcc -O2 -gbtf -c captures.c
 *    or: clang -target bpf -O2 -g -c captures.c
 * Run:   sonde --object captures.o --device lo -o captures.pcapng
 *    or: sonde --object captures.o --packets FILE.pcapng, without privileges
 *
 * samples: {.ifindex = 1, .length = 53, .captured = 53, .leaves = 1}, 53 of 53 bytes
 *             0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f  0123456789abcdef
 *         0: 00 00 00 00 00 00 00 00 00 00 00 00 08 00 45 00  ..............E.
 * ...
 */
#include "bpf.h"

/* The beginning of struct __sk_buff, which the context is. */
struct packet {
        u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority;
        u32 ingress_ifindex, ifindex;
};

/* A record's head. By `captured` whoever reads it knows where the packet ends. */
struct sample {
        u32 ifindex;
        u32 length;
        u32 captured;
        u32 leaves;
};

struct {
        __uint(type, 4); /* an array of perf events */
        __uint(key_size, 4);
        __uint(value_size, 4);
} samples SEC(".maps");

#define MOST 96
#define THIS_CPU 0xffffffffULL
#define IPV4 0x0008 /* in network order */
#define PROTOCOL (14 + 9)
#define UDP 17
#define NEXT (-1) /* TCX_NEXT: the packet goes on */

static inline __attribute__((always_inline)) int take(struct packet *packet, u32 leaves)
{
        struct sample sample = {packet->ifindex, packet->len, packet->len, leaves};
        u8 protocol = 0;

        if (packet->protocol != IPV4 || bpf_skb_load_bytes(packet, PROTOCOL, &protocol, 1) || protocol != UDP)
                return NEXT;
        if (sample.captured > MOST)
                sample.captured = MOST;
        bpf_perf_event_output(packet, &samples, (u64)sample.captured << 32 | THIS_CPU, &sample, sizeof sample);
        return NEXT;
}

SEC("tcx/ingress")
int arrives(struct packet *packet)
{
        return take(packet, 0);
}

SEC("tcx/egress")
int leaves(struct packet *packet)
{
        return take(packet, 1);
}

char LICENSE[] SEC("license") = "GPL";
