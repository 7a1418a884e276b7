# Processes in namespaces of users, processes and mounts.
# needs: unshare
# outside: container
unshare -Urpfm --mount-proc sh -c 'id -u; echo $$; ls /proc | grep -c "^[0-9]"; mount -t tmpfs none /mnt && echo mounted
    sh -c "echo \$\$; exit 3" & wait $!; echo $?; (sleep 0.1; echo late) & exec sh -c "wait; echo last; sleep 0.3"'
echo "status $?"; unshare -Ur unshare -Ur id -un
