"""A server for one SavedModel: a page to try it, and TF Serving's REST interface.

For development on one machine; in production, TF Serving itself.
"""

import html
import re
import socket
from importlib import resources

from matplotlib import cbook

from keras_attn.contracts import CARD_FILE
from keras_attn.saved.saved_model import ATTENTION, Saved
from keras_attn.viz.explorer.page import page_hashes, policy_hash
from keras_attn_pipelines.saved.receiving import server
from keras_attn_pipelines.saved.rest import (
    LOOPBACK,
    MAX_BYTES,
    PREDICT,
    SECONDS,
    body_of,
    rest_application,
    within,
)
from keras_attn_pipelines.saved.web import (
    FastAPI,
    FileResponse,
    HTMLResponse,
    HTTPException,
    Request,
    Response,
)

EXAMPLE = "grace_hopper.jpg"
"""A photograph that comes with matplotlib, in the public domain."""
EVERYWHERE = ("0.0.0.0", "::")


def application(
    saved: Saved,
    name: str,
    hosts=LOOPBACK,
    max_bytes: int = MAX_BYTES,
    seconds: float = SECONDS,
) -> FastAPI:
    """The server's application.

    GET / is a page on which one drops or pastes a picture, or types a text, and sees the attention
    explorer; it has an example to try, and the model's card and terms. The rest is
    `rest_application`.

    Args:
        saved: the model.
        name: its name in addresses.
        hosts: names under which the server may be asked; others get 400.
        max_bytes: longest request; longer ones get 413.
        seconds: longest time for an answer, after which there is a 504.

    Raises:
        ValueError: a name that cannot stand in an address.
    """
    app = rest_application(saved, name, hosts, max_bytes, seconds)

    @app.get("/")
    def page() -> HTMLResponse:
        return HTMLResponse(_page(name, saved), headers=_headers())

    @app.get("/example")
    def example() -> Response:
        return FileResponse(cbook.get_sample_data(EXAMPLE, asfileobj=False))

    @app.post("/explore")
    async def explore(request: Request, by: str = ATTENTION) -> Response:
        body = await body_of(request, max_bytes)
        asked = body if saved.takes_pictures else _text(body)
        shown = await within(seconds, saved.explore, asked, by)
        return HTMLResponse(await within(seconds, shown.html))

    return app


def run(saved: Saved, name: str, host: str, port: int, max_bytes: int, seconds: float) -> None:
    """Serves a model until the process is told to stop.

    Args:
        saved: the model.
        name: its name in addresses.
        host: address to listen on; 0.0.0.0 or :: for all of the machine, under any name.
        port: of the address.
        max_bytes: longest request.
        seconds: longest time in which a request arrives, and longest for an answer.

    Raises:
        ValueError: a name that cannot stand in an address.
        OSError: the address is in use, or not this machine's.
    """
    hosts = ["*"] if host in EVERYWHERE else {*LOOPBACK, host}
    app = application(saved, name, hosts, max_bytes, seconds)
    shown = f"[{host}]" if ":" in host else host
    with _listening(host, port) as listening:
        print(f"{name}: http://{shown}:{port}/ (Ctrl-C stops)", flush=True)
        print(f"REST: http://{shown}:{port}/v1/models/{name}{PREDICT}", flush=True)
        server(app, seconds).run(sockets=[listening])


def _listening(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise OSError(f"Expected a free address. Received: {host}:{port}, {error}") from error


def _text(body):
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise HTTPException(400, f"Expected UTF-8. Received: {error}") from error


def _page(name, saved):
    scored = " scored" * ("score" in saved.signatures)
    parts = {
        "name": html.escape(name),
        "kind": ("picture" if saved.takes_pictures else "text") + scored,
        "terms": html.escape(f"Terms of use: {saved.terms}" if saved.terms else ""),
        "card": html.escape(_card(saved.folder)),
        "example": html.escape(saved.takes.example),
        "style": _resource("serve.css"),
        "script": _resource("serve.js"),
    }
    return re.sub(r"@(\w+)@", lambda match: parts[match[1]], _resource("serve.html"))


def _card(folder):
    """The model card of a version."""
    path = folder / CARD_FILE
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else "(no card)"


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
