#!/usr/bin/env -S sonde -s
/*
 * Where processors spend their time, in processes and in the kernel, 997 times
 * a second on every CPU: a profile to draw. Further keys than stacks, here the
 * name of the process, are the outermost frames.
 *
 * With -c or -p: that process and all that it starts.
 *
 * Run: sonde -s cpu-flame.d --flame cpu.html          until ^C
 *      sonde -s cpu-flame.d --flame cpu.html -c 'tar czf x.tgz /usr/include'
 *
 * A stack of the kernel has 20 frames unless stackframes says otherwise.
 */

#pragma D option quiet
#pragma D option stackframes=64

profile-997
/pid && progenyof($target)/
{
        @[execname, stack(), ustack()] = count();
}

END
{
        trunc(@);
}
