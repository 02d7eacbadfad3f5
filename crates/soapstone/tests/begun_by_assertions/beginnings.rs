//! What begins a conversation by an assertion, by endpoint file and by policy, and what could not.

use jiff::Timestamp;
use soapstone::endpoint::Serving;
use soapstone::wss::{Rejected, SoapVersion};
use soapstone::{Client, Service};
use soapstone_testkit::assertion::{ID, ISSUER, Made};

use super::endpoints::{compile, problems};
use super::{BORNE, HELD, PROVED, VOUCHED, body_of, conversation, endpoint, owner_of, within};

const SP: &str = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";

#[test]
fn an_assertion_begins_a_conversation_that_ends_with_it() {
    for case in [HELD, PROVED, VOUCHED, BORNE] {
        for soap in [SoapVersion::V11, SoapVersion::V12] {
            let folder = case.folder();
            let sides = case.sides(&folder, &Made::default(), "");
            let (ours, theirs) = sides.begun(soap);
            let owner = owner_of(&theirs);
            assert_eq!((owner.issuer.as_str(), owner.id.as_str()), (ISSUER, ID));
            assert_eq!(owner.subject.value, "alice");
            assert_eq!(owner.attributes.len(), 1);
            assert_eq!(owner.attester.is_some(), case.method == "sender-vouches");
            // The file would give it a day, and the assertion has ten minutes.
            assert_eq!(theirs.expires, owner.ends);
            assert!(ours.expires <= owner.ends);
            assert!(theirs.expires < Timestamp::now() + jiff::SignedDuration::from_mins(11));
            let request = within(&sides.client, &ours, soap);
            assert!(!String::from_utf8_lossy(&request.bytes).contains("saml:Assertion"));
            let opened = sides.received(request.bytes);
            let opened = opened.unwrap_or_else(|it| panic!("{it}"));
            let found = opened.receipt.context.as_ref().expect("a context");
            assert_eq!(owner_of(found), owner);
            let answer = sides.service.answer(body_of(soap), &opened.receipt);
            let answer = answer.expect("an answer").bytes;
            let answered = sides.client.open(answer, request.receipt, sides.memory());
            assert!(answered.is_ok(), "{:?}", answered.err());
        }
    }
}

