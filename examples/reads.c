/*
 * Bytes that processes read, and reads that fail: BPF in C, run by sonde.
 *
 * Build: bpf-gcc -O2 -gbtf -c reads.c
 *    or: clang -target bpf -O2 -g -c reads.c
 * Run:   sonde --object reads.o --dump -c 'cat /etc/hostname /'
 *
 * failed: {.comm = "cat", .error = 21}
 * bytes[{.comm = "cat"}] = 2999
 * ...
 */
#include "bpf.h"

struct name {
        char comm[16];
};

struct {
        __uint(type, 1); /* a hash */
        __uint(max_entries, 1024);
        __type(key, struct name);
        __type(value, u64);
} bytes SEC(".maps");

struct failure {
        char comm[16];
        int error;
};

struct {
        __uint(type, 27); /* a ring buffer */
        __uint(max_entries, 65536);
        __type(value, struct failure);
} failed SEC(".maps");

/* The event's record, as its format file in tracefs has it. */
struct finished {
        u64 common;
        s64 number;
        s64 result;
};

static __attribute__((noinline)) int count(u64 amount)
{
        struct name name;
        u64 *known;

        bpf_get_current_comm(name.comm, sizeof name.comm);
        known = bpf_map_lookup_elem(&bytes, &name);
        if (known)
                __sync_fetch_and_add(known, amount);
        else
                bpf_map_update_elem(&bytes, &name, &amount, 0);
        return 0;
}

SEC("tracepoint/syscalls/sys_exit_read")
int read_returned(struct finished *context)
{
        struct failure *record;

        if (context->result >= 0)
                return count(context->result);
        record = bpf_ringbuf_reserve(&failed, sizeof *record, 0);
        if (!record)
                return 0;
        bpf_get_current_comm(record->comm, sizeof record->comm);
        record->error = -context->result;
        bpf_ringbuf_submit(record, 0);
        return 0;
}

char LICENSE[] SEC("license") = "GPL";
