# A shell with job control in a terminal: Ctrl-Z, Ctrl-C, fg, bg, kill %1, wait -n, traps.
"$PYTHON" "$REAL/terminal.py" bash --norc --noprofile -i <<'T'
> PS1='$ '; PROMPT_COMMAND=; set +o history; stty -echo
> sleep 50 & echo "job %$(jobs -p | wc -l)"
< job %1
> fg
~ 0.3
^ Z
< Stopped
> jobs | tr -s ' ' | cut -d' ' -f2-
< Stopped
> bg
> kill %1; wait %1; echo "waited $?"
< waited 143
> cat
~ 0.2
^ Z
< Stopped
> fg %1
~ 0.2
> typed
< typed
^ D
> sh -c 'trap "echo trapped; exit 3" INT; while :; do sleep 0.05; done'
~ 0.4
^ C
< trapped
> echo "then $?"
< then 3
> (sleep 0.2; exit 4) & (sleep 9) & wait -n; echo "first $?"; kill %2; wait; echo all
< first 4
< all
> sleep 9 | cat
~ 0.3
^ C
> echo "pipe ${PIPESTATUS[*]}"
< pipe 130
> (trap '' TSTP; kill -TSTP $BASHPID; echo ignored); (sleep 0.3; kill -CONT $$) & kill -STOP $$; wait
< ignored
> sh -c 'kill -STOP $$; echo continued'
< Stopped
> fg
< continued
> exit 5
T
echo "status $?"
