# php: files, processes, sockets and its own web server.
# needs: php curl
php -S 127.0.0.1:$PORT -t . > server 2>&1 & server=$!
echo '<?php echo strlen($_SERVER["REQUEST_URI"]), "\n";' > a.php
await curl -s -o /dev/null http://127.0.0.1:$PORT/a.php
ready $server
for n in 1 2 3 4 5 6 7 8 9; do curl -s http://127.0.0.1:$PORT/a.php?$n; done
kill $server; wait $server
php -r '$p = proc_open("cat; exit 3", [["pipe", "r"], ["pipe", "w"]], $f); fwrite($f[0], "x"); fclose($f[0]);
    echo stream_get_contents($f[1]), proc_close($p), "\n"; for ($i = 0; $i < 300; $i++) file_put_contents("f", $i, FILE_APPEND);
    echo md5_file("f"), "\n"; usleep(2000); echo json_encode(array_map(fn($x) => $x * 2, range(1, 5))), "\n";'
