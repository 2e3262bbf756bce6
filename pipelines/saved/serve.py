"""A server for one SavedModel: a page to try it, and TF Serving's REST interface.

For development on one machine; in production, TF Serving itself.
"""

import asyncio
import base64
import binascii
import contextlib
import html
import json
import re
import socket
import urllib.parse
from importlib import resources
from typing import Any

import numpy as np
import tensorflow as tf

from keras_attn.saved.saved_model import Saved
from keras_attn.viz.explorer.page import page_hashes, policy_hash

try:
    from fastapi import FastAPI, HTTPException, Request, Response
    from fastapi.responses import HTMLResponse, JSONResponse
    from starlette.exceptions import HTTPException as AnyHTTPException
    from starlette.middleware.trustedhost import TrustedHostMiddleware
except ImportError as error:  # pragma: no cover - comes with the extra
    raise ImportError(
        "Expected fastapi and uvicorn. Install them: pip install 'keras-attn[serve]'"
    ) from error

MAX_BYTES = 1 << 25
"""Longest request, 32 MiB."""
SECONDS = 120.0
"""Longest time for an answer."""
PREDICT = ":predict"
EVERYWHERE = ("0.0.0.0", "::")
LOOPBACK = ("127.0.0.1", "localhost", "::1", "[::1]")


def application(
    saved: Saved,
    name: str,
    hosts=LOOPBACK,
    max_bytes: int = MAX_BYTES,
    seconds: float = SECONDS,
) -> FastAPI:
    """The server's application.

    GET / is a page on which one drops a picture or types a text, and sees the attention explorer.
    Under /v1/models/NAME are status, metadata and `:predict`, as TF Serving has them.

    Args:
        saved: the model.
        name: its name in addresses.
        hosts: names under which the server may be asked; others get 400.
        max_bytes: longest request; longer ones get 413.
        seconds: longest time for an answer, after which there is a 504.

    Pages of other sites get 403.

    Raises:
        ValueError: a name that cannot stand in an address.
    """
    if not re.fullmatch(r"[\w.-]+", name):
        raise ValueError(f"Expected a name of letters, digits, _, . and -. Received: {name!r:.80}")
    app = FastAPI(title=name, docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))
    version = saved.folder.name if saved.folder.name.isdecimal() else "1"
    model = f"/v1/models/{name}"

    @app.exception_handler(AnyHTTPException)
    async def refuse(request: Request, error: AnyHTTPException):
        return JSONResponse({"error": error.detail}, error.status_code)

    @app.get("/")
    def page() -> HTMLResponse:
        return HTMLResponse(_page(name, saved.takes_pictures), headers=_headers())

    @app.post("/explore")
    async def explore(request: Request) -> Response:
        body = await _body(request, max_bytes)
        asked = body if saved.takes_pictures else _text(body)
        shown = await _within(seconds, saved.explore, asked)
        return HTMLResponse(await _within(seconds, shown.html))

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
        signatures = saved.signature_shapes()
        return {"model_spec": spec, "metadata": {"signature_def": signatures}}

    @app.post(f"{model}{PREDICT}")
    @app.post(f"{model}/versions/{version}{PREDICT}")
    async def predict(request: Request) -> Response:
        asked = _json(await _body(request, max_bytes))
        signature = asked.get("signature_name", "serving_default")
        if not isinstance(signature, str) or signature not in saved.signatures:
            raise HTTPException(400, f"Expected a signature of the model. Received: {signature!r}")
        columns = _columns(asked, saved.inputs_of(signature))
        outputs = await _within(seconds, saved.outputs, signature, columns)
        answer = _answer(outputs, by_row="instances" in asked)
        return Response(json.dumps(answer), media_type="application/json")

    return app


def run(saved: Saved, name: str, host: str, port: int, max_bytes: int, seconds: float) -> None:
    """Serves a model until the process is told to stop.

    Args:
        saved: the model.
        name: its name in addresses.
        host: address to listen on; 0.0.0.0 or :: for all of the machine, under any name.
        port: of the address.
        max_bytes: longest request.
        seconds: longest time for an answer.

    Raises:
        ValueError: a name that cannot stand in an address.
        OSError: the address is in use, or not this machine's.
    """
    import uvicorn

    hosts = ["*"] if host in EVERYWHERE else {*LOOPBACK, host}
    app = application(saved, name, hosts, max_bytes, seconds)
    shown = f"[{host}]" if ":" in host else host
    with _listening(host, port) as listening:
        print(f"{name}: http://{shown}:{port}/ (Ctrl-C stops)", flush=True)
        print(f"REST: http://{shown}:{port}/v1/models/{name}{PREDICT}", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


def _listening(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise OSError(f"Expected a free address. Received: {host}:{port}, {error}") from error


async def _body(request, most):
    """The body of a request from this server's own page, or from a program."""
    origin = request.headers.get("origin")
    if origin and urllib.parse.urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(403, f"Expected no page of another site. Received: {origin:.80}")
    data = bytearray()
    async for part in request.stream():
        data += part
        if len(data) > most:
            raise HTTPException(413, f"Expected at most {most} bytes. Received: more")
    return bytes(data)


async def _within(seconds, function, *arguments) -> Any:
    """What a function returns in a thread; its errors, and too long a time, as HTTP's."""
    try:
        return await asyncio.wait_for(asyncio.to_thread(function, *arguments), seconds)
    except TimeoutError as error:
        raise HTTPException(504, f"Expected an answer within {seconds:g} s") from error
    except (ValueError, tf.errors.InvalidArgumentError) as error:
        raise HTTPException(400, str(error)) from error


def _text(body):
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise HTTPException(400, f"Expected UTF-8. Received: {error}") from error


def _json(body) -> dict[str, Any]:
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
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
    if set(columns) != set(names):
        raise HTTPException(400, f"Expected inputs {names}. Received: {sorted(columns)}")
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


def _page(name, takes_pictures):
    text = _resource("serve.html")
    parts = {
        "@name@": html.escape(name),
        "@kind@": "picture" if takes_pictures else "text",
        "@style@": _resource("serve.css"),
        "@script@": _resource("serve.js"),
    }
    for key, part in parts.items():
        text = text.replace(key, part)
    return text


def _headers():
    """What the page may do: its own script and style, requests to this server."""
    script, style = (policy_hash(_resource(f"serve.{kind}")) for kind in ("js", "css"))
    inner_script, inner_style = page_hashes()  # The frame inherits this policy.
    return {
        "Content-Security-Policy": "default-src 'none'; connect-src 'self'; img-src data:; "
        f"script-src '{script}' '{inner_script}'; style-src '{style}' '{inner_style}'",
        "X-Content-Type-Options": "nosniff",
    }


def _resource(name):
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
