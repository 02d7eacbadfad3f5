//! Endpoints of a policy with several endorsing tokens: which keys make the signatures, and what is
//! wrong with files that name too few.

#[path = "support/endpoints.rs"]
mod endpoints;

use endpoints::compile;
use jiff::Timestamp;
use soapstone::endpoint::{Endpoint, Memory, Role};
use soapstone::replay::ForgetfulReplayCache;
use soapstone::wss::{Outgoing, Receipt, Rejected};
use soapstone::xml::Buffers;
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

    fn endpoint(&self, role: Role, identity: &str, more: &str) -> Result<Endpoint, String> {
        let peer = match role {
            Role::Client => "peer = { certificate = \"service.cert.pem\" }\n",
            _ => "",
        };
        let text = format!(
            "identity = {{ {identity} }}\n{peer}trust = {{ anchors = [\"ca.cert.pem\"] }}\n\
             security = {{ policy = \"policy.xml\"{more} }}\n"
        );
        compile(&self.0, &text, role)
    }
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

/// A message from one to the other, and what it leaves there.
fn travel(
    from: &Endpoint,
    to: &Endpoint,
    answered: Option<&Receipt>,
    asked: Option<Receipt>,
) -> Result<(Receipt, Receipt, Option<String>), Rejected> {
    let (now, mut buffers) = (Timestamp::now(), Buffers::default());
    let outgoing = answered.map_or_else(Outgoing::default, Outgoing::answer);
    let secured = from
        .secure(
            ECHO.as_bytes().to_vec(),
            outgoing,
            now,
            &mut buffers,
            &mut (),
        )
        .expect("it can be secured");
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let opened = to.open(secured.bytes, asked, memory, now, &mut buffers, &mut ())?;
    let signer = opened.evidence.signer();
    let signer = signer.map(|certificate| certificate.subject().to_owned());
    Ok((secured.receipt, opened.receipt, signer))
}

#[test]
fn each_key_makes_the_signature_of_its_place_and_answers_confirm_all() {
    let folder = Folder::new();
    let service = folder
        .endpoint(Role::Service, &pair("service"), "")
        .expect("a service");
    for names in [["client", "notary"], ["notary", "client"]] {
        let client = folder
            .endpoint(Role::Client, &endorsed_by(names), "")
            .expect("a client");
        let (sent, received, signer) = travel(&client, &service, None, None).expect("a request");
        assert_eq!(signer, Some(format!("CN={}", names[0])));
        travel(&service, &client, Some(&received), Some(sent)).expect("an answer");
    }
}

#[test]
fn one_key_endorses_twice_only_where_both_sides_say_so() {
    let folder = Folder::new();
    let same = ", same_endorser = true";
    let client = folder
        .endpoint(Role::Client, &pair("client"), same)
        .expect("a client");
    let service = |more| folder.endpoint(Role::Service, &pair("service"), more);
    let strict = service("").expect("a service");
    let refused = travel(&client, &strict, None, None).unwrap_err();
    // What arrives under a cipher that tells nothing of changes is not told apart.
    assert_eq!(refused.cause(), &Rejected::EndorserRepeated);
    let lenient = service(same).expect("a service");
    travel(&client, &lenient, None, None).expect("a request");
    let wanted = "endpoint.toml:4:23: 2 endorsing signatures are wanted, each with a key of its own, and the keys that endorse are 1\n    \
                  hint: name them in the order of the policy: identity = { …, endorsing = [{ key = \"….key.pem\", certificate = \"….cert.pem\" }, …] }; \
                  or accept one key for all of them: same_endorser = true";
    for identity in [pair("client"), endorsed_by(["notary", "notary"])] {
        let problems = folder.endpoint(Role::Client, &identity, "").unwrap_err();
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
        let problems = folder.endpoint(Role::Client, &identity, "").unwrap_err();
        assert_eq!(problems, expected);
    }
}
