# A build by make with two jobs at once, and the program that it makes.
# needs: gcc make
for n in 1 2 3 4; do
    printf '#include <stdio.h>\nint part%s(int x) { return x * %s + 1; }\n' $n $n > part$n.c
done
cat > main.c <<'C'
#include <stdio.h>
int part1(int), part2(int), part3(int), part4(int);
int main(void) { printf("%d\n", part1(2) + part2(3) + part3(4) + part4(5)); return 5; }
C
printf 'OBJECTS = main.o part1.o part2.o part3.o part4.o\nprogram: $(OBJECTS)\n\tgcc -o $@ $^\n' > Makefile
make -s -j2
./program; echo "status $?"
touch part3.c; make -n | sed 's/ *$//'
gcc -Wall broken.c 2>&1 | grep -c error; echo "int x = ;" > broken.c; gcc -c broken.c; echo "status $?"
