# su, sudo, setpriv and runuser, from root to others.
# needs: su sudo setpriv runuser
# user: root
# outside: container
su nobody -s /bin/sh -c 'id -u; exit 3'; echo "status $?"
sudo -n -u nobody sh -c 'id -u; id -g'; echo "status $?"
setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'id; cat /etc/shadow 2>&1'
runuser -u nobody -- sh -c 'kill -0 1 2>&1; echo $?'
