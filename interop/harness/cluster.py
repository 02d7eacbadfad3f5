"""A cluster on loopback ports: Redis with replicas and Sentinels, gateway nodes, and a load balancer before them.

Redis and the Sentinels are started by the scripts of `deploy/`, with the access rights that are there.
"""

import contextlib
import json
import os
import secrets
import time
from dataclasses import dataclass, field

from . import installing
from .endpoints import Endpoint
from .processes import Failure, free_port, must, run, server

DEPLOY = installing.REPOSITORY / "deploy"
NGINX = installing.INTEROP / "nginx"


@dataclass
class Cluster:
    """What runs, by name; `redis` and `nodes` map ports to processes."""

    address: str
    redis: dict = field(default_factory=dict)
    sentinels: list = field(default_factory=list)
    nodes: dict = field(default_factory=dict)

    def primary(self):
        """The port of the primary, as the Sentinels know it."""
        for port in self.sentinels:
            asked = run("redis-cli", "-p", port, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", "soapstone", timeout=5)
            words = asked.output.split()
            if asked.status == 0 and len(words) == 2:
                return int(words[1])
        raise Failure("no Sentinel knows a primary")


@contextlib.contextmanager
def running(soapstone, keys, folder, service, nodes=3):
    """Starts everything before the service at the port `service`: 3 Redis servers, 3 Sentinels, the nodes, the balancer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "redis.password").write_text(secrets.token_hex(24), encoding="ascii")
    (folder / "seal.key").write_text(secrets.token_hex(32), encoding="ascii")
    balancer = free_port()
    cluster = Cluster(f"http://127.0.0.1:{balancer}/echo", sentinels=[free_port() for _ in range(3)])
    redis = [free_port() for _ in range(3)]
    with contextlib.ExitStack() as stack:
        for name, port, process in _stores(stack, folder, redis, cluster.sentinels):
            if name == "redis":
                cluster.redis[port] = process
        store = {
            "sentinels": [f"127.0.0.1:{port}" for port in cluster.sentinels],
            "master": "soapstone",
            "username": "soapstone",
            "password_file": str(folder / "redis.password"),
            "replicas": 1,
            "seal_key_file": str(folder / "seal.key"),
        }
        for number in range(nodes):
            port = free_port()
            config = node(folder / f"node-{number}.toml", port, service, keys, store)
            command = [soapstone, "gateway", "--config", config]
            cluster.nodes[port] = stack.enter_context(server("gateway", command, [port], folder / f"node-{number}.log"))
        config = (NGINX / "balancer.conf.in").read_text(encoding="ascii")
        servers = "\n".join(f"        server 127.0.0.1:{port} max_fails=1 fail_timeout=1s;" for port in cluster.nodes)
        for name, value in (("listen", f"127.0.0.1:{balancer}"), ("nodes", servers), ("folder", str(folder))):
            config = config.replace(f"@{name}@", value)
        (folder / "nginx.conf").write_text(config, encoding="ascii")
        stack.enter_context(server("nginx", ["nginx", "-c", folder / "nginx.conf"], [balancer], folder / "nginx.log"))
        yield cluster


def _stores(stack, folder, redis, sentinels):
    """Starts the Redis servers, then the Sentinels, and waits until they have found each other."""
    environment = {
        **os.environ,
        "PASSWORD_FILE": str(folder / "redis.password"),
        "ACL_FILE": str(DEPLOY / "users.acl"),
        "FIRST": f"127.0.0.1:{redis[0]}",
    }
    watched = [f"127.0.0.1:{port}" for port in sentinels]
    for name, ports, arguments in (("redis", redis, watched), ("sentinel", sentinels, [])):
        for port in ports:
            place = folder / f"{name}-{port}"
            place.mkdir()
            command = [DEPLOY / f"{name}-start", "127.0.0.1", port, *arguments]
            options = {"env": {**environment, "FOLDER": str(place)}}
            yield name, port, stack.enter_context(server(name, command, [port], folder / f"{name}-{port}.log", **options))
    deadline = time.monotonic() + 30
    while not all(_complete(port) for port in sentinels):
        if time.monotonic() > deadline:
            raise Failure("the Sentinels and the replicas were not ready within 30 s")
        time.sleep(0.2)


def _complete(port):
    """Whether that Sentinel knows the others, and two replicas that have all that their primary has."""
    known = run("redis-cli", "-p", port, "INFO", "sentinel").output
    replicas = run("redis-cli", "-p", port, "SENTINEL", "REPLICAS", "soapstone").output.split()
    links = [value for name, value in zip(replicas, replicas[1:]) if name == "master-link-status"]
    return "slaves=2,sentinels=3" in known and links == ["ok", "ok"]


def node(path, port, service, keys, store=None):
    """Writes a gateway's file: conversations in the store, or in its memory."""
    kept = {"store": "redis" if store else "memory"}
    endpoint = Endpoint("secure-conversation", suite="Basic128GCM", replay=kept, conversations=kept)
    endpoint.ours(keys, "server").trust(keys.ca)
    if store:
        endpoint.tables["store"] = store
    path.write_text(
        f'listen = "127.0.0.1:{port}"\n[[routes]]\npath = "/echo"\nbackend = "http://127.0.0.1:{service}/echo"\n'
        f"[routes.inbound]\n{endpoint.inline()}",
        encoding="utf-8",
    )
    return path


def clients(keys, folder):
    """The endpoint file of the clients."""
    endpoint = Endpoint("secure-conversation", suite="Basic128GCM")
    return endpoint.ours(keys, "client").encrypt_to(keys, "server").trust(keys.ca).write(folder)


def conversations(soapstone, config, url, *arguments):
    """The command that holds conversations at `url`."""
    words = [soapstone, "lab", "run", "conversations", "--json", "--config", config, "--url", url, *arguments]
    return [str(word) for word in words]


def idle(soapstone, config, url, count):
    """Begins so many conversations and leaves them behind; how long the handshakes took."""
    done = must(*conversations(soapstone, config, url, "--conversations", count, "--seconds", 0), timeout=280)
    return json.loads(done.output)["handshakes"]
