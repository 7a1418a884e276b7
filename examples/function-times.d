#!/usr/bin/env -S sonde -s
/*
 * Which functions of a program or library are called, how often, and how long
 * they take with all that they call.
 *
 * The arguments are an object and the functions' names, both may be patterns.
 *
 * Of the process of -c or -p alone, not of those that it starts.
 *
 * Run: sonde -s function-times.d -c './program' a.out '*'
 *      sonde -s function-times.d -p PID libz 'inflate*'
 *
 * FUNCTION                            CALLS      TOTAL us    LONGEST us
 * crc32                                   7           193            45
 * deflate                                 7          1827           389
 * ...
 */

#pragma D option quiet

pid$target:$1:$2:entry
{
        self->depth++;
        self->start[self->depth] = timestamp;
}

pid$target:$1:$2:return
/self->depth/
{
        this->time = (timestamp - self->start[self->depth]) / 1000;
        self->start[self->depth] = 0;
        self->depth--;
        @calls[probefunc] = count();
        @total[probefunc] = sum(this->time);
        @longest[probefunc] = max(this->time);
}

END
{
        printf("%-30s %10s %13s %13s\n",
            "FUNCTION", "CALLS", "TOTAL us", "LONGEST us");
        printa("%-30s %@10d %@13d %@13d\n", @calls, @total, @longest);
}
