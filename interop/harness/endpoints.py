"""Endpoint files for `soapstone secure`, `soapstone open` and the gateway."""

import json
from pathlib import Path


class Endpoint:
    """One endpoint file, built up part by part."""

    def __init__(self, folder, mechanism, **security):
        self.folder = Path(folder)
        self.tables = {"security": {"mechanism": mechanism, **security}}
        self.users = []

    def ours(self, keys, name):
        """Who we are."""
        self.tables["identity"] = {"key": str(keys.key(name)), "certificate": str(keys.certificate(name))}
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

    def inline(self, key):
        """As tables below `key`, for a gateway's route."""
        parts = [f"{key}.{name} = {_value(table)}" for name, table in self.tables.items()]
        if self.users:
            parts.append(f"{key}.users = [{', '.join(_value(user) for user in self.users)}]")
        return "\n".join(parts) + "\n"

    def write(self):
        """Writes the file; its path."""
        lines = []
        for name, table in self.tables.items():
            lines += [f"[{name}]", *(f"{key} = {_value(value)}" for key, value in table.items()), ""]
        for user in self.users:
            lines += ["[[users]]", *(f"{key} = {_value(value)}" for key, value in user.items()), ""]
        number = sum(1 for _ in self.folder.glob("endpoint.*.toml"))
        path = self.folder / f"endpoint.{number:03}.toml"
        path.write_text("\n".join(lines), encoding="utf-8")
        return path


def _value(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_value(inner) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=False)
