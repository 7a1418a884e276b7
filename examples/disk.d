#!/usr/bin/env -S sonde -s
/*
 * Disk input and output: the time from start to done, by device, in
 * microseconds, and the bytes.
 *
 * Everybody's, also with -c or -p: what a process has written goes to the disk
 * later, and in the name of nobody.
 *
 * Run: sonde -s disk.d             the whole system, until ^C
 *
 *   vda read
 *            value  ------------- Distribution ------------- count
 *               64 |                                         0
 *              128 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 25
 *              256 |                                         0
 */

#pragma D option quiet

io:::start
{
        begun[args[0]->b_edev, args[0]->b_lblkno] = timestamp;
}

io:::done
/begun[args[0]->b_edev, args[0]->b_lblkno]/
{
        this->spent = timestamp - begun[args[0]->b_edev, args[0]->b_lblkno];
        this->kind = args[0]->b_flags & B_READ ? "read" : "write";
        @time[args[1]->dev_statname, this->kind] =
            quantize(this->spent / 1000);
        @bytes[args[1]->dev_statname, this->kind] = sum(args[0]->b_bcount);
        begun[args[0]->b_edev, args[0]->b_lblkno] = 0;
}

END
{
        printa("  %s %s%@d\n", @time);
        printa("  %-16s %-5s %@12d bytes\n", @bytes);
}
