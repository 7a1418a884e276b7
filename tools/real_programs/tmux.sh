# tmux: a server that goes to the background, two windows with shells.
# needs: tmux
export TMUX_TMPDIR=$PWD TERM=xterm; tm() { tmux -L own -f /dev/null "$@"; }
tm new-session -d -s s -x 80 -y 24 'echo one$((1 + 1)); sleep 60'
tm new-window -d -t s: 'cat'; tm send-keys -t s:1 x y Space Enter 1 Enter
for n in $(seq 100); do tm capture-pane -p -t s:1 | grep -q '^1$' && tm capture-pane -p -t s:0 | grep -q one2 && break; sleep 0.05; done
tm capture-pane -p -t s:0 | grep '^one'; tm capture-pane -p -t s:1 | sort -u | tail -2
tm list-windows -t s | cut -c1-2; tm kill-server; sleep 0.3; tm ls > /dev/null 2>&1; echo "status $?"
