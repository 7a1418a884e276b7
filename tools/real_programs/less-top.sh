# less and top in a terminal, which is made larger before.
# needs: less top
seq 500 > file
"$PYTHON" "$REAL/terminal.py" bash --norc --noprofile -i <<'T'
> PS1='$ '; set +o history; stty -echo; unset LESSOPEN; export TERM=xterm
@ 30 90
> stty size
< 30 90
> less file
< 20
: G
< 500
: g
< 12
: /^250$
^ M
< 250
: q
> echo "less $?"
< less 0
> top -d 0.2
< load average
~ 0.5
: q
~ 0.3
> echo "top $?"
< top 0
> exit
T
echo "status $?"; top -b -n 1 | grep -c 'load average'
