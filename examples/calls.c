/*
 * What processes do, told by one program for all kinds of events: general BPF programs, run by the embedded engine of
 * sonde without privileges.
 *
 * Programs of four types call the same general program, which no kernel lets them do: there a program calls those of
 * its own type alone. That one counts by what fired, and calls another for what failed.
 *
 * Build: bpf-gcc -O2 -gbtf -mco-re -c calls.c
 *    or: clang -target bpf -O2 -g -c calls.c
 * Run:   sonde --engine embedded --object calls.o --dump -c 'cat /etc/hostname /'
 *
 * tracepoint/syscalls/sys_exit_read failed: errno 21
 * happened[{.text = "raw_tp/sched_process_exit"}] = 1
 * happened[{.text = "tracepoint/syscalls/sys_exit_read"}] = 3
 * ...
 */
#include "bpf.h"

struct name {
        char text[48];
};

struct {
        __uint(type, 1); /* a hash */
        __uint(max_entries, 64);
        __type(key, struct name);
        __type(value, u64);
} happened SEC(".maps");

int any(struct probe *), failed(struct probe *);

struct {
        __uint(type, 3); /* an array of programs */
        __uint(key_size, 4);
        __uint(max_entries, 2);
        __array(values, int(void *));
} general SEC(".maps") = {.values = {[0] = (void *)&any, [1] = (void *)&failed}};

SEC("probe")
int failed(struct probe *probe)
{
        struct name name = {};

        bpf_probe_name(probe, name.text, sizeof name.text);
        bpf_printk("%s failed: errno %d", name.text, probe->error);
        return 0;
}

SEC("probe")
int any(struct probe *probe)
{
        struct name name = {};
        u64 one = 1, *known;

        bpf_probe_name(probe, name.text, sizeof name.text);
        known = bpf_map_lookup_elem(&happened, &name);
        if (known)
                *known += 1;
        else
                bpf_map_update_elem(&happened, &name, &one, 0);
        if (probe->error)
                bpf_tail_call(probe, &general, 1);
        return 0;
}

SEC("tracepoint/syscalls/sys_exit_read")
int on_read(void *context)
{
        bpf_tail_call(context, &general, 0);
        return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(void *context)
{
        bpf_tail_call(context, &general, 0);
        return 0;
}

SEC("tp_btf/sched_process_exec")
int on_exec(void *context)
{
        bpf_tail_call(context, &general, 0);
        return 0;
}

SEC("perf_event/software/cpu-clock/500hz")
int on_clock(void *context)
{
        bpf_tail_call(context, &general, 0);
        return 0;
}

/* A general program may be fired itself, by what any of the others are fired by. */
SEC("probe/tracepoint/syscalls/sys_enter_openat")
int on_open(struct probe *probe)
{
        bpf_tail_call(probe, &general, 0);
        return 0;
}

char LICENSE[] SEC("license") = "GPL";
