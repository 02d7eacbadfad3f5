"""Headless Chromium, spoken to over its pipe in the DevTools protocol."""

import base64
import json
import os
import select
import subprocess
import tempfile
import time
from contextlib import contextmanager

from .processes import Failure, stop

ARGUMENTS = [
    "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
    "--remote-debugging-pipe",
]
PATIENCE = 60

# Chromium draws no picture that is much taller, in pixels.
TALLEST = 16_000



@contextmanager
def running():
    """A browser that knows nothing of earlier ones."""
    with tempfile.TemporaryDirectory(prefix="soapstone-chromium-", ignore_cleanup_errors=True) as profile:
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()

        def pipes():
            # Chromium reads commands from 3 and writes answers to 4. Both are first moved out of
            # each other's way.
            commands, answers = os.dup2(to_read, 63), os.dup2(from_write, 64)
            os.dup2(commands, 3)
            os.dup2(answers, 4)

        process = subprocess.Popen(
            [*ARGUMENTS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=pipes, close_fds=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(from_write)
        try:
            yield Browser(to_write, from_read)
        finally:
            stop(process)
            os.close(to_write)
            os.close(from_read)


class Browser:
    """Commands and their answers; events are kept until somebody asks for them."""

    def __init__(self, commands, answers):
        self.commands, self.answers = commands, answers
        self.number, self.rest, self.events = 0, b"", []

    def command(self, method, session=None, **parameters):
        """Sends a command and waits for its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        return self.until(lambda it: it.get("id") == self.number, method)

    def until(self, wanted, what):
        """The first message that is wanted; others are kept."""
        deadline = time.monotonic() + PATIENCE
        while True:
            message = self.message(deadline, what)
            if wanted(message):
                if "error" in message:
                    raise Failure(f"Chromium refused {what}: {message['error']['message']}")
                return message.get("result", message)
            self.events.append(message)

    def message(self, deadline, what):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.answers], [], [], max(deadline - time.monotonic(), 0))
            read = os.read(self.answers, 1 << 20) if ready else b""
            if not read:
                raise Failure(f"Chromium did not answer {what}")
            self.rest += read
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def page(self):
        """A new, empty page."""
        target = self.command("Target.createTarget", url="about:blank")["targetId"]
        session = self.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, session)


class Page:
    """One page of a browser."""

    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")

    def command(self, method, **parameters):
        """Sends a command to the page."""
        return self.browser.command(method, self.session, **parameters)

    def look(self, width, height, scheme, media=""):
        """The size of the screen, and whether its user likes it dark."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", media=media, features=features)

    def open(self, address):
        """Loads an address; returns what was complained of and what was asked for meanwhile."""
        self.browser.events.clear()
        self.command("Page.navigate", url=address)
        self.browser.until(lambda it: it.get("method") == "Page.loadEventFired", "to load the page")
        # Whatever comes right after loading.
        self.evaluate("new Promise(done => setTimeout(done, 100))")
        return self.complaints(), self.requests()

    def complaints(self):
        """Errors and warnings of the console, and exceptions."""
        found = []
        for event in self.browser.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"]["text"])
            elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(f"console: {parameters['args']}")
            elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
        return found

    def requests(self):
        """Addresses that the page asked for."""
        sent = [it for it in self.browser.events if it.get("method") == "Network.requestWillBeSent"]
        return [it["params"]["request"]["url"] for it in sent]

    def evaluate(self, expression):
        """The value of an expression in the page."""
        answer = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Failure(f"the page threw: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def picture(self, path):
        """The whole page as PNG, as far down as Chromium draws one."""
        size = self.command("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], TALLEST), "scale": 1}
        data = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        path.write_bytes(base64.b64decode(data))

    def print(self):
        """The page as PDF."""
        return base64.b64decode(self.command("Page.printToPDF", printBackground=False)["data"])
