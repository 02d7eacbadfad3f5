"""Assertions of WS-SecurityPolicy as text: what the policies of the matrix are made of.

The prefixes `wsp` and `sp` are bound by whoever makes a document of them.
"""

# The namespaces of WS-Policy 1.5 with WS-SecurityPolicy 1.2.
CURRENT = {
    "wsp": "http://www.w3.org/ns/ws-policy",
    "sp": "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702",
}
GCM = "http://cxf.apache.org/custom/security-policy"
ADDRESSING = "http://www.w3.org/2005/08/addressing"

WITH_ADDRESSING = '<wsam:Addressing xmlns:wsam="http://www.w3.org/2007/05/addressing/metadata"><wsp:Policy/></wsam:Addressing>'
ENTIRE = "<sp:OnlySignEntireHeadersAndBody/>"


def _inclusion(value):
    return f'sp:IncludeToken="{CURRENT["sp"]}/IncludeToken/{value}"'


def x509(inclusion, options=""):
    """An X.509 certificate."""
    return f"<sp:X509Token {_inclusion(inclusion)}><wsp:Policy>{options}<sp:WssX509V3Token10/></wsp:Policy></sp:X509Token>"


CLIENT = x509("AlwaysToRecipient")


def asymmetric(suite, timestamp=True, options="", initiator=CLIENT, recipient=x509("Never")):
    """Each side has a certificate."""
    tokens = _token("InitiatorToken", initiator) + _token("RecipientToken", recipient)
    return f"<sp:AsymmetricBinding><wsp:Policy>{tokens}{_common(suite, timestamp, options)}</wsp:Policy></sp:AsymmetricBinding>"


def apart(suite, initiator="", recipient="", options=""):
    """Each side has a certificate: one token says how it signs, and another one, with demands of its own, how messages are encrypted for it."""
    tokens = "".join(
        _token(f"{side}{purpose}Token", x509(inclusion, demands))
        for side, inclusion, own in (("Initiator", "AlwaysToRecipient", initiator), ("Recipient", "Never", recipient))
        for purpose, demands in (("Signature", ""), ("Encryption", own))
    )
    return f"<sp:AsymmetricBinding><wsp:Policy>{tokens}{_common(suite, True, options)}</wsp:Policy></sp:AsymmetricBinding>"


def symmetric(suite, derived=False, options=""):
    """One key, wrapped to the service's certificate."""
    return protected_by(suite, x509("Never", ("<sp:RequireDerivedKeys/>" if derived else "") + "<sp:RequireThumbprintReference/>"), options)


def protected_by(suite, token, options=""):
    """The key of a token."""
    return (
        f"<sp:SymmetricBinding><wsp:Policy>{_token('ProtectionToken', token)}"
        f"{_common(suite, True, options)}</wsp:Policy></sp:SymmetricBinding>"
    )


def transport(suite, client=""):
    """The connection protects; `client` demands something of who is at its other end."""
    token = _token("TransportToken", f"<sp:HttpsToken><wsp:Policy>{client}</wsp:Policy></sp:HttpsToken>")
    return f"<sp:TransportBinding><wsp:Policy>{token}{_common(suite, True, '', '')}</wsp:Policy></sp:TransportBinding>"


def conversation(suite, bootstrap, derived=False, addressing=WITH_ADDRESSING):
    """The key of a security context, which `bootstrap` protects on its way."""
    token = _context(bootstrap, derived)
    return (
        f"{addressing}<sp:SymmetricBinding><wsp:Policy>{_token('ProtectionToken', token)}{_common(suite, True, '')}</wsp:Policy>"
        f"</sp:SymmetricBinding>{wss11()}{trust13()}"
    )


def conversation_over_tls(suite, bootstrap, derived=False, kind="Endorsing", own=""):
    """The connection protects, and the key of a security context says whose each request is, as WCF has it."""
    token = supporting(f"{kind}SupportingTokens", _context(bootstrap, derived) + own)
    return f"{WITH_ADDRESSING}{transport(suite)}{token}{wss11()}{trust13()}"


