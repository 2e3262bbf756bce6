"""What servers need of FastAPI, with a hint where it is not installed."""

try:
    from fastapi import FastAPI, HTTPException, Request, Response
    from fastapi.responses import HTMLResponse, JSONResponse
    from starlette.exceptions import HTTPException as AnyHTTPException
    from starlette.middleware.trustedhost import TrustedHostMiddleware
except ImportError as error:  # pragma: no cover - comes with the extra
    raise ImportError(
        "Expected fastapi and uvicorn. Install them: pip install 'keras-attn[serve]'"
    ) from error

__all__ = [
    "AnyHTTPException",
    "FastAPI",
    "HTMLResponse",
    "HTTPException",
    "JSONResponse",
    "Request",
    "Response",
    "TrustedHostMiddleware",
]
