"""suds with its own UsernameToken and Timestamp: one call of Echo, told in one line of JSON."""

import json
import sys

from suds import WebFault
from suds.client import Client
from suds.wsse import Security, Timestamp, UsernameToken


def security(wanted):
    """The header that suds writes."""
    header = Security()
    user = UsernameToken(wanted["user"], wanted["password"])
    if wanted["nonce"]:
        user.setnonce()
        user.setcreated()
    header.tokens.append(user)
    if wanted["timestamp"]:
        header.tokens.append(Timestamp())
    return header


def call(address, wanted):
    """The outcome of a call."""
    client = Client(f"{address}?wsdl", wsse=security(wanted), location=address, cache=None)
    try:
        answer = client.service["EchoSoap11Port"].Echo(wanted["text"])
    except WebFault as fault:
        return {"passed": False, "fault": True, "error": str(fault)}
    text = str(getattr(answer, "text", answer))
    return {"passed": True} if text == wanted["text"] else {"passed": False, "error": text}


if __name__ == "__main__":
    try:
        result = call(sys.argv[1], json.loads(sys.argv[2]))
    except Exception as error:  # whatever went wrong is this call's result
        result = {"passed": False, "error": f"{type(error).__name__}: {error}"}
    print(json.dumps(result))
