/*
 * Jobs that a program serves: all are counted, and one of three is told with
 * the program's own variables, which are fetched where the object asks for
 * them. Of the others nothing is read.
 *
 * Build: gcc -g -O2 -o queue queue.c
 *        bpf-gcc -O2 -gbtf -c jobs.c
 *    or: clang -target bpf -O2 -g -c jobs.c
 *        for another place than here, -DPROGRAM='"/usr/bin/queue"'
 * Run:   sonde --object jobs.o --dump -c ./queue
 *    or: sonde --object jobs.o --dump -D every=1 -c ./queue
 *
 * served: {.attempt = 1, .job_id = 1, .job_size = 2000, ...}
 * ...
 * jobs = 14
 */
#include "bpf.h"

#ifndef PROGRAM
#define PROGRAM "./queue"
#endif

char lines[] SEC("config") =
        "exec=" PROGRAM "\n"
        "work=serve attempt job->id job->size job->owner->name waiting\n";

/* A member for each variable of the line: sonde vars --struct ./queue serve
   attempt 'job->id' 'job->size' 'job->owner->name' waiting */
struct job_variables {
        int attempt;
        int job_id;
        long job_size;
        char job_owner_name[16];
        long waiting;
};

struct {
        __uint(type, 27); /* a ring buffer */
        __uint(max_entries, 65536);
        __type(value, struct job_variables);
} served SEC(".maps");

const volatile u32 every = 3;
u64 jobs;

/* The verifier follows each call with the place that it is given: one that has
   too little room is refused, with the bytes that the variables take. */
static __attribute__((noinline)) int tell(void *context)
{
        struct job_variables *job;

        job = bpf_ringbuf_reserve(&served, sizeof *job, 0);
        if (!job)
                return 0;
        if (bpf_fetch_variables(context, job, sizeof *job))
                bpf_ringbuf_discard(job, 0);
        else
                bpf_ringbuf_submit(job, 0);
        return 0;
}

SEC("work")
int on_work(void *context)
{
        u64 before = jobs++;

        return every && before % every ? 0 : tell(context);
}

char LICENSE[] SEC("license") = "GPL";
