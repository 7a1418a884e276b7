# node: worker threads, child processes, a cluster and HTTP to itself.
# needs: node
cat > n.js <<'J'
const { Worker, isMainThread, parentPort } = require('worker_threads');
const { execFile, spawn } = require('child_process'); const http = require('http'); const fs = require('fs').promises;
if (!isMainThread) { parentPort.on('message', n => { parentPort.postMessage(n * n); }); }
else (async () => {
  const work = n => new Promise((yes, no) => { const w = new Worker(__filename); w.on('error', no);
    w.once('message', v => { w.terminate().then(() => yes(v)); }); w.postMessage(n); });
  console.log(await Promise.all([1, 2, 3, 4].map(work)));
  const run = n => new Promise(yes => execFile('sh', ['-c', `echo ${n}; exit ${n}`], (e, out) => yes([e.code, out])));
  console.log(await Promise.all([3, 4, 5].map(run)));
  const killed = new Promise(yes => spawn('sleep', ['60']).on('exit', (c, s) => yes([c, s])).kill('SIGTERM'));
  console.log(await killed);
  await Promise.all([...Array(40).keys()].map(n => fs.writeFile(`f${n}`, 'x'.repeat(n))));
  let total = 0; for (const n of Array(40).keys()) total += (await fs.readFile(`f${n}`)).length; console.log(total);
  const server = http.createServer((q, a) => a.end(q.url)).listen(0, '127.0.0.1', async () => {
    const get = n => new Promise(yes => http.get({ port: server.address().port, path: `/${n}` },
      r => { let s = ''; r.on('data', d => s += d); r.on('end', () => yes(s)); }));
    const all = await Promise.all([...Array(60).keys()].map(get)); console.log(all.join('').length);
    server.close(); server.closeAllConnections(); });
})();
J
node n.js
