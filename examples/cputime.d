#!/usr/bin/env -S sonde -s
/*
 * Where the time of system calls goes: elapsed, and on the CPU. A call that
 * computes has both alike, one that waits has little of the second.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s cputime.d -c 'gzip -k /tmp/file'
 *
 * CALL                    COUNT   ELAPSED us       CPU us
 * read                       12          311          298
 * clock_nanosleep             1       100121           31
 */

#pragma D option quiet

syscall:::entry
/progenyof($target)/
{
        self->begin = timestamp;
        self->cpu = vtimestamp;
}

syscall:::return
/self->begin/
{
        @count[probefunc] = count();
        @elapsed[probefunc] = sum(timestamp - self->begin);
        @cpu[probefunc] = sum(vtimestamp - self->cpu);
        self->begin = 0;
}

END
{
        normalize(@elapsed, 1000);
        normalize(@cpu, 1000);
        printf("%-20s %8s %12s %12s\n", "CALL", "COUNT", "ELAPSED us",
            "CPU us");
        printa("%-20s %@8d %@12d %@12d\n", @count, @elapsed, @cpu);
}
