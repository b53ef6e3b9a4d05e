# SPDX-License-Identifier: GPL-2.0
"""What hashstats tells Prometheus, and the dashboard and alerts that ask for it."""

import json
import re
import subprocess

import prometheus_client.openmetrics.parser as openmetrics
import prometheus_client.parser as classic
import pytest
import yaml

import prometheus
import test_corpus as corpus
from toyhashstats import FOLDER, HERE

TOOL = FOLDER
SAMPLES = sorted((TOOL / "samples").glob("*.hashstats"))
DASHBOARD = json.loads((TOOL / "grafana.json").read_text())
RULES = yaml.safe_load((TOOL / "alerts.yml").read_text())["groups"]

# A name of Prometheus' own label, for the machine that was asked.
HOST = "instance"
# What the node exporter tells of each file in its folder, and its label.
FILES, FILE = "node_textfile_mtime_seconds", "file"


def printed(text, *words):
    done = subprocess.run(
        [TOOL / "hashstats", "openmetrics", "-f", "-", *words],
        input=text,
        text=True,
        capture_output=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def samples(text, *words):
    """All that is printed, read by Prometheus' own parser."""
    parser = classic if "--classic" in words else openmetrics
    return [
        sample
        for family in parser.text_string_to_metric_families(printed(text, *words))
        for sample in family.samples
    ]


def named(found, name, **labels):
    return [
        sample.value
        for sample in found
        if sample.name == name and labels.items() <= sample.labels.items()
    ]


@pytest.fixture(scope="module")
def metrics():
    return samples(corpus.EVERY_LABEL)


# --- the output ---------------------------------------------------------------


@pytest.mark.parametrize("words", [(), ("--classic",)], ids=["new", "classic"])
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples_of_the_paper_parse(path, words):
    found = samples(path.read_text(), *words)
    [buckets] = named(found, "hashstats_table_buckets")
    assert buckets in (256, 16384)


def test_both_forms_have_the_same_samples(metrics):
    def key(sample):
        return sample.name, sorted(sample.labels.items()), sample.value

    assert sorted(map(key, metrics)) == sorted(map(key, samples(corpus.EVERY_LABEL, "--classic")))


def test_values_are_those_of_the_file(metrics):
    dentry = {"table": "dentry"}
    assert named(metrics, "hashstats_table_buckets", **dentry) == [8]
    assert named(metrics, "hashstats_table_objects", **dentry) == [10]
    assert named(metrics, "hashstats_table_nodes_per_lookup", **dentry) == [1.5]
    assert named(metrics, "hashstats_table_lookups_total", **dentry) == [1000]
    assert named(metrics, "hashstats_table_chain_buckets", size="1", **dentry) == [3]
    assert named(metrics, "hashstats_table_wakes_total", table="folio_wait") == [100]
    assert named(metrics, "hashstats_table_cache_hits_total", table="page") == [150]


def test_one_verdict_holds(metrics):
    for table in ("dentry", "mbcache", "folio_wait", "page"):
        assert sorted(named(metrics, "hashstats_table_verdict", table=table)) == [0, 0, 0, 0, 1]


def test_large_numbers_keep_their_digits():
    text = corpus.GOOD.replace(
        "lookups: 1000\nhits: 900", "lookups: 12345678901\nhits: 11111111011"
    )
    assert named(samples(text), "hashstats_table_lookups_total") == [12345678901]


@pytest.mark.parametrize("odd", ['a "b" c', "a\\b", "a\\", '"', '{a="b"} 1', "\u00fcbung", "a\\nb"])
def test_odd_words_survive(odd):
    text = corpus.GOOD.replace("sized-by: memory", f"sized-by: {odd}")
    assert odd in {sample.labels.get("sized_by") for sample in samples(text)}


# --- the dashboard and the alerts ---------------------------------------------


def dashboard_queries():
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield f"panel {panel['title']}", target["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield f"variable {variable['name']}", variable["query"]["query"]


def alert_queries():
    for group in RULES:
        for rule in group["rules"]:
            yield f"alert {rule['alert']}", rule["expr"]


QUERIES = [*dashboard_queries(), *alert_queries()]
every_query = pytest.mark.parametrize(
    "query", [query for _, query in QUERIES], ids=[where for where, _ in QUERIES]
)


def asked(query):
    """Names of metrics, and (label, value) that a query asks for."""
    return (
        set(re.findall(r"\bhashstats_\w+", query)),
        set(re.findall(r'(\w+)\s*(?:=~|!=|!~|=)\s*"([^"]*)"', query)),
    )


@every_query
def test_asks_for_what_is_printed(query, metrics):
    names, labels = asked(query)
    assert names or FILES in query
    for name in names:
        there = [sample for sample in metrics if sample.name == name]
        assert there, name
        for label, value in labels:
            if label == HOST:
                continue
            values = {sample.labels.get(label) for sample in there}
            assert None not in values, (name, label)
            assert value in values or value in ("$table", "$host"), (label, value)


ALERTS = {rule["alert"]: rule for group in RULES for rule in group["rules"]}
OF_TABLES = ("HashTableCrowded", "HashTableSkewed")


@pytest.mark.parametrize(
    "number, alert",
    [(1, "HashTableSkewed"), (2, "HashTableSkewed"), (3, None), (4, None), (5, "HashTableCrowded")],
)
def test_alerts_on_the_samples_of_the_paper(number, alert):
    """The rules of tables are one comparison each, so they can be followed here."""
    found = samples((TOOL / f"samples/citi-{number}.hashstats").read_text())
    fired = []
    for name in OF_TABLES:
        metric, label, value, wanted = re.fullmatch(
            r'(\w+)\{(\w+)="(\w+)"\} == (\d+)', ALERTS[name]["expr"]
        ).groups()
        if float(wanted) in named(found, metric, **{label: value}):
            fired.append(name)
    assert fired == ([alert] if alert else [])


def test_alerts_by_the_tool_of_prometheus():
    done = subprocess.run(
        [prometheus.program("promtool"), "test", "rules", HERE / "alerts.yml"],
        text=True,
        capture_output=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
