//! Elements of the Body that are signed by themselves.
//!
//! Tax authorities have the request in the Body signed (Croatian CIS), banks a document that the
//! Body holds as base64 (the Finnish Web Services profile).

use soapstone::config::{EndpointConfig, Problems};
use soapstone::crypto::base64;
use soapstone::endpoint::Endpoint;
use soapstone::wss::Rejected;
use soapstone::{Client, ForgetfulReplayCache, Memory, Opener, Securer, Service};
use soapstone_testkit::Folder;
use soapstone_testkit::envelope::{SOAP11, SOAP12, with_body, with_header};
use soapstone_testkit::keys::P256;

use super::{BY_CLERK, MECHANISMS, ORDER, Pair, REQUESTS, TRUST_CLERK, received};

/// A document without comments, as one in base64 has to be.
const PLAIN_ORDER: &str =
    "<t:Order xmlns:t=\"urn:tax\" xmlns:unused=\"urn:u\"><t:total>12</t:total></t:Order>";

fn encoded(document: &str) -> String {
    let text = base64::encode(document.as_bytes());
    with_body(&format!("<t:Order xmlns:t=\"urn:tax\">{text}</t:Order>"))
}

/// The document that the Body of a message holds as base64.
fn document_of(message: &str) -> String {
    let (_, rest) = message.split_once("<t:Order").expect("the element");
    let (_, rest) = rest.split_once('>').expect("its start tag");
    let (text, _) = rest.split_once('<').expect("its end tag");
    let bytes = base64::decode_xml_to_vec(text.as_bytes()).expect("base64");
    String::from_utf8(bytes).expect("text")
}

#[test]
fn an_element_of_the_body_is_signed_and_verified_below_every_mechanism() {
    let pair = Pair::new();
    let both = "requests = \"{urn:tax}Order\", answers = \"{urn:tax}Receipt\"";
    for mechanism in MECHANISMS {
        for soap in [SOAP11, SOAP12] {
            let client = format!("{both}, {BY_CLERK}, {TRUST_CLERK}");
            let client: Client = pair.endpoint("client", mechanism, &client);
            let service = format!("{both}, {BY_CLERK}, {TRUST_CLERK}");
            let service: Service = pair.endpoint("service", mechanism, &service);
            let plain = with_header(soap, "", ORDER).into_bytes();
            let secured = client.secure(plain).expect("it is secured");
            let opened = received(&service, secured.bytes);
            let opened = opened.unwrap_or_else(|error| panic!("{mechanism}: {error}"));
            let evidence = opened.evidence.inner.expect("an inner signature");
            assert_eq!(evidence.element, "{urn:tax}Order");
            assert_eq!(evidence.subject, "CN=clerk");
            let passed_on = String::from_utf8(opened.bytes).expect("text");
            assert!(
                passed_on.contains("</ds:Signature></t:Order>"),
                "{passed_on}"
            );
            let answer = with_header(soap, "", "<r:Receipt xmlns:r=\"urn:tax\" ID=\"a\"/>");
            // An id in another attribute than the one that is signed by is nobody's.
            let failed = service.answer(answer.clone().into_bytes(), &opened.receipt);
            assert_eq!(
                failed.expect_err("another id").to_string(),
                "`{urn:tax}Receipt` is to be signed by itself: expected its id in `Id`, found one in `ID`"
            );
            let answer = answer.replace(" ID=", " Id=").into_bytes();
            let answered = service.answer(answer, &opened.receipt);
            let answered = answered.unwrap_or_else(|error| panic!("{mechanism}: {error}"));
            let memory = Memory::without_conversations(&ForgetfulReplayCache);
            let read = client.open(answered.bytes, secured.receipt, memory);
            let read = read.unwrap_or_else(|error| panic!("{mechanism}: {error}"));
            let evidence = read.evidence.inner.expect("an inner signature");
            assert_eq!(evidence.element, "{urn:tax}Receipt");
        }
    }
}

