//! Policies that name assertions, with endpoint files that say whose they are.

use std::sync::Arc;

use soapstone::endpoint::{AssertionErrand, AssertionFetcher, Serving};
use soapstone::wss::names;
use soapstone::{Arrived, Client, Service};
use soapstone_testkit::assertion::{Assertion, ID};
use soapstone_testkit::envelope::{SOAP11, with_header};
use soapstone_testkit::{Folder, keys};

use super::{
    BEARERS, CLIENT, PROVING_CLIENT, SERVICE, endpoint, endpoints, exchange_with, memory, of_alice,
    of_alices_secret, plain,
};

const SP: &str = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";

/// WS-SecurityPolicy 1.3, 5.4.8 and 7.4.
#[test]
fn a_policy_file_has_an_assertion_protect_messages() {
    let folder = of_alices_secret();
    for (derived, name) in [("", "no"), ("<sp:RequireDerivedKeys/>", "derived")] {
        let policy = format!(
            "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{SP}\"><sp:SymmetricBinding><wsp:Policy>\
             <sp:ProtectionToken><wsp:Policy><sp:SamlToken sp:IncludeToken=\"{SP}/IncludeToken/AlwaysToRecipient\">\
             <wsp:Policy>{derived}<sp:WssSamlV20Token11/></wsp:Policy></sp:SamlToken></wsp:Policy></sp:ProtectionToken>\
             <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/>\
             <sp:ProtectTokens/></wsp:Policy></sp:SymmetricBinding><sp:SignedParts><sp:Body/></sp:SignedParts>\
             <sp:EncryptedParts><sp:Body/></sp:EncryptedParts></wsp:Policy>"
        );
        folder.write("policy.xml", policy);
        let security = "[security]\npolicy = \"policy.xml\"\nsha256_suites = \"sha256\"\n\
             algorithms = { key_transport = [\"rsa-oaep\"] }\n";
        let client = PROVING_CLIENT.replace("holder_key = \"symmetric\"\n", "");
        let request = exchange_with(&folder, &client, SERVICE, security);
        assert_eq!(
            request.contains("DerivedKeyToken"),
            !derived.is_empty(),
            "{name}"
        );
    }
}

/// WS-SecurityPolicy 1.3, 5.4.8: the policy says that the initiator's token is an assertion, and
/// the endpoint file says whose.
#[test]
fn a_policy_file_has_the_holder_of_an_assertion_sign() {
    let folder = of_alice();
    let token = |name: &str, inclusion: &str, form: &str| {
        format!(
            "<sp:{name} sp:IncludeToken=\"{SP}/IncludeToken/{inclusion}\"><wsp:Policy><sp:{form}/></wsp:Policy></sp:{name}>"
        )
    };
    let initiator = token("SamlToken", "AlwaysToRecipient", "WssSamlV20Token11");
    let recipient = token("X509Token", "Never", "WssX509V3Token10");
    let policy = format!(
        "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{SP}\"><sp:AsymmetricBinding><wsp:Policy>\
         <sp:InitiatorToken><wsp:Policy>{initiator}</wsp:Policy></sp:InitiatorToken>\
         <sp:RecipientToken><wsp:Policy>{recipient}</wsp:Policy></sp:RecipientToken>\
         <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/>\
         <sp:ProtectTokens/></wsp:Policy></sp:AsymmetricBinding><sp:SignedParts><sp:Body/></sp:SignedParts>\
         <sp:EncryptedParts><sp:Body/></sp:EncryptedParts></wsp:Policy>"
    );
    folder.write("policy.xml", policy);
    let security = "[security]\npolicy = \"policy.xml\"\nsha256_suites = \"sha256\"\n";
    answers_name_the_assertion(&folder, security);
    let told = |text: String| endpoints::problems::<Serving>(&folder, &text);
    let bearers = SERVICE.replace("holder-of-key", "bearer");
    let expected = "the policy has the holder of the assertion sign, or show its key by the connection, and `confirmation` does not name it";
    assert!(told(format!("{bearers}{security}")).contains(expected));
    let older = SERVICE.replace("[saml]\n", "[saml]\nversions = [\"1.1\"]\n");
    let expected = "the policy wants an assertion of a version that `versions` does not name";
    assert!(told(format!("{older}{security}")).contains(expected));
    let identity = &SERVICE[SERVICE.find("[identity]").unwrap()..];
    let expected = "the policy wants an assertion, and nothing is said of one";
    assert!(told(format!("{identity}{security}")).contains(expected));
}

