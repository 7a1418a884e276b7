# stress-ng: processes made in many ways, pipes, schedulers.
# needs: stress-ng
run() { stress-ng --quiet --temp-path "$PWD" "$@" > log 2>&1; echo "$1 status $?"; }
run --fork 2 --fork-ops 150; run --vfork 2 --vfork-ops 100; run --clone 1 --clone-ops 50
run --pthread 1 --pthread-ops 100; run --switch 2 --switch-ops 1000; run --pipe 2 --pipe-ops 500; run --sem-sysv 2 --sem-sysv-ops 500
run --wait 1 --wait-ops 20; run --zombie 1 --zombie-ops 100; run --daemon 1 --daemon-ops 40
