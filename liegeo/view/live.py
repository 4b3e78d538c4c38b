"""The page while a run goes on: a server on this machine alone, which sends frames as they come.

`Live` is what `simulate` tells of its samples (`watch=`); `serve` puts both together.  Frames are kept, so that a page
that is opened late, or loaded again, gets all of them.  They travel as server-sent events, one a piece of the run.

Other users of this machine, and pages of other sites in the same browser, can reach the port.  So the address has a
secret in it that changes with every server, names other than this machine's are refused (a site may let its own name
lead here), and the number of connections, the time that a request takes to come, and that of a stream are bounded.
"""

from __future__ import annotations

import base64
import contextlib
import hmac
import json
import secrets
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import numpy as np

from liegeo.errors import InputError
from liegeo.model.model import Model, State
from liegeo.model.standin import as_model
from liegeo.results.result import Result
from liegeo.simulation import simulate
from liegeo.view.arrays import Arrays
from liegeo.view.page import compose, positive
from liegeo.view.scene import Names, Scene, speed_for

HOST = "127.0.0.1"
# Seconds between signs of life to a page that waits, which is how the server notices that it is gone.
_SIGN = 2.0
# Frames of a run that is served, at most.
_FRAMES = 3000
# Connections at one time; a browser has six to one server.
_CLIENTS = 16
# Seconds that a request may take to come, and that a page may take nothing of what it is sent.
_PATIENCE = 10.0
# Seconds that a stream of frames lasts; a page that is loaded again gets another.
_LONGEST = 24 * 3600.0
# Seconds without a request after which the server of a finished run ends.
_IDLE = 3600.0


