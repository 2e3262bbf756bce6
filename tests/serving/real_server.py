"""Compares a running TF Serving with the SavedModel in Python.

Run as `python -m tests.serving.real_server`. Warm-up requests and pictures are sent to each
signature by gRPC and REST. Exits with 1 if an answer differs, and with an error if the server does
not answer.
"""

import argparse
import sys

import numpy as np

from keras_attn.saved.bundled import model_folder
from keras_attn.saved.loading import load
from keras_attn.serving.client import GrpcClient, RestClient
from keras_attn.serving.warm_up import warm_up_picture
from tests.serving.tiny_service import PICTURES

TOLERANCE = 1e-3
"""Absolute, of scores in nats and of weights."""


def main(arguments=None):
    """Prints the number of differences of each signature and protocol."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="flickr8k_captioner")
    parser.add_argument("--grpc", default="127.0.0.1:8500")
    parser.add_argument("--rest", default="http://127.0.0.1:8501")
    options = parser.parse_args(arguments)
    saved = load(model_folder(options.model))
    pictures = [warm_up_picture(), *PICTURES]
    texts = [b"a man on a skateboard .", *[b"two dogs run"] * (len(pictures) - 1)]
    values = {"image": pictures, "caption": texts}
    different = 0
    for kind, address in ((GrpcClient, options.grpc), (RestClient, options.rest)):
        client = kind(address, options.model)
        for signature in sorted(saved.signatures):
            inputs = {name: values[name] for name in saved.inputs_of(signature)}
            pairs = zip(
                client.ask(signature, batch=8, **inputs), saved.ask(signature, batch=8, **inputs)
            )
            count = sum(not _equal(answer, expected) for answer, expected in pairs)
            print(f"{kind.__name__} {signature}: {count} of {len(pictures)} answers differ")
            different += count
    return int(different > 0)


def _equal(answer, expected):
    """Whether two answers have the same outputs, numbers within TOLERANCE."""
    return set(answer) == set(expected) and all(
        _same(np.asarray(answer[name]), np.asarray(expected[name])) for name in expected
    )


def _same(value, wanted):
    if value.shape != wanted.shape:
        return False
    if wanted.dtype.kind in "fc":
        return np.allclose(value, wanted, atol=TOLERANCE)
    return bool((value == wanted).all())


if __name__ == "__main__":
    sys.exit(main())
