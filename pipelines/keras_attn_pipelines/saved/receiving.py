"""A server whose connections end where a request does not arrive in time."""

import functools
from typing import Any

from keras_attn_pipelines.saved.web import FastAPI, H11Protocol, uvicorn

LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def server(app: FastAPI, seconds: float, log_level: str = "warning") -> Any:
    """uvicorn's server of an application.

    Args:
        app: the application.
        seconds: longest time in which a request arrives, headers and body; after it there is a
            408, and the connection ends.
        log_level: of uvicorn.
    """
    connection: Any = functools.partial(Connection, seconds)
    return uvicorn.Server(uvicorn.Config(app, http=connection, log_level=log_level))


class Connection(H11Protocol):
    """A connection; uvicorn's own waits without end for the rest of a request."""

    def __init__(self, seconds: float, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.seconds, self.timer = seconds, None

    def connection_made(self, transport):
        super().connection_made(transport)
        self._watch()

    def data_received(self, data):
        super().data_received(data)
        self._watch()

    def on_response_complete(self):
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc):
        self._stop()
        super().connection_lost(exc)

    def _watch(self):
        """Limits the time while a request, or the rest of one, is waited for."""
        cycle = self.cycle
        if cycle is not None and not cycle.more_body and not cycle.response_complete:
            self._stop()
        elif self.timer is None and not self.transport.is_closing():
            self.timer = self.loop.call_later(self.seconds, self._end)

    def _stop(self):
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def _end(self):
        cycle = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(LATE)
        self.transport.close()