#[test]
fn a_fault_has_no_inner_signature() {
    let pair = Pair::new();
    let inner = format!("answers = \"{{urn:tax}}Receipt\", {BY_CLERK}, {TRUST_CLERK}");
    let client: Client = pair.endpoint("client", "mechanism = \"sign\"", &inner);
    let service: Service = pair.endpoint("service", "mechanism = \"sign\"", &inner);
    let secured = client
        .secure(with_body(ORDER).into_bytes())
        .expect("it is secured");
    let opened = received(&service, secured.bytes).expect("it is opened");
    let fault = with_body(
        "<s:Fault><faultcode>s:Server</faultcode><faultstring>no</faultstring></s:Fault>",
    );
    let answered = service
        .answer(fault.into_bytes(), &opened.receipt)
        .expect("it is secured");
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let read = client
        .open(answered.bytes, secured.receipt, memory)
        .expect("it is opened");
    assert_eq!((read.evidence.inner, read.fault.is_some()), (None, true));
    // With an answer beside it, which nobody signed by itself.
    let secured = client
        .secure(with_body(ORDER).into_bytes())
        .expect("it is secured");
    let opened = received(&service, secured.bytes).expect("it is opened");
    let two = with_body("<s:Fault/><r:Receipt xmlns:r=\"urn:tax\"/>");
    let unsigned: Service = pair.endpoint("service", "mechanism = \"sign\"", REQUESTS);
    let answered = unsigned
        .answer(two.into_bytes(), &opened.receipt)
        .expect("it is secured");
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let refused = client.open(answered.bytes, secured.receipt, memory);
    assert_eq!(refused.expect_err("two things").name(), "inner-signature");
}

#[test]
fn a_document_in_base64_is_signed_as_a_whole() {
    let pair = Pair::new();
    let inner = format!("{REQUESTS}, base64 = true");
    let documents = [
        PLAIN_ORDER.to_owned(),
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<?style x?>{PLAIN_ORDER}<?end?>"),
        "<Order xmlns=\"urn:bank\" xml:lang=\"fi\"><name>\u{e4}\u{e4}ni</name></Order>".to_owned(),
        "<Order/>".to_owned(),
    ];
    for document in documents {
        let signed = pair
            .signed(&encoded(&document), &inner)
            .expect("it is signed");
        let written = document_of(&signed);
        assert!(written.contains("<ds:Reference URI=\"\">"), "{written}");
        let evidence = pair.opened(&signed, &inner).expect("it is accepted");
        assert_eq!(
            evidence.expect("evidence").subject,
            "CN=clerk",
            "{document}"
        );
        // Nor comments, which a reader of the first text stops at (CVE-2017-11427 and its like).
        let start = written.find("><").map_or(written.len(), |at| at + 1);
        let (before, behind) = written.split_at(start);
        for commented in [
            format!("{before}<!-- -->{behind}"),
            format!("{written}<!-- -->"),
        ] {
            let refused = pair.refused(&encoded(&commented), &inner);
            assert!(refused.contains("expected no comments"), "{refused}");
        }
        // No signature covers the declaration: one that changes what is read is refused.
        if !written.starts_with("<?xml") {
            let other = format!("<?xml version=\"1.1\"?>{written}");
            let refused = pair.refused(&encoded(&other), &inner);
            assert!(refused.ends_with("expected base64 of XML 1.0, found another version"));
        }
        // What stands around the root is signed as well.
        let other = written.replacen("<?style x?>", "<?style y?>", 1);
        if other != written {
            let refused = pair.refused(&encoded(&other), &inner);
            assert!(refused.starts_with("digest-mismatch: "), "{refused}");
        }
    }
}

/// A document in another encoding is in UTF-8 afterwards, and says nothing else.
#[test]
fn a_document_in_another_encoding_stays_the_same_text() {
    let pair = Pair::new();
    let inner = format!("{REQUESTS}, base64 = true");
    let mut document = b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a>".to_vec();
    document.push(0xE4);
    document.extend_from_slice(b"</a>");
    let text = base64::encode(&document);
    let plain = with_body(&format!("<t:Order xmlns:t=\"urn:tax\">{text}</t:Order>"));
    let signed = pair.signed(&plain, &inner).expect("it is signed");
    assert!(document_of(&signed).starts_with("<a>\u{e4}<ds:Signature"));
    pair.opened(&signed, &inner).expect("it is accepted");
}

#[test]
fn an_id_that_is_there_is_kept_and_one_that_is_missing_is_written() {
    let pair = Pair::new();
    for (id, others) in [
        ("Id", ["ID", "id"]),
        ("ID", ["Id", "id"]),
        ("id", ["Id", "ID"]),
    ] {
        let inner = format!("{REQUESTS}, id = \"{id}\"");
        let own = with_body(&ORDER.replace("<t:Order", &format!("<t:Order {id}=\"own&amp;\"")));
        let signed = pair.signed(&own, &inner).expect("it is signed");
        assert!(
            signed.contains("<ds:Reference URI=\"#own&amp;\">"),
            "{signed}"
        );
        pair.opened(&signed, &inner).expect("it is accepted");
        let signed = pair
            .signed(&with_body(ORDER), &inner)
            .expect("it is signed");
        assert!(signed.contains(&format!("<t:Order {id}=\"s")), "{signed}");
        for other in others {
            assert!(!signed.contains(&format!(" {other}=\"")), "{signed}");
        }
        pair.opened(&signed, &inner).expect("it is accepted");
    }
}

