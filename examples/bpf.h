/* What the C programs of these examples need, for bpf-gcc and clang alike: sections, maps, and the helpers they call.
   libbpf's bpf_helpers.h declares all of them; gcc 12 mixes its pointers up where a helper is called twice. */
#ifndef EXAMPLES_BPF_H
#define EXAMPLES_BPF_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) __typeof__(value) *name
#define __array(name, value) __typeof__(value) *name[]

#ifdef __clang__
#define HELPER(number, result, name, ...) static result (*const name)(__VA_ARGS__) = (void *)number
#else
#define HELPER(number, result, name, ...) result name(__VA_ARGS__) __attribute__((kernel_helper(number)))
#endif

HELPER(1, void *, bpf_map_lookup_elem, void *map, const void *key);
HELPER(2, long, bpf_map_update_elem, void *map, const void *key, const void *value, u64 flags);
HELPER(5, u64, bpf_ktime_get_ns, void);
HELPER(6, long, bpf_trace_printk, const char *format, u32 size, ...);
HELPER(8, u32, bpf_get_smp_processor_id, void);
HELPER(12, long, bpf_tail_call, void *context, void *map, u32 index);
HELPER(14, u64, bpf_get_current_pid_tgid, void);
HELPER(16, long, bpf_get_current_comm, void *buffer, u32 size);
HELPER(25, long, bpf_perf_event_output, void *context, void *map, u64 flags, void *data, u64 size);
HELPER(26, long, bpf_skb_load_bytes, const void *context, u32 offset, void *to, u32 size);
HELPER(35, u64, bpf_get_current_task, void);
HELPER(112, long, bpf_probe_read_user, void *to, u32 size, const void *from);
HELPER(113, long, bpf_probe_read_kernel, void *to, u32 size, const void *from);
HELPER(114, long, bpf_probe_read_user_str, void *to, u32 size, const void *from);
HELPER(130, long, bpf_ringbuf_output, void *ring, void *data, u64 size, u64 flags);
HELPER(131, void *, bpf_ringbuf_reserve, void *ring, u64 size, u64 flags);
HELPER(132, void, bpf_ringbuf_submit, void *data, u64 flags);
HELPER(133, void, bpf_ringbuf_discard, void *data, u64 flags);
HELPER(158, void *, bpf_get_current_task_btf, void);
HELPER(174, u64, bpf_get_attach_cookie, void *context);
HELPER(181, long, bpf_loop, u32 count, void *callback, void *context, u64 flags);

/* The variables of the program's probe line, fetched to a place of its own where it asks for them: 0, or the negative
   error of the first that cannot be read. sonde makes the function (docs/variables.md). */
extern long bpf_fetch_variables(void *context, void *place, u64 size);

/* Room in the perf ring of an array of perf events itself, to be filled and then committed: 0 if there is none. The
   flags of the second: 1, readers are to pass over it. The embedded engine of sonde alone has them. */
HELPER(65541, void *, bpf_perf_event_reserve, void *map, u64 size, u64 flags);
HELPER(65542, void, bpf_perf_event_commit, void *data, u64 flags);

/* The context of a general program, SEC("probe") or SEC("probe/SECTION"), which the embedded engine of sonde runs:
   the same whatever fired it, or fired the program that called it by bpf_tail_call(). */
struct probe {
        u64 registers[21]; /* struct pt_regs of the process where it happened, zeros where that is not known */
        u64 arguments[10]; /* of the system call, of the tracepoint, ...; 0 behind the last */
        u64 cookie;        /* of the attachment, as bpf_get_attach_cookie() gives it */
        u32 count;         /* of arguments */
        u32 error;         /* errno of a system call that is returning, else 0 */
        u32 number;        /* of what fired: its name by bpf_probe_name() */
        u32 kind;          /* the BPF program type of that: 5 tracepoint, 7 perf_event, 17 raw_tp, 26 tp_btf */
};

/* What fired, as the section says it: "tracepoint/syscalls/sys_enter_openat". The length of the text with its NUL. */
HELPER(65543, long, bpf_probe_name, void *context, char *text, u32 size);

#define bpf_printk(text, ...) \
    ({ static const char format[] = text; bpf_trace_printk(format, sizeof format, ##__VA_ARGS__); })

#endif
