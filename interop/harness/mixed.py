"""Messages over several mechanisms at once, each known by its name: which were lost, and which arrived twice.

The rule kept here: a message that was answered arrived once, and one that was not is lost.
"""

import asyncio
import collections
import contextlib
import re
import time
from urllib.parse import urlsplit

NAME = re.compile(rb"<e:text>(\d+)</e:text>")
PATIENCE = 30


def envelope(name):
    """A message of about 1 kB."""
    return (
        '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>'
        f'<e:Echo xmlns:e="urn:soapstone:services:echo"><e:text>{name}</e:text>'
        f'<e:rest>{"0123456789abcdef" * 48}</e:rest></e:Echo></s:Body></s:Envelope>'
    ).encode()


def content_length(head):
    """How long the body of an HTTP message is."""
    fields = (line.partition(b":") for line in head.split(b"\r\n"))
    return next((int(value) for name, _, value in fields if name.lower() == b"content-length"), 0)


class Service(asyncio.Protocol):
    """Answers each message with itself, and counts what arrives."""

    def __init__(self, arrived):
        self.arrived = arrived
        self.read = b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.read += data
        while True:
            head, end, rest = self.read.partition(b"\r\n\r\n")
            length = content_length(head)
            if not end or len(rest) < length:
                return
            body, self.read = rest[:length], rest[length:]
            found = NAME.search(body)
            self.arrived[int(found[1]) if found else None] += 1
            answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/xml; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s"
            self.transport.write(answer % (len(body), body))


class Delay(asyncio.Protocol):
    """Passes bytes on to a server, and those that come back after a delay: a round trip takes as long."""

    def __init__(self, port, seconds):
        self.port = port
        self.seconds = seconds
        self.waiting = []
        self.server = None

    def connection_made(self, transport):
        self.client = transport
        self.connecting = asyncio.ensure_future(self.connect())

    async def connect(self):
        loop, client, seconds = asyncio.get_running_loop(), self.client, self.seconds

        class Back(asyncio.Protocol):
            def data_received(self, data):
                loop.call_later(seconds, client.write, data)

            def connection_lost(self, error):
                client.close()

        self.server, _ = await loop.create_connection(Back, "127.0.0.1", self.port)
        for data in self.waiting:
            self.server.write(data)

    def data_received(self, data):
        if self.server:
            self.server.write(data)
        else:
            self.waiting.append(data)

    def connection_lost(self, error):
        if self.server:
            self.server.close()


def delaying(port, server, seconds):
    """Delays what a server answers, until the process is killed."""

    async def serve():
        loop = asyncio.get_running_loop()
        delay = await loop.create_server(lambda: Delay(server, seconds), "127.0.0.1", port, backlog=1024)
        await delay.serve_forever()

    asyncio.run(serve())


class Clients:
    """Clients that call in turn over all addresses, each over a connection that it keeps."""

    def __init__(self, addresses):
        self.addresses = [urlsplit(address) for address in addresses]
        self.sent = 0
        self.answered = set()
        self.failed = collections.Counter()
        self.times = []

    async def run(self, connections, seconds):
        """Calls for that time."""
        end = time.monotonic() + seconds
        await asyncio.gather(*(self.client(number, end) for number in range(connections)))

    async def client(self, number, end):
        """One client, which begins anew where a connection ends."""
        stream = None
        while time.monotonic() < end:
            number += 1
            name, self.sent = self.sent, self.sent + 1
            address = self.addresses[number % len(self.addresses)]
            began = time.monotonic()
            why = None
            try:
                async with asyncio.timeout(PATIENCE):
                    stream = stream or await asyncio.open_connection(address.hostname, address.port)
                    why = await self.call(stream, address, name)
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                why = type(error).__name__
            self.times.append(time.monotonic() - began)
            if why:
                self.failed[why] += 1
                if stream:
                    stream[1].close()
                stream = None
            else:
                self.answered.add(name)
        if stream:
            stream[1].close()

    async def call(self, stream, address, name):
        """Sends a message; why the answer is not right, if it is not."""
        reader, writer = stream
        body = envelope(name)
        writer.write(
            b"POST %s HTTP/1.1\r\nHost: g\r\nContent-Type: text/xml; charset=utf-8\r\nContent-Length: %d\r\n"
            b'SOAPAction: "urn:soapstone:services:echo:Echo"\r\n\r\n%s' % (address.path.encode(), len(body), body)
        )
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(content_length(head))
        if not head.startswith(b"HTTP/1.1 200 "):
            return head.splitlines()[0].decode()
        found = NAME.search(body)
        return None if found and int(found[1]) == name else "another answer"


async def idle(addresses, count):
    """Keeps so many connections open that send nothing, and opens those anew that are closed."""

    async def one(address):
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection(address.hostname, address.port)
                await reader.read()
                writer.close()
            await asyncio.sleep(0.1)

    addresses = [urlsplit(address) for address in addresses]
    await asyncio.gather(*(one(addresses[number % len(addresses)]) for number in range(count)))
