# SPDX-License-Identifier: GPL-2.0
"""The queries of the dashboard, asked of a Prometheus that has read our files."""

import http.server
import json
import re
import subprocess
import threading
import time
import urllib.parse
import urllib.request

import pytest

import prometheus
import test_corpus as corpus
from test_metrics import QUERIES, printed

LIMIT = 60
CONFIG = """
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: node
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""
# What Grafana puts in: all tables, all machines, a time that has several scrapes.
VARIABLES = {"$table": ".+", "$host": ".+", "$__rate_interval": "20s"}


class Exporter(http.server.BaseHTTPRequestHandler):
    """A file for each scrape, in which the counters have grown."""

    def do_GET(self):
        type(self).scrapes += 1
        files = type(self).files
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(files[min(self.scrapes, len(files)) - 1].encode())

    def log_message(self, *_):
        """Nothing on standard error."""


def later(text, times):
    """The same metrics after so many times the lookups and wakeups."""
    return re.sub(r"(_total\{.*\} )(\d+)", lambda match: f"{match[1]}{times * int(match[2])}", text)


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """A function that gives the result of a query."""
    program = prometheus.program("prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    Exporter.scrapes = 0
    text = printed(corpus.EVERY_LABEL, "--classic")
    Exporter.files = [later(text, times) for times in range(1, 60)]
    exporter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    threading.Thread(target=exporter.serve_forever, daemon=True).start()
    (folder / "config").write_text(CONFIG.format(port=exporter.server_port))
    free = http.server.HTTPServer(("127.0.0.1", 0), Exporter)
    port = free.server_port
    free.server_close()
    address = f"127.0.0.1:{port}"
    with open(folder / "log", "w") as log:
        server = subprocess.Popen(
            [
                program,
                f"--config.file={folder}/config",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address={address}",
            ],
            stdout=log,
            stderr=log,
        )

    def result(query):
        for name, value in VARIABLES.items():
            query = query.replace(name, value)
        words = urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(f"http://{address}/api/v1/query?{words}", timeout=9) as reply:
            return json.load(reply)["data"]["result"]

    try:
        end = time.monotonic() + LIMIT
        while Exporter.scrapes < 5:
            assert time.monotonic() < end and server.poll() is None, (folder / "log").read_text()
            time.sleep(0.1)
        yield result
    finally:
        server.kill()
        server.wait()
        exporter.shutdown()
        exporter.server_close()


PANELS = [(where, query) for where, query in QUERIES if where.startswith("panel")]


@pytest.mark.parametrize("where,query", PANELS, ids=[f"{n} {w}" for n, (w, _) in enumerate(PANELS)])
def test_panel_has_lines(where, query, ask):
    found = ask(query)
    assert found, query
    assert all(line["value"][1] != "NaN" or "ate" in where for line in found), found


def test_values_are_those_of_the_file(ask):
    of = dict(PANELS)
    tables = {
        line["metric"]["table"]: float(line["value"][1])
        for line in ask(of["panel Load: objects per bucket"])
    }
    assert tables["dentry"] == 1.25
    # A second has a scrape, and each has 900 hits of 1000 lookups more.
    [hits] = [
        line["value"][1]
        for line in ask(of["panel Hit rate"])
        if line["metric"]["table"] == "dentry"
    ]
    assert float(hits) == pytest.approx(0.9, abs=0.001)


def test_legend_tells_the_lines_of_a_panel_apart(ask):
    """Of several machines as well: {{instance}} {{table}}."""
    for where, query in PANELS:
        labels = [
            (line["metric"].get("instance"), line["metric"].get("table")) for line in ask(query)
        ]
        assert len(set(labels)) == len(labels), where


@pytest.mark.parametrize("name", ["instance", "table"])
def test_variables_have_values(name, ask):
    """label_values() is Grafana's own: the labels of the metric that it names."""
    values = {line["metric"][name] for line in ask("hashstats_table_buckets")}
    assert values and (name != "table" or "dentry" in values)


def test_no_alert_of_ours_fires_by_mistake(ask):
    for where, query in QUERIES:
        if where.startswith("alert HashTable"):
            assert ask(query) == [], where
