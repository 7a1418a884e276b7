#!/usr/bin/env -S sonde -s
/*
 * Bytes read, by process and file descriptor, and how many reads it took.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s fd-bytes.d         the whole system, until ^C
 *      sonde -s fd-bytes.d -c 'sort /etc/passwd'
 *
 * PROCESS            FD   READS        BYTES
 * sort                3       4         4217
 */

#pragma D option quiet

syscall::read:entry, syscall::pread64:entry, syscall::readv:entry
/progenyof($target)/
{
        self->fd = arg0;
        self->reading = 1;
}

syscall::read:return, syscall::pread64:return, syscall::readv:return
/self->reading && arg0 >= 0/
{
        @reads[execname, self->fd] = count();
        @bytes[execname, self->fd] = sum(arg0);
}

syscall::read:return, syscall::pread64:return, syscall::readv:return
{
        self->reading = 0;
}

END
{
        printf("%-16s %4s %7s %12s\n", "PROCESS", "FD", "READS", "BYTES");
        printa("%-16s %4d %@7d %@12d\n", @reads, @bytes);
}
