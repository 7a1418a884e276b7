#!/usr/bin/env -S sonde -s
/*
 * Files opened, by process.
 *
 * The name is read when the call returns: by then the kernel has used it, so
 * the page it is on is in memory.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s opens.d            the whole system, until ^C
 *      sonde -s opens.d -c 'man -w ls'
 *
 * PROCESS          FILE                                          COUNT
 * man              /dev/tty                                          1
 * man              /etc/ld.so.preload                                1
 * man              /etc/manpath.config                               1
 * ...
 */

#pragma D option quiet

syscall::open:entry, syscall::creat:entry
/progenyof($target)/
{
        self->path = arg0;
}

syscall::openat:entry, syscall::openat2:entry
/progenyof($target)/
{
        self->path = arg1;
}

syscall::open:return, syscall::creat:return,
syscall::openat:return, syscall::openat2:return
/self->path/
{
        @opens[execname, copyinstr(self->path)] = count();
        self->path = 0;
}

END
{
        printf("%-16s %-45s %5s\n", "PROCESS", "FILE", "COUNT");
        printa("%-16s %-45s %@5d\n", @opens);
}
