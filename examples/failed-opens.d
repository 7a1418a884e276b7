#!/usr/bin/env -S sonde -s
/*
 * Files that could not be opened, and what happened on the way: every open is
 * watched, but only what belongs to one that fails is shown.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s failed-opens.d -c 'cat /etc/nothing'
 *
 * began to open
 *   off the CPU after 85 us
 *   cat: /etc/nothing: error 2 after 351 us
 */

#pragma D option quiet
#pragma D option nspec=64

syscall::openat:entry
/progenyof($target)/
{
        self->path = arg1;
        self->begin = timestamp;
        self->spec = speculation();
}

syscall::openat:entry
/self->spec/
{
        speculate(self->spec);
        printf("began to open\n");
}

rawtp:::sched_switch
/self->spec/
{
        speculate(self->spec);
        printf("  off the CPU after %d us\n",
            (timestamp - self->begin) / 1000);
}

syscall::openat:return
/self->spec && errno/
{
        speculate(self->spec);
        printf("  %s: %s: error %d after %d us\n", execname,
            copyinstr(self->path), errno, (timestamp - self->begin) / 1000);
}

syscall::openat:return
/self->spec && errno/
{
        commit(self->spec);
        self->spec = 0;
}

syscall::openat:return
/self->spec/
{
        discard(self->spec);
        self->spec = 0;
}
