"""Asks Latchkey who sent a request. One file without dependencies, for Python 3.10 and newer: copy it into your service.

    latchkey = Latchkey("http://localhost:8000")

    @app.get("/notes")  # FastAPI
    def notes(caller: Identity = Depends(latchkey.requires(scope="notes:read"))):
        return f"The notes of user {caller.user_id}"

    caller = latchkey.check(request.headers, scope="notes:read")  # everything else; raises LatchkeyError
"""

import dataclasses
import http.client
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

_MAX_RESPONSE_BYTES = 1_000_000
# No token has this form.
_BEARER_KEY = re.compile(r"bearer +([a-z0-9]{2,16}_[A-Za-z0-9_-]{49})", re.IGNORECASE)
_MESSAGES = {
    "not_authenticated": (401, "Not authenticated. Use either JWT token or API key."),
    "unavailable": (503, "Service Unavailable"),
}


@dataclasses.dataclass(frozen=True)
class Identity:
    """Who is calling, and with which credential."""

    user_id: int
    email: str
    first_name: str
    last_name: str
    role: Literal["user", "admin"]
    method: Literal["session", "api_key"]
    session_id: str | None
    key_id: str | None
    scopes: list[str] | None
    """The scopes of the API key. None for a session, which is not restricted."""
    expires_at: str | None
    data: dict[str, dict[str, object]] | None = None
    """The `profile` and the `app` that the product keeps with the account, for `data=True`."""


class LatchkeyError(Exception):
    """A request must be refused with this status: 401, 403, 429 beyond a limit, or 503 if Latchkey cannot be asked."""

    def __init__(self, status: int, code: str, message: str, retry_after: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        self.code = code
        self.message = message

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the response that refuses the request."""
        headers = {"X-Error-Code": self.code}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer" if self.code == "not_authenticated" else 'Bearer error="invalid_token"'
        if self.status in (429, 503):
            headers["Retry-After"] = self.retry_after or "2"
        return headers


class Latchkey:
    def __init__(self, url: str, timeout: float = 3.0) -> None:
        self._url = url.rstrip("/") + "/auth/check"
        self._timeout = timeout
        # Latchkey never redirects this call, and a credential must not follow a redirect to another host.
        self._opener = urllib.request.build_opener(_NoRedirects)

    def check(
        self, headers: Mapping[str, str], *, role: str | None = None, scope: str | Iterable[str] | None = None, data: bool = False
    ) -> Identity:
        """Returns who sent a request with these headers. Raises LatchkeyError if the request must be refused."""
        request = urllib.request.Request(self._url + _query(role, scope, data), headers=_credentials(headers))
        try:
            with self._opener.open(request, timeout=self._timeout) as response:
                return _identity(response.status, response.read(_MAX_RESPONSE_BYTES), data)
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error) from None
        except (OSError, http.client.HTTPException, ValueError, TypeError, KeyError) as error:
            # Whatever else happened, nobody has said that the caller may pass.
            raise _error("unavailable") from error

    def requires(
        self, *, role: str | None = None, scope: str | Iterable[str] | None = None, data: bool = False
    ) -> Callable[..., Identity]:
        """A dependency for FastAPI, which runs it in a thread: `Depends(latchkey.requires(scope="notes:read"))`."""
        from fastapi import HTTPException, Request

        def identity(request: Request) -> Identity:
            try:
                return self.check(request.headers, role=role, scope=scope, data=data)
            except LatchkeyError as error:
                raise HTTPException(error.status, error.message, headers=error.headers) from error

        return identity


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_arguments: object) -> None:
        return None


def _error(code: str) -> LatchkeyError:
    status, message = _MESSAGES[code]
    return LatchkeyError(status, code, message)


def _credentials(headers: Mapping[str, str]) -> dict[str, str]:
    sent = {name.lower(): value for name, value in headers.items()}
    credentials = {name: sent[name] for name in ("authorization", "x-api-key") if name in sent}
    # An API key may also come as a bearer token.
    if key := _BEARER_KEY.fullmatch(credentials.get("authorization", "")):
        credentials = {"x-api-key": key[1]}
    # What is not printable ASCII is no credential, and could not be sent.
    if not credentials or not all(value.isascii() and value.isprintable() for value in credentials.values()):
        raise _error("not_authenticated")
    return credentials


def _query(role: str | None, scope: str | Iterable[str] | None, data: bool) -> str:
    query = {} if role is None else {"role": role}
    if scope is not None:
        query["scope"] = scope if isinstance(scope, str) else " ".join(scope)
        # An empty variable must not let every key in.
        if not query["scope"].strip():
            raise _error("unavailable")
    if data:
        query["data"] = "true"
    return "?" + urllib.parse.urlencode(query) if query else ""


def _identity(status: int, body: bytes, data: bool) -> Identity:
    if status != 200:
        raise ValueError(f"status {status}")
    view = json.loads(body)
    # Something else may have answered with 200.
    if not isinstance(view["user_id"], int):
        raise TypeError("the response is not an identity")
    names = [field.name for field in dataclasses.fields(Identity) if data or field.name != "data"]
    return Identity(**{name: view[name] for name in names})


def _refusal(error: urllib.error.HTTPError) -> LatchkeyError:
    code = error.headers.get("X-Error-Code")
    if error.code not in (401, 403, 429) or code is None:
        return _error("unavailable")
    try:
        detail = json.loads(error.read(_MAX_RESPONSE_BYTES))["detail"]
    except (OSError, http.client.HTTPException, ValueError, TypeError, KeyError):
        return _error("unavailable")
    return LatchkeyError(error.code, code, str(detail), error.headers.get("Retry-After"))