#[test]
fn the_key_info_is_what_the_file_says() {
    let pair = Pair::new();
    for (key_info, issuers) in [
        ("certificate", 0),
        ("certificate-and-issuer", 1),
        ("chain", 0),
    ] {
        let inner = format!("{REQUESTS}, key_info = \"{key_info}\"");
        let signed = pair
            .signed(&with_body(ORDER), &inner)
            .expect("it is signed");
        assert_eq!(signed.matches("<ds:X509IssuerSerial>").count(), issuers);
        assert_eq!(signed.matches("<ds:X509Data>").count(), 1);
        pair.opened(&signed, &inner).expect("it is accepted");
    }
    // A key that the receiver has pinned need not be told of (XML-DSig 4.5).
    let signed = pair
        .signed(&with_body(ORDER), REQUESTS)
        .expect("it is signed");
    let (before, rest) = signed.split_once("<ds:KeyInfo>").expect("it is there");
    let (_, behind) = rest.split_once("</ds:KeyInfo>").expect("it ends");
    pair.opened(&format!("{before}{behind}"), REQUESTS)
        .expect("it is accepted");
}

/// Signature wrapping (McIntosh and Austel, 2005), and everything else that is not one signature
/// over this one element.
#[test]
fn what_is_not_one_signature_over_the_one_element_is_refused() {
    let pair = Pair::new();
    let own = ORDER.replace("<t:Order", "<t:Order Id=\"own\"");
    let signed = pair
        .signed(&with_body(&own), REQUESTS)
        .expect("it is signed");
    let refused = |message: &str| pair.refused(message, REQUESTS);
    let (body, rest) = signed.split_once("<s:Body>").expect("a body");
    let (element, end) = rest.split_once("</s:Body>").expect("its end");
    let in_body = |content: &str| format!("{body}<s:Body>{content}</s:Body>{end}");
    assert!(pair.opened(&in_body(element), REQUESTS).is_ok());
    let at = element.find("<ds:Signature").expect("a signature");
    let (before, rest) = element.split_at(at);
    let (signature, behind) = rest
        .split_once("</t:Order>")
        .expect("the end of the element");
    assert_eq!(behind, "");
    let form = "inner-signature: the inner signature of `{urn:tax}Order`: ";
    let forged = before.replace(">12<", ">99<");
    for (content, expected) in [
        // A request that says that it is a fault, alone or with the element beside or inside.
        (
            "<s:Fault/>".to_owned(),
            format!("{form}expected one such element in the Body, found none"),
        ),
        (
            format!("<s:Fault/>{own}"),
            format!("{form}expected one `ds:Signature` among its children, found 0"),
        ),
        (
            format!("<s:Fault><detail>{own}</detail></s:Fault>"),
            format!("{form}expected one `ds:Signature` among its children, found 0"),
        ),
        // Changed, or not signed at all.
        (element.replace(">12<", ">13<"), "digest-mismatch: ".to_owned()),
        (
            own.clone(),
            format!("{form}expected one `ds:Signature` among its children, found 0"),
        ),
        (
            "<t:other xmlns:t=\"urn:tax\"/>".to_owned(),
            format!("{form}expected one such element in the Body, found none"),
        ),
        // The signed element moved aside, for another one to be read.
        (
            format!("{own}<w>{element}</w>"),
            format!("{form}expected one such element in the Body, found 2"),
        ),
        (
            format!("{forged}{signature}{element}</t:Order>"),
            format!("{form}expected one such element in the Body, found 2"),
        ),
        // The signed one under another name: the id is another element's.
        (
            format!(
                "{}{signature}</t:Order>{}",
                forged.replace(" Id=\"own\"", ""),
                element.replace("t:Order", "t:Aside")
            ),
            format!("{form}expected a reference to the id of the element"),
        ),
        // The id twice, in whatever attributes.
        (
            format!("{forged}{signature}</t:Order><a ID=\"own\"/>"),
            format!("{form}expected an id that one element has, found another one with it"),
        ),
        (
            format!("{element}<a xml:id=\"own\"/>"),
            "duplicate-id: ".to_owned(),
        ),
        // The signature elsewhere, or twice.
        (
            format!("{before}<w>{signature}</w></t:Order>"),
            format!("{form}expected one `ds:Signature` among its children, found 0"),
        ),
        (
            format!("{before}{signature}{signature}</t:Order>"),
            format!("{form}expected one `ds:Signature` among its children, found 2"),
        ),
        (
            format!("{before}</t:Order>{signature}"),
            format!("{form}expected one `ds:Signature` among its children, found 0"),
        ),
        // Another form than that of an enveloped signature.
        (
            element.replace("URI=\"#own\"", "URI=\"\""),
            format!("{form}expected a reference to the id of the element"),
        ),
        (
            element.replace("URI=\"#own\"", "URI=\"#\""),
            format!("{form}expected a reference to the id of the element"),
        ),
        (
            element.replace("xml-exc-c14n#\"></ds:Transform>", "xml-exc-c14n#WithComments\"></ds:Transform>"),
            format!("{form}expected the transforms enveloped-signature and, behind it, at most one canonicalization without comments"),
        ),
        (
            element.replace(
                "<ds:Transform Algorithm=\"http://www.w3.org/2000/09/xmldsig#enveloped-signature\"></ds:Transform>",
                "",
            ),
            format!("{form}expected the transforms enveloped-signature and, behind it, at most one canonicalization without comments"),
        ),
        // What nobody reads in a signature.
        (
            element.replace("</ds:Signature>", "<ds:Object>x</ds:Object></ds:Signature>"),
            format!("{form}expected no `ds:Object` in it"),
        ),
    ] {
        let told = refused(&in_body(&content));
        assert!(told.starts_with(&expected), "{content}: {told}");
    }
    // A comment is not signed, and not passed on.
    let commented = in_body(&element.replace(">12<", ">12<!-- more --><"));
    assert!(pair.opened(&commented, REQUESTS).is_ok());
}

