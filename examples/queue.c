/*
 * A program with a queue of jobs, for jobs.c to look into.
 *
 * Build: gcc -g -O2 -o queue queue.c
 */
#include <stdio.h>
#include <string.h>

struct owner {
        char name[16];
        long served;
};

struct job {
        int id;
        long size;
        struct owner *owner;
};

static struct owner owners[2];
static long waiting = 7;
static int newest;

/* The work, which is not to become a part of main(). */
__attribute__((noinline)) long serve(const struct job *job, int attempt)
{
        waiting -= attempt == 1;
        newest = job->id > newest ? job->id : newest;
        job->owner->served += job->size;
        return job->size * attempt;
}

int main(int argc, char **argv)
{
        long total = 0;
        int id;

        strncpy(owners[0].name, argc > 1 ? argv[1] : "ada", 15);
        strncpy(owners[1].name, argc > 2 ? argv[2] : "grace", 15);
        for (id = 1; id <= 7; id++) {
                struct job job = { id, 1000L << id, &owners[id % 2] };
                int attempt;

                for (attempt = 1; attempt <= 1 + id % 3; attempt++)
                        total += serve(&job, attempt);
        }
        printf("%d jobs, %ld bytes\n", newest, total);
        for (id = 0; id < 2; id++)
                printf("%s: %ld\n", owners[id].name, owners[id].served);
        return 0;
}
