//! The profile `dgws` against messages in the form of DGWS 1.0.1, whose ID cards xmlsec1 signs.
//!
//! The card has the look of SAML 2.0: `id` in lower case, the method of its confirmation as an
//! element, and the signature of the token service last. Nobody signs the message.

#[path = "support/endpoints.rs"]
mod endpoints;
#[path = "support/xmlsec.rs"]
mod xmlsec;

use jiff::{Timestamp, ToSpan};
use soapstone::endpoint::{Endpoint, Fixed};
use soapstone::wss::ConfirmationMethod;
use soapstone::xml::Buffers;
use soapstone::{
    Arrived, Client, ForgetfulReplayCache, Memory, OpenedMessage, ReceiveError, Service,
};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{HELLO, SOAP11, with_header};
use soapstone_testkit::keys::RSA;

use endpoints::compile;
use xmlsec::{SHA1, SHA256, WSA_2004 as WSA, WSSE, WSU};

const SAML: &str = "urn:oasis:names:tc:SAML:2.0:assertion";

/// The header of DGWS, which says the level of security.
const MEDCOM: &str = "<medcom:Header xmlns:medcom=\"http://www.medcom.dk/dgws/2006/04/dgws-1.0.xsd\">\
    <medcom:SecurityLevel>4</medcom:SecurityLevel><medcom:Linking><medcom:FlowID>aGQ5</medcom:FlowID>\
    <medcom:MessageID>AMRr</medcom:MessageID></medcom:Linking></medcom:Header>";

fn folder() -> Folder {
    Folder::with_keys(RSA, &["sts", "client"])
}

fn attribute(name: &str, value: &str) -> String {
    format!(
        "<saml:Attribute Name=\"{name}\"><saml:AttributeValue>{value}</saml:AttributeValue></saml:Attribute>"
    )
}

/// A card before it is signed, which ends after so many minutes.
fn card([signature, digest]: [&str; 2], minutes: i64) -> String {
    let now = Timestamp::now();
    let at = |minutes: i64| (now + minutes.minutes()).strftime("%Y-%m-%dT%H:%M:%SZ");
    let (begun, ends) = (at(minutes - 10), at(minutes));
    let data = [
        attribute("sosi:IDCardID", "D/JsXK+ToUO8ErmLd5pVzw=="),
        attribute("sosi:IDCardVersion", "1.0.1"),
        attribute("sosi:IDCardType", "user"),
        attribute("sosi:AuthenticationLevel", "4"),
    ];
    let user = [
        attribute("medcom:UserCivilRegistrationNumber", "1903991234"),
        attribute("medcom:UserGivenName", "Jens"),
        attribute("medcom:UserRole", "PRAKTISERENDE_LAEGE"),
    ];
    format!(
        "<saml:Assertion xmlns:saml=\"{SAML}\" IssueInstant=\"{begun}\" Version=\"2.0\" id=\"IDCard\">\
         <saml:Issuer>TEST1-NSP-STS</saml:Issuer><saml:Subject>\
         <saml:NameID Format=\"medcom:cprnumber\">1903991234</saml:NameID><saml:SubjectConfirmation>\
         <saml:ConfirmationMethod>urn:oasis:names:tc:SAML:2.0:cm:holder-of-key</saml:ConfirmationMethod>\
         <saml:SubjectConfirmationData><ds:KeyInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\">\
         <ds:KeyName>OCESSignature</ds:KeyName></ds:KeyInfo></saml:SubjectConfirmationData>\
         </saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore=\"{begun}\" NotOnOrAfter=\"{ends}\"/>\
         <saml:AttributeStatement id=\"IDCardData\">{}</saml:AttributeStatement>\
         <saml:AttributeStatement id=\"UserLog\">{}</saml:AttributeStatement>\
         <saml:AttributeStatement id=\"SystemLog\">{}<saml:Attribute Name=\"medcom:CareProviderID\" NameFormat=\"medcom:ynumber\">\
         <saml:AttributeValue>123456</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>\
         <ds:Signature xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\" id=\"OCESSignature\"><ds:SignedInfo>\
         <ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/>\
         <ds:SignatureMethod Algorithm=\"{signature}\"/><ds:Reference URI=\"#IDCard\"><ds:Transforms>\
         <ds:Transform Algorithm=\"http://www.w3.org/2000/09/xmldsig#enveloped-signature\"/>\
         <ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/></ds:Transforms>\
         <ds:DigestMethod Algorithm=\"{digest}\"/><ds:DigestValue/></ds:Reference></ds:SignedInfo><ds:SignatureValue/>\
         <ds:KeyInfo><ds:X509Data/></ds:KeyInfo></ds:Signature></saml:Assertion>",
        data.concat(),
        user.concat(),
        attribute("medcom:ITSystemName", "System 3.0"),
    )
}

