/*
 * Functions that call themselves: how deep, by a variable of the thread.
 *
 * Command: market
 * Shows: @@ 
 */

pid$target:a.out:fibonacci:entry
{
	self->depth++;
	@depths = lquantize(self->depth, 0, 10);
	@[arg0] = count();
}

pid$target:a.out:fibonacci:return
{
	@results = lquantize(arg1, 0, 15);
	self->depth--;
}

pid$target:a.out:main:return
{
	printf("left at %d\n", self->depth);
}
