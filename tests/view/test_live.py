"""Runs that are watched, and the server that shows them, without a browser."""

from __future__ import annotations

import base64
import json
import re
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import scenes

import liegeo as lg
from liegeo.errors import InputError, SimulationError
from liegeo.view import Live, serve


def _events(url):
    """All messages of a stream that ends."""
    with urllib.request.urlopen(f"{url}frames", timeout=30) as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        lines = answer.read().decode().splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def _numbers(message, what):
    reference = message["frames"][what]
    n = int(np.prod(reference["shape"]))
    content = base64.b64decode(message["data"])
    return np.frombuffer(content, "<" + reference["type"], n, reference["at"]).reshape(reference["shape"])


@pytest.mark.parametrize("output", [0.001, "steps"])
@pytest.mark.parametrize("make", [scenes.pendulum, scenes.slider_crank])
def test_a_watcher_is_told_every_sample_once_and_changes_no_bit(make, output):
    model, start = make().model, make().state(0)
    pieces = []
    options = {"output": output, "progress": False, "inputs": {"motor": 1.5} if model.nu else None}
    # long enough for several pieces
    end = 40.0 if make is scenes.pendulum else 6.0
    watched = lg.simulate(model, start, end, watch=pieces.append, **options)
    alone = lg.simulate(model, start, end, **options)
    assert len(pieces) > 1
    for what in "tqvu":
        told = np.concatenate([getattr(piece, what) for piece in pieces])
        np.testing.assert_array_equal(told, getattr(watched, what))
        np.testing.assert_array_equal(getattr(watched, what), getattr(alone, what))


def test_what_a_watcher_raises_ends_the_run():
    run = scenes.pendulum()

    def watch(piece):
        raise RuntimeError("seen enough")

    with pytest.raises(RuntimeError, match="seen enough"):
        lg.simulate(run.model, run.state(0), 1.0, watch=watch, progress=False)


@pytest.mark.parametrize(("end", "given", "expected"), [(0.03, None, 0.01), (3.0, None, 1.0), (0.03, 0.5, 0.5)])
def test_the_page_plays_as_fast_as_one_can_follow(end, given, expected):
    """Andrews' mechanism is over after 30 ms: at the speed of real time nobody would see it."""
    run, pages = scenes.pendulum(), []

    def show(url):
        with urllib.request.urlopen(url, timeout=30) as answer:
            pages.append(answer.read().decode())
        # so that somebody has got everything
        threading.Thread(target=_events, args=(url,)).start()

    serve(run.model, run.state(0), end, show=show, stay=False, speed=given, output=end / 10, progress=False)
    assert float(re.search(r'"speed":([0-9.e-]+)', pages[0])[1]) == expected


def test_pages_get_all_frames_however_late_they_come():
    run = scenes.pendulum()
    with Live(run.model, traces="lower.tip") as live:
        page = urllib.request.urlopen(live.url, timeout=30).read().decode()
        assert "connect-src 'self'" in page
        assert '"live":true' in page
        lg.simulate(run.model, run.state(0), 3.0, output=0.02, watch=live, progress=False)
        assert not live.wait(0.01)
        live.end()
        *frames, end = _events(live.url)
        assert end == {"end": ""}
        np.testing.assert_array_equal(np.concatenate([_numbers(m, "t") for m in frames]), run.t)
        places = np.concatenate([_numbers(m, "position") for m in frames])
        np.testing.assert_allclose(places[:, 1], run["lower.position"], atol=1e-6)
        assert live.wait(10.0)
        # and again
        assert _events(live.url)[-1] == end
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(live.url, timeout=5)


def test_frames_that_come_too_close_are_left_out():
    run = scenes.pendulum()
    with Live(run.model, spacing=0.1) as live:
        lg.simulate(run.model, run.state(0), 3.0, output="steps", watch=live, progress=False)
        live.end()
        t = np.concatenate([_numbers(m, "t") for m in _events(live.url)[:-1]])
    assert np.diff(t).min() > 0.0999
    assert 20 < len(t) <= 31


def test_serve_simulates_and_tells_how_it_went():
    run = scenes.pendulum()
    addresses, heard = [], []

    def show(url):
        import threading

        addresses.append(url)
        listener = threading.Thread(target=lambda: heard.extend(_events(url)), daemon=True)
        listener.start()

    result = serve(run.model, run.state(0), 3.0, output=0.02, show=show, stay=False, progress=False)
    np.testing.assert_array_equal(result.q, run.q)
    assert addresses[0].startswith("http://127.0.0.1:")


def test_serve_tells_the_page_what_went_wrong():
    run = scenes.pendulum()
    ends = []

    class Told(Live):
        def end(self, message=""):
            ends.append(message)
            super().end(message)

    def fail(t):
        raise ValueError("no torque")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("liegeo.view.live.Live", Told)
        with pytest.raises(SimulationError, match="no torque"):
            serve(run.model, run.state(0), 1.0, inputs={"shoulder": fail}, show=lambda url: None, progress=False)
    assert "no torque" in ends[0]


@pytest.mark.parametrize(("path", "host", "code"), [("other", None, 404), ("", "evil.example:80", 403)])
def test_only_the_page_is_served_and_only_to_this_machine(path, host, code):
    with Live(scenes.pendulum().model) as live:
        request = urllib.request.Request(live.url + path, headers={"Host": host} if host else {})
        with pytest.raises(urllib.error.HTTPError) as found:
            urllib.request.urlopen(request, timeout=30)
        assert found.value.code == code
        found.value.close()


