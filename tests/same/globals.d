/*
 * Global variables of a program, static ones among them.
 *
 * Command: market
 * Shows: pear
 */

pid$target:a.out:sells:entry, pid$target:a.out:sells:return
{
	printf("%s %d %s %d\n", probename, globals->sold, stringof(globals->second.name), globals->first.at.y);
}

pid$target:a.out:sells:return
{
	print(globals->second.at);
	print(globals->first.colour);
}
