#!/usr/bin/env -S sonde -s
/*
 * Which process writes most, and to which files: the ten first by bytes.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s writers.d          the whole system, until ^C
 *      sonde -s writers.d -c 'cp -r /etc /tmp/etc'
 *
 * PROCESS          FILE                                          BYTES
 * bash             <pipe>                                         4096
 * cp               /tmp/etc/services                             12813
 * cp               /tmp/etc/mime.types                           74378
 */

#pragma D option quiet

syscall::write:entry, syscall::pwrite64:entry, syscall::writev:entry,
syscall::sendfile64:entry
/progenyof($target)/
{
        self->fd = arg0 + 1;
}

syscall::copy_file_range:entry
/progenyof($target)/
{
        self->fd = arg2 + 1;
}

syscall:::return
/self->fd && arg0 > 0/
{
        @bytes[execname, fds[self->fd - 1].fi_pathname] = sum(arg0);
}

syscall:::return
/self->fd/
{
        self->fd = 0;
}

END
{
        trunc(@bytes, 10);
        printf("%-16s %-40s %10s\n", "PROCESS", "FILE", "BYTES");
        printa("%-16s %-40s %@10d\n", @bytes);
}