def _status(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_the_page_needs_the_secret_of_its_address():
    model = scenes.pendulum().model
    with Live(model) as live, Live(model) as other:
        root, token = re.fullmatch(r"(http://127\.0\.0\.1:\d+/)([\w-]{22})/", live.url).groups()
        assert live.url.split("/")[3] != other.url.split("/")[3]
        live.end()
        assert (_status(live.url), _status(f"{live.url}frames")) == (200, 200)
        wrong = [token[:-1], token + "x", token[::-1], "", "%00", "..", "é".encode().decode("latin-1")]
        for path in ("", "frames", *(f"{each}/" for each in wrong), *(f"{each}/frames" for each in wrong)):
            assert _status(root + urllib.parse.quote(path)) == 403, path
        # a name that leads here, with the secret: an attack by rebinding a name
        for host in ("evil.example", "127.0.0.1.evil.example:80", "localhost.evil.example", ""):
            assert _status(live.url, Host=host) == 403, host
        assert _status(live.url, Host="localhost:80") == 200
        with urllib.request.urlopen(live.url, timeout=30) as answer:
            assert answer.headers["Referrer-Policy"] == "no-referrer"


def _silent(live):
    """A connection that asks for nothing."""
    place = live.url.split("/")[2].split(":")
    return socket.create_connection((place[0], int(place[1])), timeout=30)


def test_there_are_only_so_many_connections(monkeypatch):
    monkeypatch.setattr("liegeo.view.live._CLIENTS", 3)
    with Live(scenes.pendulum().model) as live:
        live.end()
        held = [_silent(live) for _ in range(3)]
        extra = _silent(live)
        assert extra.recv(100).startswith(b"HTTP/1.0 503")
        for each in (*held, extra):
            each.close()
        # and there is room again
        codes = (_status(live.url) for _ in range(200) if not time.sleep(0.02))
        assert 200 in codes


@pytest.mark.parametrize("drip", [False, True])
def test_a_request_that_does_not_come_is_not_waited_for(monkeypatch, drip):
    monkeypatch.setattr("liegeo.view.live._PATIENCE", 0.3)
    with Live(scenes.pendulum().model) as live, _silent(live) as connection:
        connection.settimeout(0.1 if drip else 30.0)
        answer = None
        for _ in range(300):
            try:
                if drip:
                    connection.sendall(b"G")
                answer = connection.recv(100)
            except TimeoutError:
                continue
            except ConnectionError:
                answer = b""
            break
        assert answer == b""


def test_a_stream_ends_after_a_while(monkeypatch):
    monkeypatch.setattr("liegeo.view.live._LONGEST", 0.2)
    monkeypatch.setattr("liegeo.view.live._SIGN", 0.05)
    with Live(scenes.pendulum().model) as live:
        # nothing was sent, and the run goes on
        assert _events(live.url) == []
        assert not live.wait(0.01)


def test_a_server_that_nobody_asks_ends(monkeypatch):
    monkeypatch.setattr("liegeo.view.live._IDLE", 0.2)
    run = scenes.pendulum()
    result = serve(run.model, run.state(0), 0.1, output=0.02, show=lambda url: None, progress=False)
    assert result.info.finished


def test_a_port_that_is_taken_is_said():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=rf"view: cannot listen on port {port}: .*; port=0 takes a free one."):
            Live(scenes.pendulum().model, port=port)


def test_a_tree_is_no_model():
    with pytest.raises(InputError, match=r"view: model is .*expected a compiled Model.\n  Call compile\(\) on it."):
        Live(scenes.pendulum_tree())


def interrupted(code, line):
    """A program that gets Ctrl-C after it has printed a line: what else it prints, and how it ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a shell that starts this in the background lets its children ignore the signal
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process:
        try:
            assert process.stdout.readline() == line
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    return out, errors, process


@pytest.mark.foreign
def test_ctrl_c_during_the_run_ends_both():
    code = f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import scenes
        from liegeo.view import Live, live, serve

        class Told(Live):
            def __call__(self, piece):
                super().__call__(piece)
                print("going", flush=True)

        live.Live = Told
        run = scenes.pendulum()
        result = serve(run.model, run.state(0), 1e6, output=1.0, show=str, progress=False)
        print(result.info.message, flush=True)
    """
    out, errors, process = interrupted(code, "going\n")
    assert out.splitlines()[-1].startswith("interrupted at t = ")
    assert (errors, process.returncode) == ("", 0)


@pytest.mark.foreign
def test_ctrl_c_ends_the_server_cleanly():
    code = f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import threading, urllib.request
        import scenes
        from liegeo.view import serve
        run = scenes.pendulum()

        def show(url):
            def listen():
                urllib.request.urlopen(url + "frames").read()
                print("complete", flush=True)
            threading.Thread(target=listen, daemon=True).start()

        print(len(serve(run.model, run.state(0), 3.0, output=0.02, show=show, progress=False)), flush=True)
    """
    out, errors, process = interrupted(code, "complete\n")
    assert (out, errors, process.returncode) == ("151\n", "", 0)