/// Who signs messages signs no documents, and an algorithm is accepted by name alone.
#[test]
fn a_signature_by_another_key_or_algorithm_is_refused() {
    let pair = Pair::new();
    let by_client: Securer = pair.endpoint("client", MECHANISMS[0], REQUESTS);
    let signed = by_client
        .secure(with_body(ORDER).into_bytes())
        .expect("it is signed");
    let signed = String::from_utf8(signed.bytes).expect("text");
    let told = pair.refused(&signed, REQUESTS);
    assert!(told.starts_with("untrusted"), "{told}");
    // The certificate of the clerk beside a signature of the client.
    let clerk = pair
        .signed(&with_body(ORDER), REQUESTS)
        .expect("it is signed");
    let key_info = |message: &str| {
        let (_, rest) = message.split_once("<ds:KeyInfo>").expect("it is there");
        rest.split_once("</ds:KeyInfo>")
            .expect("it ends")
            .0
            .to_owned()
    };
    let confused = signed.replace(&key_info(&signed), &key_info(&clerk));
    let told = pair.refused(&confused, REQUESTS);
    assert!(told.starts_with("signature-mismatch"), "{told}");
    for algorithm in ["rsa-sha1", "hmac-sha256"] {
        let other = clerk.replace(
            "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
            match algorithm {
                "rsa-sha1" => "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
                _ => "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256",
            },
        );
        let told = pair.refused(&other, REQUESTS);
        assert!(told.starts_with("algorithm-not-allowed"), "{told}");
    }
    let weak = format!("{REQUESTS}, signature_algorithms = [\"rsa-sha1\"]");
    let signed = pair.signed(&with_body(ORDER), &weak).expect("it is signed");
    let evidence = pair.opened(&signed, &weak).expect("it is accepted");
    assert_eq!(evidence.expect("evidence").weak, ["rsa-sha1"]);
    let told = pair.refused(&signed, REQUESTS);
    assert!(told.starts_with("algorithm-not-allowed"), "{told}");
    let ended = "mechanism = \"none\", allow_weak_until = { rsa-sha1 = \"2020-01-01\" }";
    let opener: Opener = pair.endpoint("service", ended, &format!("{weak}, {TRUST_CLERK}"));
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let refused = opener.open(signed.into_bytes(), memory);
    let refused = refused.expect_err("its time is over");
    assert_eq!(refused.name(), "algorithm-retired");
}

/// Bleichenbacher's and Vaudenay's kind of question: what is in the clear after a decryption tells
/// nobody more than that.
#[test]
fn behind_a_decryption_a_bad_inner_signature_is_one_of_all_failures() {
    let pair = Pair::new();
    let client: Client = pair.endpoint(
        "client",
        "mechanism = \"encrypt\"",
        "answers = \"{urn:tax}Receipt\"",
    );
    let service = format!("{REQUESTS}, {TRUST_CLERK}");
    let service: Service = pair.endpoint("service", "mechanism = \"encrypt\"", &service);
    let secured = client
        .secure(with_body(ORDER).into_bytes())
        .expect("it is secured");
    let refused = received(&service, secured.bytes).expect_err("nobody signed the element");
    assert_eq!(refused.name(), "decryption-failed");
    assert_eq!(
        refused.fault(),
        Rejected::AfterDecryption(Box::new(Rejected::SignatureMissing)).fault()
    );
}

