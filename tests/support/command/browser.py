"""A headless Chromium that tests look at pages with, spoken to by WebDriver (https://www.w3.org/TR/webdriver2/).

The browser has a new, empty profile, and nothing in it looks for anything in a network.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

SWITCHES = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-extensions",
    "--disable-dev-shm-usage", "--window-size=1200,800", "--force-device-scale-factor=1",
)  # fmt: skip

COMMAND_TIMEOUT = 60

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""What WebDriver calls a reference to an element."""

ENTER, ESCAPE = "\ue007", "\ue00c"
ARROW_LEFT, ARROW_UP, ARROW_RIGHT, ARROW_DOWN = "\ue012", "\ue013", "\ue014", "\ue015"


class Browser:
    """One window. `close` ends the browser and removes its profile."""

    def __init__(self) -> None:
        self._profile = tempfile.mkdtemp(prefix="sonde-browser-")
        self._log = open(os.path.join(self._profile, "driver.log"), "w+b")  # noqa: SIM115 - as long as the browser
        self._driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._log,
            start_new_session=True, env={**os.environ, "HOME": self._profile},
        )  # fmt: skip
        self._session = ""
        try:
            self._base = f"http://127.0.0.1:{self._port()}"
            arguments = [*SWITCHES, f"--user-data-dir={self._profile}/data"]
            options = {"args": arguments, "binary": shutil.which("chromium")}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
            answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
            self._session = f"/session/{answer['sessionId']}"
        except BaseException:
            self.close()
            raise

    def _port(self) -> int:
        for line in self._driver.stdout:
            found = re.search(rb"started successfully on port (\d+)", line)
            if found:
                return int(found[1])
        raise RuntimeError("chromedriver did not start")

    def _call(self, method: str, path: str, content: Any = None) -> Any:
        data = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        # No proxy of the environment stands between this and the loopback.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=COMMAND_TIMEOUT) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.loads(error.read())["value"]
            raise RuntimeError(f"{path}: {value['error']}: {value['message'][:500]}") from None

    def open(self, path: Path) -> None:
        """Load a file, to the end of its `load` event."""
        self._call("POST", f"{self._session}/url", {"url": path.resolve().as_uri()})

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a script's `return`; of a promise what it comes to."""
        return self._call("POST", f"{self._session}/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, condition: str, *arguments: Any) -> Any:
        """The value of an expression as soon as it is true of the page. Raises RuntimeError if it never is."""
        script = """
            const [seconds, ...rest] = arguments, end = Date.now() + 1000 * seconds;
            return new Promise((done, fail) => (function look() {
              const value = (function () { return CONDITION; }).apply(null, rest);
              if (value) done(value); else if (Date.now() > end) fail(new Error("never true"));
              else setTimeout(look, 10);
            })());""".replace("CONDITION", condition)
        return self.run(script, 20, *arguments)

    def element(self, selector: str) -> str:
        """The first element that a CSS selector finds. Raises RuntimeError if there is none."""
        found = self._call("POST", f"{self._session}/element", {"using": "css selector", "value": selector})
        return found[ELEMENT]

    def click(self, selector: str) -> None:
        """Click in the middle of an element, as a mouse does."""
        self._call("POST", f"{self._session}/element/{self.element(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        """Click on an element and type there."""
        self.click(selector)
        self.press(*text)

    def press(self, *keys: str) -> None:
        """Press keys where the focus is, one after the other."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", f"{self._session}/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def drag(self, selector: str, *points: tuple[float, float]) -> None:
        """Press the mouse at the first point and release it at the last; from the element's left upper corner.

        A single point is only pointed at.
        """
        script = "const box = document.querySelector(arguments[0]).getBoundingClientRect(); return [box.left, box.top]"
        left, top = self.run(script, selector)
        actions: list[dict[str, Any]] = [
            {"type": "pointerMove", "x": round(left + x), "y": round(top + y), "origin": "viewport", "duration": 0}
            for x, y in points
        ]
        if len(points) > 1:
            actions.insert(1, {"type": "pointerDown", "button": 0})
            actions.append({"type": "pointerUp", "button": 0})
        source = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}
        self._call("POST", f"{self._session}/actions", {"actions": [source]})

    def complaints(self) -> list[str]:
        """What has been written to the browser's console since the last time: errors, and breaches of policies."""
        entries = self._call("POST", f"{self._session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries]

    def media(self, **features: str) -> None:
        """Let media features have these values, as `prefers_color_scheme="dark"`."""
        listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        content = {"cmd": "Emulation.setEmulatedMedia", "params": {"features": listed}}
        self._call("POST", f"{self._session}/goog/cdp/execute", content)

    def screenshot(self) -> bytes:
        """The window as a PNG."""
        return base64.b64decode(self._call("GET", f"{self._session}/screenshot"))

    def close(self) -> None:
        try:
            if self._session:
                self._call("DELETE", self._session)
        finally:
            # The session of the driver: what of the browser is left.
            os.killpg(self._driver.pid, signal.SIGKILL)
            self._driver.wait()
            self._driver.stdout.close()
            self._log.close()
            shutil.rmtree(self._profile, ignore_errors=True)