/// The option that says which attribute is the id of a card.
const IDS: [&str; 2] = [
    "--id-attr:id",
    "urn:oasis:names:tc:SAML:2.0:assertion:Assertion",
];

/// The card that somebody signs; `None`: xmlsec1 is not installed.
fn signed(folder: &Folder, signer: &str, card: &str) -> Option<String> {
    let card = xmlsec::signed(folder, signer, card, &IDS, "DGWS")?;
    let (_, card) = card.split_once("?>").expect("a declaration");
    Some(card.trim().to_owned())
}

/// A stranger verifies what the token service signed.
fn verify(folder: &Folder, message: &str) {
    xmlsec::verify(folder, "sts", message, &IDS);
}

/// A block behind its start tag, which gets the namespaces of the envelope.
fn inside(block: &str) -> &str {
    block.split_once('>').expect("a start tag").1
}

/// A call as a library of DGWS puts it together. `mustUnderstand` has no namespace, and the
/// Timestamp has no end.
fn call(card: &str) -> String {
    let created = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
    format!(
        "<soap:Envelope xmlns:soap=\"{SOAP11}\" xmlns:wsu=\"{WSU}\" xmlns:wsa=\"{WSA}\" id=\"Envelope\"><soap:Header>\
         <wsse:Security xmlns:wsse=\"{WSSE}\" mustUnderstand=\"1\">\
         <wsu:Timestamp><wsu:Created>{created}</wsu:Created></wsu:Timestamp>{card}</wsse:Security>\
         <wsa:Action>urn:hello</wsa:Action><wsa:MessageID>urn:uuid:1</wsa:MessageID>{MEDCOM}</soap:Header>\
         <soap:Body>{HELLO}</soap:Body></soap:Envelope>"
    )
}

fn endpoint<P: Fixed>(folder: &Folder, text: &str) -> Endpoint<P> {
    compile(folder, text).unwrap_or_else(|problems| panic!("{text}\n{problems}"))
}

const SERVICE: &str = "security = { profile = \"dgws\" }\n[saml]\nforward = true\n\
    issuers = [{ name = \"TEST1-NSP-STS\", pinned = [\"sts.cert.pem\"] }]\n";

fn memory() -> Memory<'static> {
    Memory::without_conversations(&ForgetfulReplayCache)
}