#[test]
fn a_message_that_cannot_be_signed_is_an_error() {
    let pair = Pair::new();
    let failed = |body: &str, inner: &str| {
        let failed = pair.signed(&with_body(body), inner);
        failed.expect_err("it cannot be signed").to_string()
    };
    let start = "`{urn:tax}Order` is to be signed by itself: ";
    let signed = pair
        .signed(&with_body(ORDER), REQUESTS)
        .expect("it is signed");
    let (_, rest) = signed.split_once("<s:Body>").expect("a body");
    let (element, _) = rest.split_once("</s:Body>").expect("its end");
    let in_base64 = format!("{REQUESTS}, base64 = true");
    for (body, inner, expected) in [
        (
            "<a/>",
            REQUESTS,
            "expected one such element in the Body, found none",
        ),
        (
            &format!("{ORDER}{ORDER}"),
            REQUESTS,
            "expected one such element in the Body, found 2",
        ),
        (element, REQUESTS, "it is signed already"),
        (
            ORDER,
            &in_base64,
            "expected base64, found elements or comments",
        ),
        (
            "<t:Order xmlns:t=\"urn:tax\">*</t:Order>",
            &in_base64,
            "expected base64: ",
        ),
        (
            "<t:Order xmlns:t=\"urn:tax\">AAAA</t:Order>",
            &in_base64,
            "expected base64 of a document: ",
        ),
        (
            "<t:Order xmlns:t=\"urn:tax\">PCFET0NUWVBFIGE+PGEvPg==</t:Order>",
            &in_base64,
            "expected base64 of a document: ",
        ),
    ] {
        let told = failed(body, inner);
        assert!(
            told.starts_with(&format!("{start}{expected}")),
            "{body}: {told}"
        );
    }
}

#[test]
fn mistakes_of_the_table_are_told_with_their_places() {
    let pair = Pair::new();
    let told = |security: &str, inner: &str| {
        let made: Result<Service, Problems> = pair
            .config("service", security, inner)
            .and_then(|config| Endpoint::from_config(&config));
        made.err()
            .map(|problems| problems.to_string())
            .unwrap_or_default()
    };
    let sign = "mechanism = \"sign\"";
    for (security, inner, expected) in [
        (sign, "id = \"Id\"", "`requests` is missing in [inner]"),
        (
            sign,
            "requests = \"Order\"",
            "`requests` must name an element of the Body, found another text",
        ),
        (
            sign,
            "requests = \"{urn:tax}Order\", base64 = true, id = \"Id\"",
            "`id` is given, and a document in base64 is signed as a whole",
        ),
        (
            sign,
            "requests = \"{urn:tax}Order\", signature_algorithms = [\"sha256\"]",
            "expected a signature algorithm, found another text",
        ),
        (
            sign,
            "answers = \"{urn:tax}Order\", signature_algorithms = [\"ecdsa-sha256\"]",
            "no algorithm of `signature_algorithms` works with it",
        ),
    ] {
        let found = told(security, inner);
        assert!(found.contains(expected), "{inner}: {found}");
        assert!(found.contains("endpoint.toml:"), "{found}");
    }
    let text = format!("security = {{ mechanism = \"none\" }}\ninner = {{ {REQUESTS} }}\n");
    let config = EndpointConfig::from_text(&text, &pair.0.path("endpoint.toml"), &|_| None);
    let config = config.expect("its shape is right");
    let opener = Opener::from_config(&config).expect_err("nobody is trusted");
    assert!(
        opener
            .to_string()
            .contains("`trust` is needed to verify an inner signature"),
        "{opener}"
    );
    let securer = Securer::from_config(&config)
        .expect_err("`identity` is needed to sign an element by itself");
    assert!(
        securer
            .to_string()
            .contains("`identity` is needed to sign an element by itself"),
        "{securer}"
    );
}

#[test]
fn keys_of_other_kinds_sign_with_the_first_algorithm_that_fits() {
    let folder = Folder::with_keys(P256, &["client", "service", "clerk"]);
    let pair = Pair(folder);
    let signed = pair
        .signed(&with_body(ORDER), REQUESTS)
        .expect("it is signed");
    assert!(signed.contains("xmldsig-more#ecdsa-sha256"), "{signed}");
    pair.opened(&signed, REQUESTS).expect("it is accepted");
}
