/*
 * Page faults where a program uses its data: an overflow handler in C. Each
 * fault runs it, and its result decides which ones are sampled. Those of code
 * that is executed for the first time are counted only.
 *
 * Build: bpf-gcc -O2 -gbtf -c faults.c
 *    or: clang -target bpf -O2 -g -c faults.c
 * Run:   sonde --object faults.o --dump -c 'sort /etc/services'
 *    or: sonde record -g --object faults.o -- sort /etc/services; perf report
 *    or, on either engine, where a clock finds it:
 *        sonde --object faults.o --attach fault=997hz -c 'sort /etc/services'
 *
 *             sort 4127/4127  [001] 18.071634: 1 ...: libc.so.6`_int_malloc+0xda9
 * ...
 * data = 61
 * code = 43
 */
#include "bpf.h"

/* struct bpf_perf_event_data of x86-64: the interrupted registers, then the sample. */
struct sample {
        u64 before[16];
        u64 ip;
        u64 after[4];
        u64 period;
        u64 address;
};

#define PAGE 4096

u64 data;
u64 code;

SEC("perf_event/software/page-faults/1")
int fault(struct sample *sample)
{
        if ((sample->address ^ sample->ip) < PAGE) {
                __sync_fetch_and_add(&code, 1);
                return 0;
        }
        __sync_fetch_and_add(&data, 1);
        return 1;
}

char LICENSE[] SEC("license") = "GPL";
