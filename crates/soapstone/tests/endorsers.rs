//! Endpoints of a policy with several endorsing tokens: which keys make the signatures, and what is
//! wrong with files that name too few.

#[path = "support/arrived.rs"]
mod arrived;
#[path = "support/endpoints.rs"]
mod endpoints;

use endpoints::compile;
use soapstone::wss::{Receipt, Rejected};
use soapstone::{Client, ForgetfulReplayCache, Memory, Service};
use soapstone_testkit::Folder as Temporary;
use soapstone_testkit::envelope::ECHO;
use soapstone_testkit::keys::RSA;

/// A symmetric binding with derived keys, whose requests two parties endorse: the one's token is
/// signed and encrypted, the other one's is not.
const POLICY: &str = "<wsp:Policy xmlns:wsp='http://www.w3.org/ns/ws-policy' \
    xmlns:sp='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702'>\
    <sp:SymmetricBinding><wsp:Policy>\
    <sp:ProtectionToken><wsp:Policy><sp:X509Token sp:IncludeToken='http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/Never'>\
    <wsp:Policy><sp:RequireDerivedKeys/><sp:RequireThumbprintReference/><sp:WssX509V3Token11/></wsp:Policy></sp:X509Token></wsp:Policy></sp:ProtectionToken>\
    <sp:AlgorithmSuite><wsp:Policy><sp:Basic128/></wsp:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/></wsp:Policy></sp:SymmetricBinding>\
    <sp:SignedEndorsingEncryptedSupportingTokens><wsp:Policy><sp:X509Token/></wsp:Policy></sp:SignedEndorsingEncryptedSupportingTokens>\
    <sp:EndorsingSupportingTokens><wsp:Policy><sp:X509Token/></wsp:Policy></sp:EndorsingSupportingTokens>\
    <sp:Wss11><wsp:Policy><sp:MustSupportRefThumbprint/><sp:MustSupportRefEncryptedKey/><sp:RequireSignatureConfirmation/></wsp:Policy></sp:Wss11>\
    <sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts></wsp:Policy>";

/// A folder with the policy and the key pairs of a client, a notary and a service.
struct Folder(Temporary);

impl Folder {
    fn new() -> Self {
        let folder = Temporary::with_keys(RSA, &["client", "notary", "service"]);
        folder.write("policy.xml", POLICY);
        Self(folder)
    }

    fn client(&self, identity: &str, more: &str) -> Result<Client, String> {
        let peer = "peer = { certificate = \"service.cert.pem\" }\n";
        compile(&self.0, &file(identity, peer, more))
    }

    fn service(&self, more: &str) -> Service {
        let compiled = compile(&self.0, &file(&pair("service"), "", more));
        compiled.expect("a service")
    }
}

/// The endpoint file of a side.
fn file(identity: &str, peer: &str, more: &str) -> String {
    format!(
        "identity = {{ {identity} }}\n{peer}trust = {{ anchors = [\"ca.cert.pem\"] }}\n\
         security = {{ policy = \"policy.xml\"{more} }}\n"
    )
}

fn pair(name: &str) -> String {
    format!("key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\"")
}

/// Who signs, and who endorses.
fn endorsed_by(names: [&str; 2]) -> String {
    let [first, second] = names.map(pair);
    format!(
        "{}, endorsing = [{{ {first} }}, {{ {second} }}]",
        pair("client")
    )
}

/// A request, which leaves a receipt on both sides; and who signed it.
fn ask(client: &Client, service: &Service) -> Result<(Receipt, Receipt, Option<String>), Rejected> {
    let request = client.secure(ECHO).expect("it can be secured");
    let arrived = service.receive(request.bytes, memory());
    let opened = arrived::message(arrived)?;
    let signer = opened.evidence.signer();
    let signer = signer.map(|certificate| certificate.subject().to_owned());
    Ok((request.receipt, opened.receipt, signer))
}

fn memory() -> Memory<'static> {
    Memory::without_conversations(&ForgetfulReplayCache)
}

#[test]
fn each_key_makes_the_signature_of_its_place_and_answers_confirm_all() {
    let folder = Folder::new();
    let service = folder.service("");
    for names in [["client", "notary"], ["notary", "client"]] {
        let client = folder.client(&endorsed_by(names), "").expect("a client");
        let (sent, received, signer) = ask(&client, &service).expect("a request");
        assert_eq!(signer, Some(format!("CN={}", names[0])));
        let answer = service.answer(ECHO, &received);
        let answer = answer.expect("it can be secured").bytes;
        client.open(answer, sent, memory()).expect("an answer");
    }
}

#[test]
fn one_key_endorses_twice_only_where_both_sides_say_so() {
    let folder = Folder::new();
    let same = ", same_endorser = true";
    let client = folder.client(&pair("client"), same).expect("a client");
    let refused = ask(&client, &folder.service("")).unwrap_err();
    // What arrives under a cipher that tells nothing of changes is not told apart.
    assert_eq!(refused.cause(), &Rejected::EndorserRepeated);
    ask(&client, &folder.service(same)).expect("a request");
    let wanted = "endpoint.toml:4:23: 2 endorsing signatures are wanted, each with a key of its own, and the keys that endorse are 1\n    \
                  hint: name them in the order of the policy: identity = { …, endorsing = [{ key = \"….key.pem\", certificate = \"….cert.pem\" }, …] }; \
                  or accept one key for all of them: same_endorser = true";
    for identity in [pair("client"), endorsed_by(["notary", "notary"])] {
        let problems = folder.client(&identity, "").unwrap_err();
        assert_eq!(problems, wanted);
    }
}

#[test]
fn what_is_wrong_with_an_endorsing_key_is_told_where_it_stands() {
    let folder = Folder::new();
    for (endorsing, expected) in [
        (
            "[]",
            "endpoint.toml:1:83: `endorsing` names no key\n    hint: leave it out where the key that signs endorses as well",
        ),
        (
            "{ key = \"notary.key.pem\" }",
            "endpoint.toml:1:83: `certificate` is missing in [identity.endorsing]\n    \
             hint: name a PEM file with the certificate, or a keystore = \"….p12\"",
        ),
        (
            "[{ key = \"notary.key.pem\", certificate = \"client.cert.pem\" }]",
            "endpoint.toml:1:92: `notary.key.pem`: the private key does not belong to the certificate of `CN=client`",
        ),
    ] {
        let identity = format!("{}, endorsing = {endorsing}", pair("client"));
        let problems = folder.client(&identity, "").unwrap_err();
        assert_eq!(problems, expected);
    }
}
