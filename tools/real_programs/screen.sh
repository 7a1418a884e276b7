# screen: a detached session whose commands come from outside.
# needs: screen
mkdir -m 700 dir; export SCREENDIR=$PWD/dir TERM=xterm
screen -dmS own sh -c 'echo begun > begun; read line; echo "$line" > line; sleep 50'
await [ -s begun ]; cat begun
screen -S own -X stuff "hello$(printf '\r')"; await [ -s line ]; cat line
screen -S own -X quit; ended() { ! screen -ls | grep -q own; }; await ended; echo ended
