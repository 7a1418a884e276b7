# timeout, xargs -P, nohup, flock, find, sort and pipes that break.
# needs: timeout xargs nohup flock find sort
timeout 0.2 sleep 9; echo "status $?"; { timeout -s KILL 0.2 sleep 9; echo "status $?"; } 2> /dev/null; timeout 30 sh -c 'exit 3'; echo "status $?"
timeout --foreground -k 0.2 1 sh -c 'trap "" TERM; while :; do sleep 0.05; done' ; echo "status $?"
seq 60 | xargs -P 6 -n 3 sh -c 'echo $(($1 + $2 + $3))' x | sort -n | md5sum; seq 5 | xargs -P2 -I{} sh -c 'exit {}'; echo "status $?"
nohup sh -c 'echo x' 2> /dev/null; yes | head -2000 | md5sum; seq 100000 | head -1
for n in 1 2 3 4; do flock lock sh -c 'n=$(cat c 2> /dev/null); sleep 0.02; echo $((n + 1)) > c' & done; wait; cat c
flock -n lock true; find /usr/include /etc -maxdepth 1 2> /dev/null | sort | wc -l | grep -c .; seq 30000 | sort -R | sort -n --parallel=2 | md5sum
mkfifo p; (seq 5 > p &); cat p; wait; cat <(echo a) <(echo b); coproc { cat; }; echo hi >&"${COPROC[1]}"; read -r x <&"${COPROC[0]}"; echo "$x"
sleep 20 & victim=$!; kill -SEGV $victim; wait $victim 2> /dev/null; echo "status $?"; trap 'echo usr1' USR1; kill -USR1 $$; (exit 5); echo $?
