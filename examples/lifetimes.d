#!/usr/bin/env -S sonde -s
/*
 * How long processes live, in milliseconds, by the name they end with.
 *
 * With -c or -p: processes that this one starts, and those in turn.
 *
 * Run: sonde -s lifetimes.d        the whole system, until ^C
 *      sonde -s lifetimes.d -c 'make'
 *
 *   sleep
 *            value  ------------- Distribution ------------- count
 *               32 |                                         0
 *               64 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 12
 *              128 |                                         0
 */

#pragma D option quiet

proc:::start
/progenyof($target)/
{
        born[pid] = timestamp;
}

proc:::exit
/born[pid]/
{
        @[execname] = quantize((timestamp - born[pid]) / 1000000);
        born[pid] = 0;
}

END
{
        printa("  %s%@d\n", @);
}
