# tmux: a server that goes to the background, two windows with shells.
# needs: tmux
export TMUX_TMPDIR=$PWD TERM=xterm; tm() { tmux -L own -f /dev/null "$@"; }
tm new-session -d -s s -x 80 -y 24 'echo one$((1 + 1)); sleep 60'
tm new-window -d -t s: 'cat'; tm send-keys -t s:1 x y Space Enter 1 Enter
shown() { tm capture-pane -p -t s:1 | grep -q '^1$' && tm capture-pane -p -t s:0 | grep -q one2; }; await shown
tm capture-pane -p -t s:0 | grep '^one'; tm capture-pane -p -t s:1 | sort -u | tail -2
tm list-windows -t s | cut -c1-2; tm kill-server; ended() { ! tm ls > /dev/null 2>&1; }; await ended; echo ended
