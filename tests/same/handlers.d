/*
 * Functions and stacks within signal handlers on stacks of their own, some of which are left by siglongjmp.
 *
 * Command: handlers
 * Shows: outer return 8
 */

pid$target:a.out:outer:entry, pid$target:a.out:outer:return, pid$target:a.out:inner:entry, pid$target:a.out:inner:return
{
	@[probefunc, probename] = count();
}

pid$target:a.out:inner:entry
{
	@stacks[ustack(12)] = count();
	@depths[ustackdepth] = count();
}

pid$target:a.out:inner:return
{
	@results[arg1] = count();
}

END
{
	printa("%s %s %@d\n", @);
	printa(@stacks);
	printa(@depths);
	printa(@results);
}
