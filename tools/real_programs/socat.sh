# socat: sockets, pipes and terminals joined by processes.
# needs: socat
socat -t30 TCP-LISTEN:$PORT,bind=127.0.0.1,reuseaddr,fork EXEC:'cat' & server=$!
answers() { echo | socat - TCP:127.0.0.1:$PORT > /dev/null 2>&1; }; await answers
ready $server
for n in 1 2 3 4 5 6; do seq $n 2000 | socat -t30 - TCP:127.0.0.1:$PORT | md5sum; done
kill $server; wait $server; echo "status $?"
socat -t2 - EXEC:'sh -c "stty size; echo in the terminal"',pty,stderr,setsid,ctty < /dev/null | tr -d '\r'
(echo datagram | socat - UNIX-SENDTO:s2,bind=s1; true) 2>&1 | grep -c refused