fn receive(service: &Service, message: &str) -> Result<Box<OpenedMessage>, &'static str> {
    match service.receive(message.as_bytes().to_vec(), memory()) {
        Ok(Arrived::Message(opened)) => Ok(opened),
        Err(ReceiveError::Rejected(rejected)) => Err(rejected.cause().name()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_call_with_an_id_card_is_accepted_and_its_card_is_handed_on() {
    let folder = folder();
    let Some(card) = signed(&folder, "sts", &card(SHA256, 5)) else {
        return;
    };
    let service: Service = endpoint(&folder, SERVICE);
    let opened = receive(&service, &call(&card)).expect("it is accepted");
    let found = opened.evidence.assertion.as_ref().expect("a card");
    let read = &found.assertion;
    assert!(read.is_id_card && read.signer().is_some());
    assert_eq!(found.confirmed, Some(ConfirmationMethod::Bearer));
    assert_eq!(read.issuer, "TEST1-NSP-STS");
    assert_eq!(read.subject.value, "1903991234");
    assert_eq!(read.subject.format.as_deref(), Some("medcom:cprnumber"));
    let role = read
        .attributes
        .iter()
        .find(|it| it.name == "medcom:UserRole");
    assert_eq!(role.expect("a role").values, ["PRAKTISERENDE_LAEGE"]);
    assert_eq!(read.attributes.len(), 9);
    let passed_on = String::from_utf8(opened.bytes).expect("text");
    for content in [inside(MEDCOM), "urn:uuid:1", HELLO] {
        assert!(passed_on.contains(content), "{content}\n{passed_on}");
    }
    verify(&folder, &passed_on);
    assert!(!passed_on.contains("<wsse:Security"), "{passed_on}");
    // Answers have a Timestamp.
    let answer = with_header(SOAP11, MEDCOM, HELLO).into_bytes();
    let answer = service.answer(answer, &opened.receipt).expect("an answer");
    let answer = String::from_utf8(answer.bytes).expect("text");
    assert!(answer.contains("<wsu:Timestamp"), "{answer}");
    assert!(!answer.contains("Signature"), "{answer}");
}

/// The recipe: a client whose application has the card.
#[test]
fn a_client_sends_the_card_of_its_application_as_it_is() {
    let folder = folder();
    let Some(card) = signed(&folder, "sts", &card(SHA256, 5)) else {
        return;
    };
    let recipe = include_str!("../../../docs/recipes/dgws.toml");
    let client: Client = endpoint(&folder, recipe);
    let plain = with_header(SOAP11, &format!("{card}{MEDCOM}"), HELLO).into_bytes();
    let (action, to) = (Some("urn:hello"), Some("https://service.example/"));
    let labelled = client.label_request(plain, action, to, &mut Buffers::new());
    let sent = client.secure(labelled.expect("it gets headers"));
    let sent = sent.expect("it is secured");
    let message = String::from_utf8(sent.bytes).expect("text");
    assert!(message.contains(WSA), "{message}");
    let (_, header) = message.split_once("<wsse:Security").expect("a header");
    let (header, _) = header.split_once("</wsse:Security>").expect("its end");
    let timestamp = header.find("<wsu:Timestamp").expect("a Timestamp");
    let assertion = header.find("<saml:Assertion").expect("a card");
    assert!(timestamp < assertion, "{header}");
    assert_eq!(message.matches("<saml:Assertion").count(), 1, "{message}");
    verify(&folder, &message);
    let service: Service = endpoint(&folder, SERVICE);
    let opened = receive(&service, &message).expect("it is accepted");
    let answer = with_header(SOAP11, MEDCOM, HELLO).into_bytes();
    let answer = service.answer(answer, &opened.receipt).expect("an answer");
    let read = client.open(answer.bytes, sent.receipt, memory());
    let read = String::from_utf8(read.expect("the answer").bytes).expect("text");
    assert!(read.contains(inside(MEDCOM)), "{read}");
}

#[test]
fn a_card_in_a_file_is_sent_and_one_of_another_kind_is_a_mistake() {
    let folder = folder();
    let Some(card) = signed(&folder, "sts", &card(SHA256, 5)) else {
        return;
    };
    folder.write("idcard.xml", &card);
    let file = "security = { profile = \"dgws\" }\nsaml = { assertion = \"idcard.xml\" }\n";
    let client: Client = endpoint(&folder, file);
    let plain = || with_header(SOAP11, MEDCOM, HELLO).into_bytes();
    let sent = client.secure(plain()).expect("it is secured").bytes;
    let service: Service = endpoint(&folder, SERVICE);
    let sent = String::from_utf8(sent).expect("text");
    assert_eq!(receive(&service, &sent).map(drop), Ok(()));
    let usual = "security = { mechanism = \"none\" }\n\
        saml = { assertion = \"idcard.xml\", confirmation = [\"bearer\"] }\n";
    let told = compile::<soapstone::endpoint::Calling>(&folder, usual).map(drop);
    let told = told.expect_err("a card");
    assert!(
        told.contains("expected an assertion, found an ID card of DGWS"),
        "{told}"
    );
    // What the application brings is looked at when it is there.
    let usual = "security = { mechanism = \"none\" }\n\
        saml = { from_request = true, confirmation = [\"bearer\"] }\n";
    let client: Client = endpoint(&folder, usual);
    let refused = client.secure(with_header(SOAP11, &card, HELLO).into_bytes());
    let told = refused.map(drop).expect_err("a card").to_string();
    assert!(told.contains("found an ID card of DGWS"), "{told}");
}

/// Whatever the token service signed cannot be changed, and nobody else signs cards. Signature
/// wrapping: a service behind the gateway may look for `IDCard` by its id.
#[test]
fn cards_that_are_changed_wrapped_or_of_others_are_refused() {
    let folder = folder();
    let service: Service = endpoint(&folder, SERVICE);
    let (Some(good), Some(own)) = (
        signed(&folder, "sts", &card(SHA256, 5)),
        signed(&folder, "client", &card(SHA256, 5)),
    ) else {
        return;
    };
    let message = call(&good);
    assert_eq!(receive(&service, &message).map(drop), Ok(()));
    for (from, to, expected) in [
        ("PRAKTISERENDE_LAEGE", "OVERLAEGE", "digest-mismatch"),
        (
            ">4</saml:AttributeValue>",
            ">5</saml:AttributeValue>",
            "digest-mismatch",
        ),
        ("TEST1-NSP-STS", "TEST2-NSP-STS", "issuer-unknown"),
        // The subject is confirmed by another key than that of the issuer.
        (
            "<ds:KeyName>OCESSignature<",
            "<ds:KeyName>Other<",
            "malformed",
        ),
        ("cm:holder-of-key", "cm:sender-vouches", "malformed"),
        ("id=\"IDCard\"", "id=\"Another\"", "malformed"),
        // Two ids, of which readers take one or the other.
        ("id=\"IDCard\"", "id=\"IDCard\" ID=\"IDCard\"", "malformed"),
        ("<soap:Body>", "<soap:Body id=\"IDCard\">", "malformed"),
        (
            "<medcom:Header ",
            "<medcom:Header ID=\"IDCard\" ",
            "malformed",
        ),
    ] {
        let changed = message.replacen(from, to, 1);
        assert_ne!(changed, message, "{from}");
        assert_eq!(receive(&service, &changed).map(drop), Err(expected), "{to}");
    }
    // A card in the Body, and another one in the header.
    let forged = good.replace("PRAKTISERENDE_LAEGE", "OVERLAEGE");
    let wrapped = message
        .replace(&good, &forged)
        .replace(HELLO, &format!("<x:Old xmlns:x=\"urn:x\">{good}</x:Old>"));
    assert_eq!(receive(&service, &wrapped).map(drop), Err("malformed"));
    // A card that its holder signed, as an application makes one for the token service.
    assert_eq!(receive(&service, &call(&own)).map(drop), Err("untrusted"));
    let commented = good.replace("</saml:Issuer>", "</saml:Issuer><!-- -->");
    assert_eq!(
        receive(&service, &call(&commented)).map(drop),
        Err("malformed")
    );
    let unsigned = {
        let (head, rest) = good.split_once("<ds:Signature ").expect("a signature");
        let (_, tail) = rest.split_once("</ds:Signature>").expect("its end");
        format!("{head}{tail}")
    };
    assert_eq!(
        receive(&service, &call(&unsigned)).map(drop),
        Err("malformed")
    );
    assert_eq!(
        receive(&service, &call("")).map(drop),
        Err("assertion-missing")
    );
}

#[test]
fn a_card_ends_and_sha1_is_accepted_where_the_file_names_it_alone() {
    let folder = folder();
    let service: Service = endpoint(&folder, SERVICE);
    let (Some(ended), Some(old)) = (
        signed(&folder, "sts", &card(SHA256, -5)),
        signed(&folder, "sts", &card(SHA1, 5)),
    ) else {
        return;
    };
    let refused = receive(&service, &call(&ended)).map(drop);
    assert_eq!(refused, Err("assertion-expired"));
    let refused = receive(&service, &call(&old)).map(drop);
    assert_eq!(refused, Err("algorithm-not-allowed"));
    let weak =
        format!("{SERVICE}signature_algorithms = [\"rsa-sha1\"]\ndigest_algorithms = [\"sha1\"]\n");
    let weak: Service = endpoint(&folder, &weak);
    assert_eq!(receive(&weak, &call(&old)).map(drop), Ok(()));
}

/// A card is no assertion as SAML has it, and such an assertion is no card.
#[test]
fn either_form_is_refused_where_the_other_one_is_wanted() {
    let folder = folder();
    let Some(card) = signed(&folder, "sts", &card(SHA256, 5)) else {
        return;
    };
    let saml = "security = { mechanism = \"none\" }\n[saml]\nconfirmation = [\"bearer\"]\naudience = []\n\
        issuers = [{ name = \"TEST1-NSP-STS\", pinned = [\"sts.cert.pem\"] }]\n";
    let usual: Service = endpoint(&folder, saml);
    let refused = receive(&usual, &call(&card)).map(drop);
    assert_eq!(refused, Err("token-unsupported"));
    let other = soapstone_testkit::assertion::Assertion {
        is_20: true,
        method: "bearer",
        holder: None,
        audience: None,
        attributes: &[],
    };
    let sts = soapstone_testkit::keys::identity("CN=sts", RSA);
    let other = other.about("alice", &sts);
    let service: Service = endpoint(&folder, SERVICE);
    let refused = receive(&service, &call(&other)).map(drop);
    assert_eq!(refused, Err("token-unsupported"));
}

/// All cards have one id, and none has a key of its holder.
#[test]
fn what_asks_for_the_id_or_the_key_of_a_card_is_a_mistake_of_the_file() {
    let folder = folder();
    for (more, expected) in [
        ("once = true\n", "`once` is given beside `id_cards`"),
        (
            "refuse_cancelled = true\n",
            "`refuse_cancelled` is given beside `id_cards`",
        ),
        (
            "confirmation = [\"holder-of-key\"]\n",
            "`confirmation` is given beside the profile `dgws`, which decides it",
        ),
    ] {
        let told = compile::<soapstone::endpoint::Serving>(&folder, &format!("{SERVICE}{more}"));
        let told = told.map(drop).expect_err("a problem");
        assert!(told.contains(expected), "expected {expected}\nfound {told}");
    }
    let held = "security = { mechanism = \"sign\" }\n[saml]\nid_cards = true\naudience = []\n\
        confirmation = [\"holder-of-key\"]\nissuers = [{ name = \"a\", pinned = [\"sts.cert.pem\"] }]\n";
    let told = compile::<soapstone::endpoint::Serving>(&folder, held).map(drop);
    let told = told.expect_err("a problem");
    assert!(
        told.contains("`id_cards` is given, and whoever has an ID card is its subject"),
        "{told}"
    );
}