/// WS-SecurityPolicy 1.3, 5.1.1: the initiator's token is in no answer, and answers name it. The
/// client opens what is for the holder of its own assertion, and no other.
fn answers_name_the_assertion(folder: &Folder, security: &str) {
    let client: Client = endpoint(folder, &format!("{CLIENT}{security}"));
    let service: Service = endpoint(folder, &format!("{SERVICE}{security}"));
    let secured = client.secure(plain()).unwrap();
    let arrived = service.receive(secured.bytes, memory()).unwrap();
    let Arrived::Message(opened) = arrived else {
        panic!("a message");
    };
    let answer = service.answer(plain(), &opened.receipt).unwrap();
    let answer = String::from_utf8(answer.bytes).unwrap();
    let (_, key) = answer.split_once("<xenc:EncryptedKey").expect("a key");
    let (key, _) = key.split_once("</xenc:EncryptedKey>").expect("its end");
    let id = format!("#SAMLID\">{ID}</wsse:KeyIdentifier>");
    assert!(key.contains("#SAMLV2.0\"") && key.contains(&id), "{key}");
    assert!(!key.contains("X509IssuerSerial"), "{key}");
    let other = answer.replace(&id, "#SAMLID\">_other</wsse:KeyIdentifier>");
    let again = client.secure(plain()).unwrap();
    let refused = client.open(other.into_bytes(), again.receipt, memory());
    assert_eq!(refused.err().map(|it| it.name()), Some("key-not-found"));
    client
        .open(answer.into_bytes(), secured.receipt, memory())
        .unwrap_or_else(|it| panic!("{it}"));
}

/// An authority that has this assertion of SAML 1.1, and that one of SAML 2.0.
#[derive(Debug)]
struct Authority([String; 2]);

impl AssertionFetcher for Authority {
    fn fetch(&self, errand: AssertionErrand) -> Result<Vec<u8>, String> {
        let [old, new] = &self.0;
        let Some(request) = errand.message else {
            return Ok(new.clone().into_bytes());
        };
        let request = String::from_utf8(request).expect("text");
        let (_, id) = request.split_once("RequestID=\"").expect("its id");
        let (id, _) = id.split_once('"').expect("its end");
        let answer = format!(
            "<samlp:Response xmlns:samlp=\"urn:oasis:names:tc:SAML:1.0:protocol\" InResponseTo=\"{id}\"><samlp:Status>\
             <samlp:StatusCode Value=\"samlp:Success\"/></samlp:Status>{old}</samlp:Response>"
        );
        Ok(with_header(SOAP11, "", &answer).into_bytes())
    }
}

