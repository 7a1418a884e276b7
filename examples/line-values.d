#!/usr/bin/env -S sonde -s
/*
 * Which values a variable has, each time a program comes to a line of its
 * source.
 *
 * The arguments are FILE@LINE and the variable, as the source has it there;
 * the program needs debug information (-g).
 *
 * Of the process of -c or -p alone, not of those that it starts.
 *
 * Run: sonde -s line-values.d -c './fib' fib.c@6 n
 *      sonde -s line-values.d -p PID lib/queue.c@77 depth
 *
 *            value  ------------- Distribution ------------- count
 *               -1 |                                         0
 *                0 |@@@@@@@@@@@@@@@                          377
 *                1 |@@@@@@@@@@@@@@@@@@@@@@@@@                610
 *                2 |                                         0
 */

#pragma D option quiet

pid$target:a.out:$1:
{
        @ = quantize(locals->$2);
}
