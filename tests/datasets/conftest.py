"""No test here touches the user's cache or the network: the cache is a fresh folder, the publisher a local server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from datasets_publisher import Publisher


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of the test, not yet made."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("BSFW_CACHE", str(folder))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return folder


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to which BSFW_DATA points."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("BSFW_DATA", str(folder))
    return folder


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *args: Any, publisher: Publisher, **kwargs: Any) -> None:
        self.publisher = publisher
        super().__init__(*args, directory=str(publisher.folder), **kwargs)

    def do_GET(self) -> None:
        site = self.publisher
        site.requests.append(self.path)
        if self.path in site.redirects:
            self.send_response(302)
            self.send_header("Location", site.redirects[self.path])
            self.end_headers()
        elif self.path in site.stalls | site.drips:
            self.send_response(200)
            self.send_header("Content-Length", "1000000")
            self.end_headers()
            self.wfile.write(b"+1 1:1\n")
            while not site.closing.wait(0.05) and self.path in site.drips:
                self.wfile.write(b" ")
            site.closing.wait()
        else:
            super().do_GET()

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def publisher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    monkeypatch.delenv("BSFW_DATA", raising=False)
    site = Publisher(tmp_path / "published")
    site.folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, publisher=site)) as server:
        site.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield site
        site.closing.set()
        server.shutdown()
        thread.join()