/// A port whose first operation wants an assertion of SAML 1.1, and whose second one of SAML 2.0.
fn port_of_two_versions() -> String {
    let (mut messages, mut offered, mut bound) = (String::new(), String::new(), String::new());
    for (name, form) in [("Old", "WssSamlV11Token11"), ("New", "WssSamlV20Token11")] {
        messages.push_str(&format!(
            "<message name='{name}'><part name='p' element='t:{name}'/></message>"
        ));
        offered.push_str(&format!(
            "<operation name='{name}'><input message='t:{name}'/></operation>"
        ));
        bound.push_str(&format!(
            "<operation name='{name}'><wsp:Policy><sp:TransportBinding><wsp:Policy>\
             <sp:TransportToken><wsp:Policy><sp:HttpsToken><wsp:Policy/></sp:HttpsToken></wsp:Policy></sp:TransportToken>\
             <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite></wsp:Policy></sp:TransportBinding>\
             <sp:SupportingTokens><wsp:Policy><sp:SamlToken sp:IncludeToken='{SP}/IncludeToken/AlwaysToRecipient'><wsp:Policy>\
             <sp:{form}/></wsp:Policy></sp:SamlToken></wsp:Policy></sp:SupportingTokens></wsp:Policy>\
             <soap:operation soapAction='urn:t:{name}'/><input><soap:body use='literal'/></input></operation>"
        ));
    }
    format!(
        "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:t='urn:t' targetNamespace='urn:t' \
         xmlns:wsp='http://www.w3.org/ns/ws-policy' xmlns:sp='{SP}' xmlns:soap='http://schemas.xmlsoap.org/wsdl/soap/'>{messages}\
         <portType name='P'>{offered}</portType><binding name='B' type='t:P'>\
         <soap:binding transport='http://schemas.xmlsoap.org/soap/http'/>{bound}</binding>\
         <service name='S'><port name='P' binding='t:B'><soap:address location='https://t/'/></port></service></definitions>"
    )
}

/// What is fetched is judged by the operation that its message is for, and not by the first one.
#[test]
fn operations_name_assertions_of_different_versions() {
    let folder = Folder::new();
    let idp = keys::identity("CN=idp", keys::RSA);
    folder.write_identity("idp", &idp);
    folder.write("port.wsdl", port_of_two_versions());
    let made = [false, true].map(|is_20| {
        let assertion = Assertion { is_20, ..BEARERS };
        assertion.about("alice", &idp)
    });
    let place = "https://idp.example/assertions";
    let text = format!(
        "[saml]\naudience = [\"https://service.example\"]\nconfirmation = [\"bearer\"]\nprotection = \"tls\"\n\
         issuers = [{{ name = \"https://idp.example\", pinned = [\"idp.cert.pem\"] }}]\n\
         by_reference = {{ authorities = [\"{place}\"], allow_bearer = true }}\n\
         [security]\npolicy = \"port.wsdl\"\nsha256_suites = \"sha256\"\n"
    );
    let service: Service = endpoint(&folder, &text);
    let service = service.fetching_with(Arc::new(Authority(made)));
    let profile = "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1";
    let old = format!(
        "<saml:AuthorityBinding xmlns:saml=\"urn:oasis:names:tc:SAML:1.0:assertion\" AuthorityKind=\"saml:AssertionIDReference\" \
         Location=\"{place}\" Binding=\"urn:oasis:names:tc:SAML:1.0:bindings:SOAP-binding\"/>\
         <wsse:KeyIdentifier ValueType=\"{profile}.0#SAMLAssertionID\">{ID}</wsse:KeyIdentifier>"
    );
    let new = format!("<wsse:Reference URI=\"{place}?ID={ID}\"/>");
    let received = |operation: &str, reference: &str, version: &str| {
        let security = format!(
            "<wsse:Security xmlns:wsse=\"{}\"><wsse:SecurityTokenReference xmlns:wsse11=\"{}\" \
             wsse11:TokenType=\"{profile}.1#SAMLV{version}\">{reference}</wsse:SecurityTokenReference></wsse:Security>",
            names::WSSE,
            names::WSSE11
        );
        let body = format!("<t:{operation} xmlns:t=\"urn:t\"/>");
        let message = with_header(SOAP11, &security, &body);
        let arrived = service.receive(message.into_bytes(), memory());
        arrived.map(drop).map_err(|refused| refused.to_string())
    };
    assert_eq!(received("Old", &old, "1.1"), Ok(()));
    assert_eq!(received("New", &new, "2.0"), Ok(()));
    for (operation, reference, version) in [("Old", &new, "2.0"), ("New", &old, "1.1")] {
        let refused = received(operation, reference, version).unwrap_err();
        assert!(refused.contains("assertion"), "{refused}");
    }
}
