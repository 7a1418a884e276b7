# stress-ng: signals, timers, descriptors of events.
# needs: stress-ng
run() { stress-ng --quiet --temp-path "$PWD" "$@" > log 2>&1; echo "$1 status $?"; }
run --timer 1 --timer-ops 200 --timer-freq 2000; run --sigq 1 --sigq-ops 500; run --sigsuspend 1 --sigsuspend-ops 100
run --sigfd 1 --sigfd-ops 100; run --kill 1 --kill-ops 400; run --itimer 1 --itimer-ops 100 --itimer-freq 2000
run --timerfd 1 --timerfd-ops 200; run --eventfd 2 --eventfd-ops 200; run --sigpipe 1 --sigpipe-ops 100
run --sigsegv 1 --sigsegv-ops 100; run --sigtrap 1 --sigtrap-ops 100; run --sigchld 1 --sigchld-ops 60
run --nanosleep 1 --nanosleep-ops 60; run --epoll 1 --epoll-ops 60 --epoll-port $PORT
