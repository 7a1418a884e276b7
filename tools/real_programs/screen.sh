# screen: a detached session whose commands come from outside.
# needs: screen
mkdir -m 700 dir; export SCREENDIR=$PWD/dir TERM=xterm
screen -dmS own sh -c 'echo begun > begun; read line; echo "$line" > line; sleep 50'
for n in $(seq 100); do [ -s begun ] && break; sleep 0.05; done; cat begun
screen -S own -X stuff "hello$(printf '\r')"; for n in $(seq 100); do [ -s line ] && break; sleep 0.05; done; cat line
screen -S own -X quit; sleep 0.3; screen -ls | grep -c own
