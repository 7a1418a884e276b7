#!/usr/bin/env -S sonde -s
/*
 * Where the kernel spends its time: the ten most frequent of its stacks,
 * sampled 997 times a second on every CPU. arg0 is the program counter if the
 * kernel was interrupted, 0 if a process was.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s hot-stacks.d       the whole system, until ^C
 *      sonde -s hot-stacks.d -c 'find /usr -name x'
 *
 *               ...
 *               vmlinux`__ext4_read_dirblock+0x74
 *               vmlinux`htree_dirblock_to_tree+0x7c
 *               vmlinux`ext4_htree_fill_tree+0xb4
 *               vmlinux`ext4_readdir+0x7a1
 *               vmlinux`iterate_dir+0xba
 *               192
 */

#pragma D option quiet

profile-997
/arg0 && pid && progenyof($target)/
{
        @[stack()] = count();
}

END
{
        trunc(@, 10);
}
