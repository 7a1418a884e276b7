"""A Prometheus server of its own for a test: it scrapes one address, and answers queries of PromQL."""

import json
import subprocess
import time
import urllib.parse
import urllib.request

CONFIGURATION = """\
global: {{ scrape_interval: 1s, scrape_timeout: 1s }}
scrape_configs:
  - job_name: sonde
    static_configs: [{{ targets: ["{target}"] }}]
"""

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def fetch(url):
    """What is at an address."""
    with _OPENER.open(url) as answer:
        return answer.read().decode()


class PrometheusServer:
    """Scrapes `target`, HOST:PORT, each second; its data are in `folder`."""

    def __init__(self, target, folder, port):
        (folder / "prometheus.yml").write_text(CONFIGURATION.format(target=target))
        self._base = f"http://127.0.0.1:{port}"
        self._log = (folder / "log").open("w+")
        words = (
            f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        )  # fmt: skip
        self._server = subprocess.Popen(["prometheus", *words], stdout=self._log, stderr=self._log)

    def query(self, text):
        """The result of an instant query: a number for each set of labels, without the name and the target."""
        found = fetch(f"{self._base}/api/v1/query?{urllib.parse.urlencode({'query': text})}")
        rows = json.loads(found)["data"]["result"]
        return {
            tuple(sorted((k, v) for k, v in row["metric"].items() if k not in ("__name__", "instance", "job"))): float(
                row["value"][1]
            )
            for row in rows
        }

    def types(self):
        """The types of the metrics that were scraped, by name."""
        found = fetch(f"{self._base}/api/v1/metadata")
        return {name: rows[0]["type"] for name, rows in json.loads(found)["data"].items()}

    def wait(self, text, seconds=30):
        """The result of a query as soon as it has one."""
        end = time.monotonic() + seconds
        while True:
            try:
                found = self.query(text)
            except OSError:
                found = None
            if found or time.monotonic() > end:
                assert found, self._log.seek(0) or self._log.read()[-2000:]
                return found
            time.sleep(0.2)

    def close(self):
        self._server.terminate()
        self._server.wait()
        self._log.close()
