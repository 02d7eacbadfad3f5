"""The plain messages that are secured and opened, and how two of them are compared."""

import xml.etree.ElementTree as ElementTree

from .processes import Failure

SOAP11 = "http://schemas.xmlsoap.org/soap/envelope/"
SOAP12 = "http://www.w3.org/2003/05/soap-envelope"
WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"

RECORD = (
    "<b:book><b:id>{0}</b:id><b:isbn>978-0-00-{0:06}-0</b:isbn><b:title>Title number {0} &amp; more</b:title>"
    "<b:price>{0}.95</b:price><b:year>1987</b:year><b:author><b:id>{1}</b:id><b:name>Čapek &lt;{1}&gt;</b:name></b:author>"
    "<b:publisher><b:id>{2}</b:id><b:name>Publisher {2}</b:name></b:publisher></b:book>"
)


def books(count, soap=SOAP11):
    """An envelope with that many book records, in UTF-8, with a header block to sign."""
    records = "".join(RECORD.format(number, number % 97, number % 13) for number in range(1, count + 1))
    return (
        f'<soap:Envelope xmlns:soap="{soap}"><soap:Header>'
        '<wsa:To xmlns:wsa="http://www.w3.org/2005/08/addressing">http://localhost/books</wsa:To></soap:Header>'
        f'<soap:Body><b:getBooksResponse xmlns:b="urn:soapstone:services:books">{records}</b:getBooksResponse>'
        "</soap:Body></soap:Envelope>"
    ).encode()


def holding(content, soap=SOAP11):
    """An envelope with this content."""
    return f'<soap:Envelope xmlns:soap="{soap}"><soap:Header/><soap:Body>{content}</soap:Body></soap:Envelope>'.encode()


def same_body(expected, found):
    """Fails unless both envelopes have the same Body, ids aside."""
    if body(expected) != body(found):
        raise Failure(f"the Body changed on its way\nexpected {body(expected)[:300]}\nfound    {body(found)[:300]}")


def body(envelope):
    """The canonical form of what the Body holds."""
    try:
        root = ElementTree.fromstring(envelope)
    except ElementTree.ParseError as error:
        raise Failure(f"not well-formed: {error}: {envelope[:300]!r}") from error
    found = [child for child in root if child.tag.endswith("}Body")]
    if len(found) != 1:
        raise Failure(f"expected one Body, found {len(found)}: {envelope[:300]!r}")
    return "".join(ElementTree.canonicalize(ElementTree.tostring(child, encoding="unicode")) for child in found[0])
