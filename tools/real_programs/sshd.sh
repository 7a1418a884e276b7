# sshd on loopback: its processes with fewer privileges and a filter of their own.
# needs: /usr/sbin/sshd ssh ssh-keygen sftp
ssh-keygen -q -t ed25519 -N '' -f host; ssh-keygen -q -t ed25519 -N '' -f user; cp user.pub keys; chmod 600 keys
cat > conf <<C
Port $PORT
ListenAddress 127.0.0.1
HostKey $PWD/host
AuthorizedKeysFile $PWD/keys
StrictModes no
UsePAM no
PidFile none
PermitRootLogin yes
Subsystem sftp internal-sftp
C
[ "$(id -u)" = 0 ] && mkdir -p /run/sshd
/usr/sbin/sshd -D -e -f conf 2> log & server=$!
O="-oStrictHostKeyChecking=no -oUserKnownHostsFile=/dev/null -oLogLevel=ERROR -i user -F /dev/null"
answers() { (echo > /dev/tcp/127.0.0.1/$PORT) 2> /dev/null; }; await answers
ready $server
seq 3000 > sent
for n in 1 2; do
    printf 'put %s/sent %s/got%s\nls -1 %s/got%s\n' "$PWD" "$PWD" $n "$PWD" $n |
        sftp -q -b - $O -P $PORT "$(id -un)@127.0.0.1"; echo "status $?"; cmp sent got$n
done
if [ "$(id -u)" = 0 ]; then
    ssh $O -p $PORT root@127.0.0.1 'cat; exit 7' < sent | md5sum; ssh $O -p $PORT root@127.0.0.1 'exit 7'; echo "status $?"
fi
kill $server; wait $server; echo "status $?"
