/*
 * Structures, bit fields, enumerations and pointers behind a function's arguments.
 *
 * Command: market
 * Shows: BLUE
 */

pid$target:a.out:price:entry
{
	this->fruit = args->fruit;
	printf("%d %d\n", this->fruit->ripe, this->fruit->sort);
	print(this->fruit->colour);
	print(this->fruit->at);
	print(this->fruit->name);
	trace(this->fruit->next ? stringof(this->fruit->next->name) : "none");
	printf("\n");
}
