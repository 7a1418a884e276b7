#!/usr/bin/env -S sonde -s
/*
 * How much each process reads and writes at a time, in bytes.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s io-sizes.d         the whole system, until ^C
 *      sonde -s io-sizes.d -c 'tar cf /tmp/x.tar /usr/include/linux'
 *
 *   write                       tar
 *            value  ------------- Distribution ------------- count
 *             4096 |                                         0
 *             8192 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 516
 *            16384 |                                         0
 */

#pragma D option quiet

syscall::read:return, syscall::readv:return, syscall::pread64:return,
syscall::write:return, syscall::writev:return, syscall::pwrite64:return
/arg0 >= 0 && progenyof($target)/
{
        @sizes[probefunc, execname] = quantize(arg0);
}

END
{
        printa("  %-27s %s%@d\n", @sizes);
}
