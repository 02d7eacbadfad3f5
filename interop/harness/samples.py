"""The sample services as other stacks serve and call them: the contract, and which part of it each operation of the lab is of."""

from . import installing, policies
from .processes import Failure

CONTRACT = installing.REPOSITORY / "crates" / "services" / "contract"
# The file of its contract and the name of its service, by what the lab asks for.
SERVICES = {
    "echo": ("echo", "Echo"),
    "strings": ("echo-string-array", "EchoStringArray"),
    "books": ("books", "Books"),
    "employees": ("employees", "Employees"),
    "employee": ("employees", "Employees"),
    "sum": ("sum", "Sum"),
    "temperature": ("temperature", "Temperature"),
}


def plain(contract):
    """The WSDL of a service without any policy, with its schema in it, as a DOM document."""
    return policies.self_contained(_contract, contract)


def names(operation):
    """The options that name service and port of an operation, for programs in Java."""
    contract, name = SERVICES[operation]
    namespace = f"{{urn:soapstone:services:{contract}}}"
    return ["--service", f"{namespace}{name}Service", "--port", f"{namespace}{name}Soap11Port"]


def _contract(name):
    """What is in a file of the contract; `NAME?wsdl` stands for the WSDL."""
    try:
        return (CONTRACT / (f"{name.removesuffix('?wsdl')}.wsdl" if name.endswith("?wsdl") else name)).read_bytes()
    except OSError as error:
        raise Failure(str(error)) from error
