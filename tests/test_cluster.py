"""TF_CONFIG, as it should be and as it should not."""

import json

import pytest

from keras_attn.cluster import Cluster

ADDRESSES = ["a.example:2222", "10.0.0.2:2222", "[::1]:3333"]


def read(cluster, task):
    return Cluster.read({"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})})


def test_workers():
    cluster = read({"worker": ADDRESSES}, {"type": "worker", "index": 2})
    assert cluster.addresses == tuple(ADDRESSES) and cluster.place == 2 and not cluster.is_chief
    assert cluster.others == tuple(ADDRESSES[:2])


@pytest.mark.parametrize(("task", "place"), [(("chief", 0), 0), (("worker", 0), 1)])
def test_the_chief_may_have_a_role_of_its_own(task, place):
    cluster = {"worker": ADDRESSES[1:], "chief": ADDRESSES[:1]}
    found = read(cluster, dict(zip(("type", "index"), task)))
    assert found == Cluster(tuple(ADDRESSES), place) and found.is_chief == (place == 0)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, r"Expected TF_CONFIG such as \{.*\}\. Received: none"),
        ({"TF_CONFIG": "{"}, r"such as .*Received: '\{'"),
        ({"TF_CONFIG": "[]"}, r"such as .*Received: '\[\]'"),
        ({"TF_CONFIG": "{}"}, r"with a cluster, such as .*Received: cluster=None"),
    ],
)
def test_what_is_no_configuration(environment, message):
    with pytest.raises(ValueError, match=message):
        Cluster.read(environment)


TASK = {"type": "worker", "index": 0}


@pytest.mark.parametrize(
    ("cluster", "task", "message"),
    [
        ({"worker": ADDRESSES, "ps": ["b:2"]}, TASK, "Received: ps"),
        ({"worker": ADDRESSES, "evaluator": ["b:2"]}, TASK, "Received: evaluator"),
        ({"worker": "a:2"}, TASK, r"list of \"host:port\" for worker. Received: 'a:2'"),
        ({"worker": ["a"]}, TASK, r"Received: \['a'\]"),
        ({"worker": ["a:0"]}, TASK, r"Received: \['a:0'\]"),
        ({"worker": ["a:2", 3]}, TASK, r"Received: \['a:2', 3\]"),
        ({"worker": []}, TASK, "an address for each process"),
        ({"worker": ["a:2", "a:2"]}, TASK, "an address for each process"),
        ({"chief": ["a:2", "b:2"], "worker": ["c:2"]}, TASK, "at most one chief"),
        ({"worker": ADDRESSES}, None, "Received: task=None"),
        ({"worker": ADDRESSES}, {"type": "ps", "index": 0}, "type worker. Received: type='ps'"),
        ({"worker": ADDRESSES}, {"type": "chief", "index": 0}, "Received: type='chief'"),
        ({"worker": ADDRESSES}, {"type": "worker"}, "from 0 to 2 of this worker.*index=None"),
        ({"worker": ADDRESSES}, {"type": "worker", "index": 3}, "index=3"),
        ({"worker": ADDRESSES}, {"type": "worker", "index": "0"}, "index='0'"),
        ({"worker": ADDRESSES}, {"type": "worker", "index": True}, "index=True"),
    ],
)
def test_bad_clusters_and_tasks(cluster, task, message):
    with pytest.raises(ValueError, match=f"Expected TF_CONFIG .*{message}"):
        read(cluster, task)
