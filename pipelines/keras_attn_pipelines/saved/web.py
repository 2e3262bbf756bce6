"""What servers need of FastAPI, with a hint where it is not installed."""

try:
    import uvicorn
    from fastapi import FastAPI, HTTPException, Request, Response
    from fastapi.responses import FileResponse, HTMLResponse, JSONResponse
    from starlette.exceptions import HTTPException as AnyHTTPException
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import ClientDisconnect
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as error:  # pragma: no cover - comes with the extra
    raise ImportError(
        "Expected fastapi and uvicorn. Install them: pip install 'keras-attn[serve]'"
    ) from error

__all__ = [
    "AnyHTTPException",
    "ClientDisconnect",
    "FastAPI",
    "FileResponse",
    "H11Protocol",
    "HTMLResponse",
    "HTTPException",
    "JSONResponse",
    "Request",
    "Response",
    "TrustedHostMiddleware",
    "uvicorn",
]