class Live:
    """A page at `url` that shows what it is called with: pieces of a run, one after another.

    Samples that come sooner than `spacing` seconds of the run after the one before are left out.

    with Live(model, traces="arm.tip") as live:
        simulate(model, state, 10.0, watch=live)
    """

    def __init__(
        self,
        model: Model,
        *,
        traces: Names = (),
        arrows: Names = (),
        plots: Names = (),
        magnify: float = 1.0,
        speed: float = 1.0,
        title: str | None = None,
        port: int = 0,
        spacing: float = 0.0,
    ) -> None:
        model = as_model(model, "view")
        self._spacing, self._last = spacing, -np.inf
        arrays = Arrays()
        self._scene = Scene(model, arrays, traces, arrows, plots)
        settings = {
            "title": model.tree.name if title is None else title,
            "magnify": positive("magnify", magnify),
            "speed": positive("speed", speed),
            "live": True,
            "runs": [{"label": "", "frames": None, **self._scene.description()}],
        }
        self._page = compose(settings, arrays.content())
        self._messages: list[bytes] = []
        self._over = False
        self._closed = False
        # Pages that have got everything there is, after the end.
        self._complete = 0
        self._news = threading.Condition()
        self._token = secrets.token_urlsafe(16)
        self._asked = time.monotonic()
        self._server = _Server((HOST, port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page; who does not know the secret in it gets nothing."""
        return f"http://{HOST}:{self._server.server_address[1]}/{self._token}/"

    @property
    def idle(self) -> float:
        """Seconds since a page was last asked for, or since the run ended."""
        return time.monotonic() - self._asked

    def __call__(self, piece: Result) -> None:
        """Send these samples to all pages, now and later."""
        chosen = []
        for k, t in enumerate(piece.t):
            # a little less than the spacing, as it may be that of the samples themselves
            if t >= self._last + (1.0 - 1e-6) * self._spacing:
                chosen.append(k)
                self._last = t
        if not chosen:
            return
        arrays = Arrays()
        frames = self._scene.frames(piece, np.array(chosen), arrays)
        data = base64.b64encode(arrays.content()).decode()
        self._send({"frames": frames, "data": data})

    def end(self, message: str = "") -> None:
        """Tell the pages that no more will come; they go on playing."""
        self._asked = time.monotonic()
        self._send({"end": message})

    def _send(self, content: dict[str, Any]) -> None:
        with self._news:
            self._messages.append(f"data: {json.dumps(content, allow_nan=False)}\n\n".encode())
            self._over = self._over or "end" in content
            self._news.notify_all()

    def wait(self, seconds: float | None = None) -> bool:
        """Until some page has got everything after the end; False if that takes longer."""
        until = None if seconds is None else time.monotonic() + seconds
        with self._news:
            while not self._complete and not self._closed:
                left = _SIGN if until is None else min(_SIGN, until - time.monotonic())
                if left <= 0.0:
                    return False
                # in slices, so that Ctrl-C is heard on every system
                self._news.wait(left)
        return True

    def close(self) -> None:
        with self._news:
            self._closed = True
            self._news.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A page that is being closed must not keep the server from ending.
    block_on_close = False

    def __init__(self, address: tuple[str, int], live: Live) -> None:
        self.live = live
        self._room = threading.Semaphore(_CLIENTS)
        try:
            super().__init__(address, _Handler)
        except (OSError, OverflowError) as error:
            raise InputError(f"view: cannot listen on port {address[1]}: {error}; port=0 takes a free one.") from None

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread of its own, if there are not too many."""
        if not self._room.acquire(blocking=False):
            with contextlib.suppress(OSError):
                request.sendall(b"HTTP/1.0 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that is closed while it is being sent is nothing to talk about."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def setup(self) -> None:
        super().setup()
        # of each read and write; the timer is for a request that comes byte by byte
        self.connection.settimeout(_PATIENCE)
        self._timer = threading.Timer(_PATIENCE, self._hang_up)
        self._timer.daemon = True
        self._timer.start()

    def finish(self) -> None:
        self._timer.cancel()
        super().finish()

    def _hang_up(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        """Answer with the page, its frames, or an error."""
        self._timer.cancel()
        live = self.server.live
        # Another site's page must not read this one under a name of its own.
        host = (self.headers.get("Host") or "").partition(":")[0]
        token, _, rest = self.path.removeprefix("/").partition("/")
        if host not in (HOST, "localhost"):
            self.send_error(HTTPStatus.FORBIDDEN)
        elif self.path == "/favicon.ico":
            self._answer("image/x-icon", b"")
        elif not hmac.compare_digest(token.encode(errors="replace"), live._token.encode()):
            self.send_error(HTTPStatus.FORBIDDEN)
        elif rest == "":
            live._asked = time.monotonic()
            self._answer("text/html; charset=utf-8", live._page)
        elif rest == "frames":
            live._asked = time.monotonic()
            self._stream()
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _answer(self, kind: str, content: bytes) -> None:
        self._begin(kind, length=len(content))
        self.wfile.write(content)

    def _begin(self, kind: str, length: int | None = None) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        # the address is a secret
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _stream(self) -> None:
        live = self.server.live
        self._begin("text/event-stream")
        sent = 0
        until = time.monotonic() + _LONGEST
        over = False
        try:
            while time.monotonic() < until:
                with live._news:
                    if sent == len(live._messages) and not live._over and not live._closed:
                        live._news.wait(_SIGN)
                    new, over, closed = live._messages[sent:], live._over, live._closed
                sent += len(new)
                self.wfile.write(b"".join(new) or b": still here\n\n")
                self.wfile.flush()
                if over or closed:
                    break
        except OSError:
            # The page is gone.
            return
        if over:
            with live._news:
                live._complete += 1
                live._news.notify_all()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the base class has
        """Say nothing."""


def serve(
    model: Model,
    state: State | None = None,
    t_end: float = 1.0,
    *,
    traces: Names = (),
    arrows: Names = (),
    plots: Names = (),
    magnify: float = 1.0,
    speed: float | None = None,
    title: str | None = None,
    port: int = 0,
    show: Callable[[str], object] = webbrowser.open,
    stay: bool = True,
    **options: Any,
) -> Result:
    """Simulate, and show the run in the browser while it goes on; other options are those of `simulate`.

    `speed` of playing is a multiple of real time, chosen so that one can follow it if not given.  `show` is called with
    the address of the page, on this machine and a free port unless `port` says which.  When the run is over the page
    goes on playing it, and can be loaded again until Ctrl-C, or until nobody has done so for an hour; without `stay`
    this returns as soon as a page has got everything.  Ctrl-C during the run ends it, as in `simulate`, and the server
    with it.
    """
    looks: dict[str, Any] = {"traces": traces, "arrows": arrows, "plots": plots, "magnify": magnify}
    model = as_model(model, "view")
    seconds = max(0.0, t_end - (0.0 if state is None else state.t))
    chosen = speed_for(seconds) if speed is None else speed
    # as many frames as a page has room for
    with Live(model, **looks, speed=chosen, title=title, port=port, spacing=seconds / _FRAMES) as live:
        show(live.url)
        try:
            result = simulate(model, state, t_end, watch=live, **options)
        except BaseException as error:
            live.end(str(error))
            raise
        live.end(result.info.message)
        # Ctrl-C during the run was the last word.
        interrupted = result.info.ctrl_c or not result.info.finished
        try:
            live.wait(_SIGN if interrupted else max(0.0, _IDLE - live.idle))
            while stay and not interrupted and live.idle < _IDLE:
                time.sleep(min(_SIGN, _IDLE))
        except KeyboardInterrupt:
            # That is how it ends.
            return result
    return result
