"""Calls every sample service through one zeep transport and checks the answers.

Each call prints one line of JSON; `run` returns the process's exit status.
"""

import datetime
import json
import time

import requests
import zeep
from zeep.transports import Transport

TEXT = "Ahoj, světe! <&> \N{GRINNING FACE}"


def echo(service):
    assert service.Echo(text=TEXT) == TEXT


def echo_string_array(service):
    strings = [f"string {number} <&>" for number in range(200)]
    assert service.EchoStringArray(strings={"item": strings}) == strings


def add(service):
    assert service.Sum(a=2_000_000_000, b=2_000_000_000) == 4_000_000_000


def employees(service):
    answer = service.EmployeeDetails()
    wanted = {"name", "empNumber", "email", "position", "dateOfBirth", "ssn", "homeAddress", "phoneNumber"}
    assert answer and all(wanted == set(employee.__values__) and all(employee.__values__.values()) for employee in answer)


def books(service):
    answer = service.getBooks(n=100)
    assert [book["id"] for book in answer] == list(range(1, 101))
    assert all(book["author"]["name"] and book["publisher"]["name"] and book["price"] > 0 for book in answer)


# Path of the service below the base address, the start of its ports' names, the call.
CALLS = [
    ("echo", "Echo", echo),
    ("echo-string-array", "EchoStringArray", echo_string_array),
    ("sum", "Sum", add),
    ("employees", "Employees", employees),
    ("books", "Books", books),
]


def run(base, make_wsse=lambda: None, label="plain"):
    """Calls every service at `base`/path in SOAP 1.1 and 1.2; `make_wsse` gives the zeep plugin for a client."""
    failures = 0
    for path, name, call in CALLS:
        for version in ("11", "12"):
            result = {"client": "zeep", "security": label, "service": path, "soap": version}
            start = time.perf_counter()
            try:
                address = f"{base}/{path}"
                client = zeep.Client(f"{address}?wsdl", transport=_transport(), wsse=make_wsse())
                service = client.bind(f"{name}Service", f"{name}Soap{version}Port")
                found = service._binding_options["address"]
                assert found == address, f"the WSDL names {found}, it was fetched from {address}"
                call(service)
            except Exception as error:  # whatever went wrong is this call's result
                result["error"] = f"{type(error).__name__}: {error}"
                failures += 1
            result["passed"] = "error" not in result
            result["seconds"] = round(time.perf_counter() - start, 4)
            print(json.dumps(result), flush=True)
    return 1 if failures else 0


def _transport():
    session = requests.Session()
    session.trust_env = False
    return Transport(session=session, timeout=30, operation_timeout=30)


def now():
    """The current time, to the second."""
    return datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