#[test]
fn a_policy_has_an_assertion_begin_a_conversation() {
    let binding = |token: &str| {
        format!(
            "<sp:SymmetricBinding><wsp:Policy><sp:ProtectionToken><wsp:Policy>{token}</wsp:Policy>\
             </sp:ProtectionToken><sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy>\
             </sp:AlgorithmSuite><sp:IncludeTimestamp/></wsp:Policy></sp:SymmetricBinding>\
             <sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts>"
        )
    };
    let token = format!(
        "<sp:SamlToken sp:IncludeToken=\"{SP}/IncludeToken/AlwaysToRecipient\"><wsp:Policy>\
         <sp:WssSamlV20Token11/></wsp:Policy></sp:SamlToken>"
    );
    let x509 = |inclusion: &str| {
        format!(
            "<sp:X509Token sp:IncludeToken=\"{SP}/IncludeToken/{inclusion}\"><wsp:Policy>\
             <sp:WssX509V3Token10/></wsp:Policy></sp:X509Token>"
        )
    };
    let begun_by = |initiator: &str| {
        format!(
            "<sp:AsymmetricBinding><wsp:Policy><sp:InitiatorToken><wsp:Policy>{initiator}</wsp:Policy>\
             </sp:InitiatorToken><sp:RecipientToken><wsp:Policy>{}</wsp:Policy></sp:RecipientToken>\
             <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite>\
             <sp:IncludeTimestamp/></wsp:Policy></sp:AsymmetricBinding>\
             <sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts>",
            x509("Never")
        )
    };
    let held = begun_by(&token);
    let vouched = format!(
        "{}<sp:SignedSupportingTokens><wsp:Policy>{token}</wsp:Policy></sp:SignedSupportingTokens>",
        begun_by(&x509("AlwaysToRecipient"))
    );
    let proved = binding(&token);
    for (case, bootstrap) in [(HELD, held), (VOUCHED, vouched), (PROVED, proved)] {
        let protected = format!(
            "<sp:SecureConversationToken sp:IncludeToken=\"{SP}/IncludeToken/AlwaysToRecipient\"><wsp:Policy>\
             <sp:RequireDerivedKeys/><sp:BootstrapPolicy><wsp:Policy>{bootstrap}</wsp:Policy>\
             </sp:BootstrapPolicy></wsp:Policy></sp:SecureConversationToken>"
        );
        let policy = format!(
            "<wsp:Policy xmlns:wsp=\"http://www.w3.org/ns/ws-policy\" xmlns:sp=\"{SP}\">{}</wsp:Policy>",
            binding(&protected)
        );
        let folder = case.folder();
        folder.write("conversation.xml", policy);
        folder.write("alice.saml.xml", case.written("alice", &Made::default()));
        let by_policy = |text: String| {
            let text = text.replace("holder_key = \"symmetric\"\n", "");
            let (before, _) = text.split_once("[security]").expect("the table");
            format!(
                "{before}[security]\npolicy = \"conversation.xml\"\nsha256_suites = \"sha256\"\n\
                 algorithms = {{ key_transport = [\"rsa-oaep\"] }}\nconversations = {{ lifetime = \"24h\" }}\n"
            )
        };
        let client = compile(&folder, &by_policy(case.client_text()));
        let client: Client = client.unwrap_or_else(|it| panic!("{}: {it}", case.method));
        let service = compile(&folder, &by_policy(case.service_text("")));
        let service: Service = service.unwrap_or_else(|it| panic!("{}: {it}", case.method));
        if case.method == "sender-vouches" {
            // A holder's key would stand beside the certificate that signs.
            let both = "[\"holder-of-key\", \"sender-vouches\"]";
            let both = by_policy(case.service_text("")).replace("[\"sender-vouches\"]", both);
            let told = problems::<Serving>(&folder, &both);
            assert!(told.contains("by a certificate beside it"), "{told}");
        }
        let sides = case.between(client, service);
        let (ours, theirs) = sides.begun(SoapVersion::V11);
        assert_eq!(theirs.expires, owner_of(&theirs).ends);
        let request = within(&sides.client, &ours, SoapVersion::V11).bytes;
        assert!(sides.received(request).is_ok());
    }
}

/// WS-SecureConversation 1.4, 3: who could step down to the bootstrap would go on without the
/// context.
#[test]
fn an_assertion_stands_for_no_message_of_the_application() {
    let folder = HELD.folder();
    let sides = HELD.sides(&folder, &Made::default(), "");
    let single = HELD.client_text();
    let (before, _) = single.split_once("[security]").expect("the table");
    let single =
        format!("{before}[security]\nmechanism = \"sign-encrypt\"\nsuite = \"Basic256GCM\"\n");
    let client: Client = endpoint(&folder, &single);
    let request = client.secure(body_of(SoapVersion::V11)).expect("a message");
    let refused = sides.received(request.bytes).map(drop);
    assert_eq!(refused, Err(Rejected::NotInConversation));
}

#[test]
fn what_could_begin_no_conversation_is_told() {
    let folder = HELD.folder();
    HELD.client(&folder, "alice", &Made::default());
    for (text, from, to, expected) in [
        (
            BORNE
                .service_text("")
                .replace("\"none\"", "\"sign-encrypt\""),
            "protection = \"tls\"\n",
            "",
            "whoever receives a bearer's assertion could begin conversations with it",
        ),
        (
            VOUCHED.service_text(""),
            "attesters",
            "protection = \"tls\"\nattesters",
            "who vouches for the subject that begins conversations signs the message",
        ),
        (
            HELD.service_text(""),
            "[saml]\n",
            "[saml]\nforward = true\n",
            "`forward` passes on the assertion of each message",
        ),
        (
            BORNE.service_text(""),
            "bootstrap = \"none\"",
            "bootstrap = \"username\"",
            "a user stands beside the assertion that begins conversations",
        ),
        (
            BORNE.service_text("") + "[trust]\npinned = [\"alice.cert.pem\"]\n",
            "bootstrap = \"none\"",
            "bootstrap = \"sign-encrypt\"",
            "a certificate stands beside the bearer's assertion",
        ),
        (
            conversation("none"),
            "",
            "",
            "nothing says who begins a conversation",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let told = problems::<Serving>(&folder, &text.replacen(from, to, 1));
        assert!(told.contains(expected), "expected {expected}, found {told}");
    }
}
