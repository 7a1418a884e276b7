/*
 * Each instruction of a function, by its offset.
 *
 * Command: market
 * Shows: instructions
 */

pid$target:a.out:fibonacci:
{
	@[probename] = count();
	@all["instructions"] = count();
}

pid$target:a.out:six:
{
	@once[probename] = count();
}
