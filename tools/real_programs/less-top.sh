# less and top in a terminal, which is made larger before and while top writes to it.
# needs: less top
seq 500 > file
"$PYTHON" "$REAL/terminal.py" bash --norc --noprofile -i <<'T'
> PS1='$ '; set +o history; stty -echo; unset LESSOPEN; export TERM=xterm
@ 30 90
> stty size
< 30 90
> less file; echo "less $?"
< 20
: G
< 500
: g
< 12
: /^250$
^ M
< 250
: q
< less 0
> top -d 0.1; echo "top $?"
< load average
@ 40 100
~ 0.2
@ 24 80
~ 0.2
@ 35 90
~ 0.5
: q
< top 0
> exit
T
echo "status $?"; top -b -n 1 | grep -c 'load average'
