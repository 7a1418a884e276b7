# valgrind, which runs a program's system calls for it.
# needs: valgrind gcc
echo 'int main(void) { int *p = malloc(8); p[3] = 1; return 3; }' > v.c; gcc -w -include stdlib.h -g -o v v.c
valgrind -q --error-exitcode=9 ./v 2>&1 | sed 's/==[0-9]*==//' | grep -c 'Invalid write'; valgrind -q ./v 2> /dev/null; echo "status $?"
