"""Sample services, an inbound and an outbound gateway, on free loopback ports, for as long as a block runs."""

import contextlib
from dataclasses import dataclass
from pathlib import Path

from .endpoints import Endpoint
from .processes import free_port, server

SERVICES = ["echo", "echo-string-array", "sum", "employees", "books"]
USER = ("alice", "correct horse battery staple")


@dataclass
class Gateways:
    """Addresses, without a path: append `/{route}/{service}`."""

    services: str
    inbound: str
    outbound: str
    processes: dict


@dataclass
class Route:
    """One way of securing, under its name in the path."""

    name: str
    mechanism: str
    security: dict
    outbound: bool = True


@contextlib.contextmanager
def running(soapstone, keys, folder, routes):
    """Starts all three with every route for every service."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    ports = [free_port() for _ in range(3)]
    addresses = Gateways(*(f"http://127.0.0.1:{port}" for port in ports), processes={})
    inbound = _file(folder / "inbound.toml", ports[1], "inbound", routes, addresses.services, keys)
    both = [route for route in routes if route.outbound]
    outbound = _file(folder / "outbound.toml", ports[2], "outbound", both, addresses.inbound, keys)
    with contextlib.ExitStack() as stack:
        for name, port, words in (
            ("services", ports[0], ["services", "--listen", f"127.0.0.1:{ports[0]}"]),
            ("inbound", ports[1], ["gateway", "--config", inbound]),
            ("outbound", ports[2], ["gateway", "--config", outbound]),
        ):
            process = stack.enter_context(server(name, [soapstone, *words], [port], folder / f"{name}.log"))
            addresses.processes[name] = process
        yield addresses


def _file(path, port, direction, routes, backend, keys):
    sections = [f'listen = "127.0.0.1:{port}"\n']
    for route in routes:
        tables = endpoint(route, direction, keys).inline()
        for service in SERVICES:
            to = f"{backend}/{service}" if direction == "inbound" else f"{backend}/{route.name}/{service}"
            sections.append(
                f'[[routes]]\npath = "/{route.name}/{service}"\nbackend = "{to}"\n[routes.{direction}]\n{tables}'
            )
    path.write_text("\n".join(sections), encoding="utf-8")
    return path


def endpoint(route, direction, keys):
    """Our endpoint of that route: the server's inbound, the client's outbound."""
    ours, theirs = ("server", "client") if direction == "inbound" else ("client", "server")
    tables = Endpoint(route.mechanism, **route.security)
    if route.mechanism == "username":
        tables.user(*USER)
    if route.mechanism != "none":
        tables.ours(keys, ours).encrypt_to(keys, theirs).trust(keys.ca)
    return tables