def endorsed_in_conversation(binding, bootstrap, derived=False, kind="Endorsing", own=""):
    """The binding's keys protect messages, and the key of a security context says besides whose each request is."""
    token = supporting(f"{kind}SupportingTokens", _context(bootstrap, derived) + own)
    return f"{WITH_ADDRESSING}{binding}{token}{trust13()}"


def _context(bootstrap, derived):
    derivation = "<sp:RequireDerivedKeys/>" if derived else ""
    return (
        f"<sp:SecureConversationToken {_inclusion('AlwaysToRecipient')}><wsp:Policy>{derivation}"
        f"<sp:BootstrapPolicy><wsp:Policy>{bootstrap}</wsp:Policy></sp:BootstrapPolicy></wsp:Policy></sp:SecureConversationToken>"
    )


def _common(suite, timestamp, options, entire=ENTIRE):
    prefix = f'cxf:{suite} xmlns:cxf="{GCM}"' if suite.endswith("GCM") else f"sp:{suite}"
    return (
        f"<sp:AlgorithmSuite><wsp:Policy><{prefix}/></wsp:Policy></sp:AlgorithmSuite>"
        f"<sp:Layout><wsp:Policy><sp:Lax/></wsp:Policy></sp:Layout>{'<sp:IncludeTimestamp/>' if timestamp else ''}"
        f"{options}{entire}"
    )


def _token(role, token):
    return f"<sp:{role}><wsp:Policy>{token}</wsp:Policy></sp:{role}>"


def username(options=""):
    """A user name with its password."""
    return (
        f"<sp:UsernameToken {_inclusion('AlwaysToRecipient')}><wsp:Policy>{options}<sp:WssUsernameToken10/></wsp:Policy>"
        "</sp:UsernameToken>"
    )


def kerberos(options="", form="Gss", inclusion="AlwaysToRecipient"):
    """A Kerberos token; `form` is empty for an AP-REQ without the framing of GSS."""
    return (
        f"<sp:KerberosToken {_inclusion(inclusion)}><wsp:Policy>{options}<sp:Wss{form}KerberosV5ApReqToken11/></wsp:Policy>"
        "</sp:KerberosToken>"
    )


def saml(version, inclusion="AlwaysToRecipient", options=""):
    """An assertion of that version of SAML."""
    kind = {"2.0": "WssSamlV20Token11", "1.1": "WssSamlV11Token11"}[version]
    return f"<sp:SamlToken {_inclusion(inclusion)}><wsp:Policy>{options}<sp:{kind}/></wsp:Policy></sp:SamlToken>"


def supporting(kind, token):
    """One more token."""
    return f"<sp:{kind}><wsp:Policy>{token}</wsp:Policy></sp:{kind}>"


def wss10():
    """How tokens are referred to under the asymmetric binding."""
    return "<sp:Wss10><wsp:Policy><sp:MustSupportRefKeyIdentifier/><sp:MustSupportRefIssuerSerial/></wsp:Policy></sp:Wss10>"


def wss11(options=""):
    """How tokens are referred to under the symmetric binding."""
    return (
        "<sp:Wss11><wsp:Policy><sp:MustSupportRefIssuerSerial/><sp:MustSupportRefThumbprint/><sp:MustSupportRefEncryptedKey/>"
        f"{options}</wsp:Policy></sp:Wss11>"
    )


def trust13():
    """How tokens are asked for."""
    return (
        "<sp:Trust13><wsp:Policy><sp:MustSupportIssuedTokens/><sp:RequireClientEntropy/><sp:RequireServerEntropy/></wsp:Policy>"
        "</sp:Trust13>"
    )


def both():
    """Body and addressing headers signed, Body encrypted."""
    return parts("SignedParts") + parts("EncryptedParts")


def parts(kind):
    """The Body; when it is signed, the addressing headers, too."""
    headers = f'<sp:Header Namespace="{ADDRESSING}"/>' if kind == "SignedParts" else ""
    return f"<sp:{kind}><sp:Body/>{headers}</sp:{kind}>"
