"""TF Serving's REST interface for one model, as an application of FastAPI."""

import asyncio
import base64
import binascii
import contextlib
import json
import re
import urllib.parse
from collections.abc import Iterable
from typing import Any

import numpy as np

from keras_attn.untrusted import parse_json
from keras_attn_pipelines.saved.servable import Servable, Unavailable
from keras_attn_pipelines.saved.web import (
    AnyHTTPException,
    ClientDisconnect,
    FastAPI,
    HTTPException,
    JSONResponse,
    Request,
    Response,
    TrustedHostMiddleware,
)

MAX_BYTES = 1 << 25
"""Longest request, 32 MiB."""
SECONDS = 120.0
"""Longest time for an answer."""
MOST_DIGITS = 18
"""Digits of a number of bytes."""
PREDICT = ":predict"
NOT_FOUND, MODELS = 404, "/v1/models/"
LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")


def rest_application(
    servable: Servable,
    name: str,
    hosts: Iterable[str] = LOOPBACK,
    max_bytes: int = MAX_BYTES,
    seconds: float = SECONDS,
) -> FastAPI:
    """Status, metadata and `:predict` under /v1/models/NAME, as TF Serving has them.

    Pages of other sites get 403.

    Args:
        servable: the model.
        name: its name in addresses.
        hosts: names under which the server may be asked; others get 400.
        max_bytes: longest request; longer ones get 413.
        seconds: longest time for an answer, after which there is a 504.

    Raises:
        ValueError: a name that cannot stand in an address.
    """
    if not re.fullmatch(r"[\w.-]+", name):
        raise ValueError(f"Expected a name of letters, digits, _, . and -. Received: {name!r:.80}")
    app = FastAPI(title=name, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    version, model = servable.version, f"{MODELS}{name}"

    @app.exception_handler(AnyHTTPException)
    async def refuse(request: Request, error: AnyHTTPException):
        detail = error.detail
        if error.status_code == NOT_FOUND and request.url.path.startswith(MODELS):
            detail = (
                f"Expected the model {name}, version {version}: {model}, {model}/metadata or "
                f"{model}{PREDICT}. Received: {request.url.path:.200}"
            )
        return JSONResponse({"error": detail}, error.status_code, error.headers)

    @app.get(model)
    @app.get(f"{model}/versions/{version}")
    def status() -> dict:
        known = {"error_code": "OK", "error_message": ""}
        return {
            "model_version_status": [{"version": version, "state": "AVAILABLE", "status": known}]
        }

    @app.get(f"{model}/metadata")
    @app.get(f"{model}/versions/{version}/metadata")
    def metadata() -> dict:
        spec = {"name": name, "signature_name": "", "version": version}
        signatures = servable.signature_shapes()
        return {"model_spec": spec, "metadata": {"signature_def": signatures}}

    @app.post(f"{model}{PREDICT}")
    @app.post(f"{model}/versions/{version}{PREDICT}")
    async def predict(request: Request) -> Response:
        asked = _json(await body_of(request, max_bytes))
        signature = asked.get("signature_name", "serving_default")
        outputs = await within(seconds, _predicted, servable, signature, asked)
        answer = _answer(outputs, by_row="instances" in asked)
        return Response(json.dumps(answer), media_type="application/json")

    return app


async def body_of(request: Request, most: int) -> bytes:
    """The body of a request from this server's own page, or from a program.

    Raises:
        HTTPException: 403 for a page of another site; 413 for more than `most` bytes, before they
            are read where the request says how many they are; 400 for a client that hangs up.
    """
    origin = request.headers.get("origin")
    if origin and _host_of(origin) != request.headers.get("host"):
        raise HTTPException(403, f"Expected no page of another site. Received: {origin:.80}")
    declared, data = request.headers.get("content-length", ""), bytearray()
    if len(declared) > MOST_DIGITS or (declared.isdecimal() and int(declared) > most):
        raise _too_long(most, declared)
    try:
        async for part in request.stream():
            data += part
            if len(data) > most:
                raise _too_long(most, "more")
    except ClientDisconnect as error:  # Nobody reads the answer.
        raise HTTPException(400, "Expected a whole request. Received: a part of one") from error
    return bytes(data)


def _host_of(origin):
    """The host in an address; None for one that has none."""
    try:
        return urllib.parse.urlsplit(origin).netloc
    except ValueError:
        return None


def _too_long(most, received):
    message = f"Expected at most {most} bytes. Received: {received:.80}"
    return HTTPException(413, message, headers={"Connection": "close"})


async def within(seconds: float, function, *arguments) -> Any:
    """What a function returns in a thread.

    Raises:
        HTTPException: in place of its ValueError (400) and Unavailable (503), and after too long
            a time (504).
    """
    try:
        return await asyncio.wait_for(asyncio.to_thread(function, *arguments), seconds)
    except TimeoutError as error:
        raise HTTPException(504, f"Expected an answer within {seconds:g} s") from error
    except Unavailable as error:
        raise HTTPException(503, str(error)) from error
    except ValueError as error:
        raise HTTPException(400, str(error)) from error


def _predicted(servable, signature, asked):
    if not isinstance(signature, str):
        raise ValueError(f"Expected a signature of the model. Received: {signature!r:.80}")
    return servable.outputs(signature, _columns(asked, servable.inputs_of(signature)))


def _json(body) -> dict[str, Any]:
    try:
        asked = parse_json(body)
    except ValueError as error:
        raise HTTPException(400, f"Expected JSON. Received: {error}") from error
    if not isinstance(asked, dict) or ("instances" in asked) == ("inputs" in asked):
        raise HTTPException(400, "Expected an object with either instances or inputs")
    return asked


def _columns(asked, names) -> dict[str, list[Any]]:
    """The inputs by name, from TF Serving's row or column format."""
    if "inputs" in asked:
        given = asked["inputs"]
        columns = given if isinstance(given, dict) and "b64" not in given else {names[0]: given}
    else:
        rows = asked["instances"]
        if not isinstance(rows, list) or not rows:
            raise HTTPException(400, "Expected instances to be a list that is not empty")
        named = [
            row if isinstance(row, dict) and "b64" not in row else {names[0]: row} for row in rows
        ]
        if any(set(row) != set(named[0]) for row in named):
            raise HTTPException(400, "Expected the same inputs in all instances")
        columns = {key: [row[key] for row in named] for key in named[0]}
    return {key: [_string(value) for value in _listed(values)] for key, values in columns.items()}


def _listed(values):
    if not isinstance(values, list):
        raise HTTPException(400, f"Expected a list of strings. Received: {values!r:.80}")
    return values


def _string(value) -> Any:
    """A string of JSON, or {"b64": …}, as bytes; lists of lists of them as they are."""
    if isinstance(value, list):
        return [_string(part) for part in value]
    if isinstance(value, str):
        return value.encode(errors="surrogateescape")
    if isinstance(value, dict) and set(value) == {"b64"} and isinstance(value["b64"], str):
        with contextlib.suppress(binascii.Error, ValueError):
            return base64.b64decode(value["b64"], validate=True)
    raise HTTPException(400, f"Expected a string or an object with b64. Received: {value!r:.80}")


def _answer(outputs, by_row):
    """Outputs in the format that was asked in; one output alone has no name."""
    columns = {key: _jsonable(value) for key, value in outputs.items()}
    if not by_row:
        return {"outputs": columns if len(columns) > 1 else next(iter(columns.values()))}
    if len(columns) == 1:
        return {"predictions": next(iter(columns.values()))}
    rows = zip(*columns.values())
    return {"predictions": [dict(zip(columns, row)) for row in rows]}


def _jsonable(value):
    if value.dtype == object:
        return _strings(value.tolist())
    if value.dtype == np.float32:  # As short as it says the same number.
        return value.astype("float64").round(9).tolist()
    return value.tolist()


def _strings(value):
    if isinstance(value, list):
        return [_strings(part) for part in value]
    return value.decode(errors="replace")
