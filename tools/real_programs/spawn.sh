# Threads that fork, vfork and posix_spawn at once, and find out about any call that fails.
# needs: gcc
if [ "$1" = prepare ]; then
    exec gcc -O1 -w -pthread -x c -o forest "$REAL/../../tests/programs/forest.c"
fi
"$SHARED/forest" 60; echo "status $?"
