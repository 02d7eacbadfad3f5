"""Endpoint files for `soapstone secure`, `soapstone open` and the gateway."""

import json
from pathlib import Path


class Endpoint:
    """One endpoint file, built up part by part."""

    def __init__(self, mechanism=None, **security):
        self.tables = {"security": {**({"mechanism": mechanism} if mechanism else {}), **security}}
        self.users = []

    def ours(self, keys, name):
        """Who we are."""
        self.tables["identity"] = {"key": str(keys.key(name)), "certificate": str(keys.certificate(name))}
        return self

    def decrypts_with(self, keys, name):
        """The key that others encrypt to, where it is not the one that we sign with."""
        decryption = {"key": str(keys.key(name)), "certificate": str(keys.certificate(name))}
        self.tables["identity"]["decryption"] = decryption
        return self

    def endorses_with(self, keys, *names):
        """The keys that endorse, where that is not the one that we sign with."""
        endorsing = [{"key": str(keys.key(name)), "certificate": str(keys.certificate(name))} for name in names]
        self.tables["identity"]["endorsing"] = endorsing
        return self

    def encrypt_to(self, keys, name):
        """Whom we encrypt to."""
        self.tables["peer"] = {"certificate": str(keys.certificate(name))}
        return self

    def trust(self, anchor):
        """Whose certificates we accept."""
        self.tables["trust"] = {"anchors": [str(anchor)]}
        return self

    def pin(self, *certificates):
        """The certificates we accept as they are."""
        self.tables.setdefault("trust", {})["pinned"] = [str(certificate) for certificate in certificates]
        return self

    def user(self, name, password):
        """Who we are by name, or whom we know."""
        self.users.append({"name": name, "password": password})
        return self

    def inline(self):
        """The tables as lines of an open TOML table, such as a route's `[routes.inbound]`."""
        lines = [f"{name} = {_value(table)}" for name, table in self.tables.items()]
        if self.users:
            lines.append(f"users = {_value(self.users)}")
        return "\n".join(lines) + "\n"

    def write(self, folder):
        """Writes a new file into `folder`; its path."""
        number = sum(1 for _ in Path(folder).glob("endpoint.*.toml"))
        path = Path(folder) / f"endpoint.{number:03}.toml"
        path.write_text(self.inline(), encoding="utf-8")
        return path


def _value(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_value(inner) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=False)
