# nginx with two workers under ab; reloaded meanwhile.
# needs: nginx ab
seq 3000 > index.html; mkdir logs
cat > conf <<C
daemon off; pid $PWD/pid; worker_processes 2; error_log $PWD/error; events { worker_connections 200; }
http { access_log $PWD/access; client_body_temp_path $PWD/1; proxy_temp_path $PWD/2; fastcgi_temp_path $PWD/3;
uwsgi_temp_path $PWD/4; scgi_temp_path $PWD/5; server { listen 127.0.0.1:$PORT; root $PWD; } }
C
chmod 755 .; nginx -p $PWD -c $PWD/conf -e $PWD/error & server=$!
await curl -s -o /dev/null http://127.0.0.1:$PORT/index.html
ready $server $(cat /proc/$server/task/$server/children)
ab -q -n 1000 -c 10 http://127.0.0.1:$PORT/index.html 2>&1 | grep -E '^(Complete|Failed|Total transferred)'
kill -HUP $server; sleep 0.2
ab -q -n 500 -c 10 http://127.0.0.1:$PORT/index.html 2>&1 | grep -E '^(Complete|Failed|Total transferred)'
kill -QUIT $server; wait $server; echo "status $?"
