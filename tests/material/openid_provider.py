"""An OpenID Connect provider on this machine, which signs everybody in as the next account."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlparse

CLIENT = "lab"


class Provider(ThreadingHTTPServer):
    """The provider; `account` has the claims of whoever signs in next."""

    def __init__(self) -> None:
        from joserfc.jwk import RSAKey

        super().__init__(("127.0.0.1", 0), Handler)
        self.key = RSAKey.generate_key(2048, {"kid": "1", "use": "sig", "alg": "RS256"})
        self.account: dict[str, Any] = {}
        self.error = ""  # refuses the next sign-in with this code
        self.codes: dict[str, dict[str, Any]] = {}

    @property
    def address(self) -> str:
        """The address of the provider, which is also its name."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    """One request to the provider."""

    server: Provider

    def do_GET(self) -> None:
        """Describe the provider, give its key, or sign in at once and lead back to the lab."""
        place, own = urlparse(self.path), self.server.address
        if place.path == "/.well-known/openid-configuration":
            self._answer(
                {
                    "issuer": own,
                    "authorization_endpoint": f"{own}/authorize",
                    "token_endpoint": f"{own}/token",
                    "jwks_uri": f"{own}/keys",
                    "id_token_signing_alg_values_supported": ["RS256"],
                    "response_types_supported": ["code"],
                    "subject_types_supported": ["public"],
                }
            )
        elif place.path == "/keys":
            self._answer({"keys": [self.server.key.as_dict(private=False)]})
        else:
            given = {name: values[0] for name, values in parse_qs(place.query).items()}
            code = f"code-{len(self.server.codes)}"
            claims = {"iss": own, "aud": CLIENT, "nonce": given.get("nonce", "")}
            self.server.codes[code] = {**claims, **self.server.account}
            self.send_response(302)
            back = urlencode({"code": code, "state": given["state"]})
            if self.server.error:
                back = urlencode({"error": self.server.error, "state": given["state"]})
            self.send_header("Location", f"{given['redirect_uri']}?{back}")
            self.end_headers()

    def do_POST(self) -> None:
        """Give the signed identity for a code."""
        from joserfc import jwt

        body = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        now = int(time.time())
        claims = {**self.server.codes.pop(body["code"][0]), "iat": now, "exp": now + 600}
        token = jwt.encode({"alg": "RS256", "kid": "1"}, claims, self.server.key)
        self._answer({"access_token": "a", "token_type": "Bearer", "id_token": token})

    def _answer(self, value: object) -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Log nothing."""


@contextmanager
def run_provider() -> Iterator[Provider]:
    """Run a provider during the block."""
    provider = Provider()
    thread = threading.Thread(target=provider.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        provider.shutdown()
        provider.server_close()
