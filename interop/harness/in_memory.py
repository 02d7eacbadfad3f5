"""What the lab asks of a stack that secures and opens single messages in memory."""

from dataclasses import dataclass

from . import payloads


@dataclass(frozen=True)
class Work:
    """An operation with a mechanism on a message, so many times."""

    verb: str
    mechanism: str
    suite: str
    rsa_bits: int
    payload: str
    items: int
    repetitions: int

    @classmethod
    def read(cls, fields):
        """From the fields of a request: `items` are characters or books; without them, an echo is as long as `envelope_bytes` says."""
        items = fields["items"] if "items" in fields else max(fields["envelope_bytes"] - len(payloads.envelope("echo", 0)), 0)
        return cls(
            fields["do"], fields["mechanism"], fields.get("suite") or "Basic256", fields.get("rsa_bits", 2048),
            fields.get("payload", "echo"), items, fields["repetitions"],
        )  # fmt: skip

    def message(self, folder):
        """The file with the plain envelope, the answer of the sample service."""
        path = folder / f"{self.payload}.{self.items}.xml"
        if not path.exists():
            path.write_bytes(payloads.envelope(self.payload, self.items))
        return path
