# Processes in namespaces of users, processes and mounts.
# needs: unshare
# outside: container
unshare -Urpfm --mount-proc sh -c 'id -u; echo $$; set -- /proc/[0-9]*; echo $#; mount -t tmpfs none /mnt && echo mounted
    sh -c "echo \$\$; exit 3" & wait $!; echo $?; cd /mnt
    (until [ -e last ]; do sleep 0.05; done; echo late; : > late) &
    exec sh -c "wait; echo last; : > last; until [ -e late ]; do sleep 0.05; done"'
echo "status $?"; unshare -Ur unshare -Ur id -un
