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
HELPER(35, u64, bpf_get_current_task, void);
HELPER(112, long, bpf_probe_read_user, void *to, u32 size, const void *from);
HELPER(113, long, bpf_probe_read_kernel, void *to, u32 size, const void *from);
HELPER(114, long, bpf_probe_read_user_str, void *to, u32 size, const void *from);
HELPER(130, long, bpf_ringbuf_output, void *ring, void *data, u64 size, u64 flags);
HELPER(131, void *, bpf_ringbuf_reserve, void *ring, u64 size, u64 flags);
HELPER(132, void, bpf_ringbuf_submit, void *data, u64 flags);
HELPER(158, void *, bpf_get_current_task_btf, void);
HELPER(181, long, bpf_loop, u32 count, void *callback, void *context, u64 flags);

#define bpf_printk(text, ...) \
    ({ static const char format[] = text; bpf_trace_printk(format, sizeof format, ##__VA_ARGS__); })

#endif
