//! Packages that were changed on the way, or sent by who may not.

use http::StatusCode;
use soapstone::crypto::base64;
use soapstone::mime::{Message, Package, Packaged, Packaging};
use soapstone::wss::SoapVersion;

use super::{
    contents, gateway, of_backend, opening, packed, part, parts, plain, request, request_with,
    secured, securing,
};
use crate::support::{Backend, Folder, Said, send, to_admin};

/// Sends each message to an inbound gateway. None arrives at the backend, and each is refused for
/// its cause.
async fn refused(mechanism: &str, word: &str, attacks: Vec<(Message, &str)>, folder: &Folder) {
    let mut backend = Backend::echo().await;
    let (said, _guard) = Said::listen();
    let service = gateway(folder, backend.address, "", &[opening(mechanism, word)]).await;
    for (number, (message, cause)) in attacks.iter().enumerate() {
        let before = said.caused(cause);
        let answer = send(service.address(), request_with(message)).await;
        let case = format!("attack {number}: {said}");
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{case}");
        assert_eq!(said.caused(cause), before + 1, "{case}");
        assert!(!answer.body.contains("attachment"), "{}", answer.body);
    }
    assert!(backend.seen.try_recv().is_err());
}

/// SwA Profile 1.1.1, 5.4.2 and 7: what a package has, and its signature does not cover.
#[tokio::test]
async fn a_package_that_was_changed_on_the_way_reaches_no_backend() {
    let folder = Folder::with_keys();
    let sent = || secured(&folder, "sign", "{}", parts());
    let mut added = sent();
    added.parts.push(part("more@sender", "text/plain", b"more"));
    let mut removed = sent();
    removed.parts.pop();
    let mut swapped = sent();
    let (one, two) = (
        swapped.parts[0].content().to_vec(),
        swapped.parts[1].content().to_vec(),
    );
    swapped.parts[0].set_content(two);
    swapped.parts[1].set_content(one);
    let mut renamed = sent();
    let content = renamed.parts[0].content().to_vec();
    renamed.parts[0] = part("other@sender", "application/gzip", &content);
    let mut changed = sent();
    changed.parts[0].set_content(b"other".to_vec());
    let attacks = vec![
        (added, "attachment-unsigned"),
        (removed, "attachment-missing"),
        (swapped, "digest-mismatch"),
        (renamed, "attachment-missing"),
        (changed, "digest-mismatch"),
    ];
    refused("sign", "{}", attacks, &folder).await;
}

/// SwA Profile 1.1.1, 5.4.3.
#[tokio::test]
async fn a_changed_field_of_a_part_is_refused_where_parts_are_signed_as_a_whole() {
    let folder = Folder::with_keys();
    let word = "{ signed = \"complete\" }";
    let sent = || secured(&folder, "sign", word, parts());
    let mut typed = sent();
    let html = typed.parts[0].set_content_type("text/html");
    html.expect("a media type");
    let mut described = sent();
    let one = described.parts.remove(0);
    let one = one.with_field("Content-Disposition", "attachment; filename=\"a.exe\"");
    described.parts.insert(0, one.expect("a field"));
    let by_content = secured(&folder, "sign", "{}", parts());
    let attacks = vec![
        (typed, "digest-mismatch"),
        (described, "digest-mismatch"),
        (by_content, "attachment-unsigned"),
    ];
    refused("sign", word, attacks, &folder).await;
}

/// SwA Profile 1.1.1, 5.4: a second reference is refused before any digest or value is looked at,
/// so that it is refused of a sender with the right key, too.
#[tokio::test]
async fn a_part_in_two_references_is_refused() {
    let folder = Folder::with_keys();
    let mut sent = secured(&folder, "sign", "{}", parts());
    let text = String::from_utf8(sent.root).expect("UTF-8");
    let begins = text.find("<ds:Reference URI=\"cid:").expect("a reference");
    let ends = begins + text[begins..].find("</ds:Reference>").expect("its end") + 15;
    let twice = format!("{}{}{}", &text[..ends], &text[begins..ends], &text[ends..]);
    sent.root = twice.into_bytes();
    let attacks = vec![(sent, "attachment-repeated")];
    refused("sign", "{}", attacks, &folder).await;
}

/// Cipher text that somebody else put in the place of an attachment's.
#[tokio::test]
async fn cipher_text_of_another_package_is_refused_as_every_other_failure() {
    let folder = Folder::with_keys();
    let sent = || secured(&folder, "sign-encrypt", "{}", parts());
    let (mut mixed, mut cut, mut readable) = (sent(), sent(), sent());
    let (said, _guard) = Said::listen();
    mixed.parts[0].set_content(sent().parts[0].content().to_vec());
    let shorter = cut.parts[0].content()[..8].to_vec();
    cut.parts[0].set_content(shorter);
    readable.parts[0].set_content(super::BYTES.to_vec());
    let mut backend = Backend::echo().await;
    let service = gateway(
        &folder,
        backend.address,
        "",
        &[opening("sign-encrypt", "{}")],
    )
    .await;
    let mut told = Vec::new();
    for message in [mixed, cut, readable] {
        let answer = send(service.address(), request_with(&message)).await;
        told.push((answer.status, answer.body));
    }
    told.dedup();
    assert_eq!(told.len(), 1, "{told:?}");
    // The operator is told, and the peer is not. What another key deciphers to may end with a
    // padding.
    let garbled = said.caused("digest-mismatch");
    assert!(garbled < 2, "{said}");
    assert_eq!(said.caused("decryption-failed") + garbled, 3, "{said}");
    assert_eq!(said.times(" reason=\"decryption-failed\" "), 3, "{said}");
    assert!(backend.seen.try_recv().is_err());
}

/// RFC 2392, 2; RFC 2046, 5.1: packages that two readers take for two things.
#[tokio::test]
async fn an_ambiguous_package_reaches_no_backend() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let (said, _guard) = Said::listen();
    let service = gateway(&folder, backend.address, "", &[opening("sign", "{}")]).await;
    let mut twice = secured(&folder, "sign", "{}", parts());
    let second = part("plan@sender", "text/plain", b"another");
    twice.parts.push(second);
    let good = packed(&secured(&folder, "sign", "{}", parts()), SoapVersion::V11);
    let bare = good.body.iter().filter(|byte| **byte != b'\r');
    let bare = bare.copied().collect();
    let mut cut = good.body.clone();
    cut.truncate(cut.len() - 6);
    let of = |packaged: &Packaged, body: Vec<u8>| (packaged.content_type.clone(), body);
    let twice = packed(&twice, SoapVersion::V11);
    let other_start = good.content_type.replace("start=\"<root", "start=\"<toor");
    let cases = [
        (
            of(&twice, twice.body.clone()),
            "found `<plan@sender>` again",
        ),
        (of(&good, bare), "the package: "),
        (of(&good, cut), "the package is cut"),
        ((other_start, good.body.clone()), "which `start` names"),
        (
            (good.content_type.clone(), Vec::new()),
            "the package is cut",
        ),
    ];
    for ((content_type, body), detail) in cases {
        let before = said.times(detail);
        let answer = send(service.address(), request(&content_type, body)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR, "{detail}");
        assert_eq!(said.times(detail), before + 1, "{detail}: {said}");
        assert!(!answer.body.contains("package"), "{}", answer.body);
    }
    assert!(backend.seen.try_recv().is_err());
}

#[tokio::test]
async fn a_package_is_accepted_once() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let (said, _guard) = Said::listen();
    let service = gateway(&folder, backend.address, "", &[opening("sign", "{}")]).await;
    let message = secured(&folder, "sign", "{}", parts());
    let answer = send(service.address(), request_with(&message)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let answer = send(service.address(), request_with(&message)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(said.caused("replayed"), 1, "{said}");
    assert!(backend.seen.recv().await.is_some() && backend.seen.try_recv().is_err());
}

#[tokio::test]
async fn a_part_that_nothing_covers_goes_on_only_where_the_file_says_so() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let (said, _guard) = Said::listen();
    let unsigned = "{ signed = \"none\" }";
    let message = || secured(&folder, "sign", unsigned, parts());
    let strict = gateway(&folder, backend.address, "", &[opening("sign", unsigned)]).await;
    let answer = send(strict.address(), request_with(&message())).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(said.caused("attachment-uncovered"), 1, "{said}");
    assert!(backend.seen.try_recv().is_err());
    // Cipher text that a signature does not cover can be anybody's.
    let sides = [opening("sign-encrypt", unsigned)];
    let encrypting = gateway(&folder, backend.address, "", &sides).await;
    let encrypted = secured(&folder, "sign-encrypt", unsigned, parts());
    let answer = send(encrypting.address(), request_with(&encrypted)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(said.caused("attachment-uncovered"), 2, "{said}");
    // The answer is a package as well, and the file says nothing else of it.
    let word = "{ signed = \"none\", uncovered = true }";
    let warned = "parts of packages are passed on that nothing covers";
    assert_eq!(said.times(warned), 0);
    let lenient = gateway(&folder, backend.address, "", &[opening("sign", word)]).await;
    assert_eq!(said.times(warned), 1, "{said}");
    let answer = send(lenient.address(), request_with(&message())).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let seen = backend.seen.recv().await.expect("it arrived");
    let seen = of_backend(&seen, SoapVersion::V11);
    assert_eq!(contents(&seen.parts), contents(&parts()));
    let metrics = lenient.metrics();
    let line = "soapstone_uncovered_attachment_messages_total{route=\"/echo\",direction=\"inbound\",mechanism=\"sign\"} 1";
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
}

#[tokio::test]
async fn a_part_of_an_answer_that_nothing_covers_goes_on_only_where_the_file_says_so() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let (said, _guard) = Said::listen();
    let lenient = "{ signed = \"none\", uncovered = true }";
    let service = gateway(&folder, backend.address, "", &[opening("sign", lenient)]).await;
    for (word, status, refused) in [
        ("{ signed = \"none\" }", StatusCode::BAD_GATEWAY, 1),
        (lenient, StatusCode::OK, 1),
    ] {
        let sides = [securing("sign", word)];
        let client = gateway(&folder, service.address(), "", &sides).await;
        let Packaged { content_type, body } = plain(SoapVersion::V11);
        let answer = send(client.address(), request(&content_type, body)).await;
        assert_eq!(answer.status, status, "{word}: {}", answer.body);
        assert_eq!(said.caused("attachment-uncovered"), refused, "{said}");
    }
}

/// A careless reader of the package may go by the `action` of its root.
#[tokio::test]
async fn an_action_of_the_package_or_its_root_cannot_name_another_operation() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let (side, tables) = opening("sign", "{}");
    let roles = "[[roles]]\nname = \"callers\"\nmembers = { subjects = [\"CN=client\"] }\nallow = [\"*:echo\"]\n";
    let service = gateway(&folder, backend.address, roles, &[(side, tables)]).await;
    for (of_package, of_root, status) in [
        ("urn:echo/echo", "urn:echo/echo", StatusCode::OK),
        ("urn:echo/delete", "urn:echo/echo", StatusCode::FORBIDDEN),
        ("urn:echo/echo", "urn:echo/delete", StatusCode::FORBIDDEN),
    ] {
        let message = secured(&folder, "sign", "{}", parts());
        let root_type = format!("text/xml; action=\"{of_root}\"");
        let packaging = Packaging {
            root_type: &root_type,
            parameters: &[("action", of_package)],
        };
        let Packaged { content_type, body } = packaging.write(&message);
        let mut request = request(&content_type, body);
        request.headers_mut().remove("soapaction");
        let answer = send(service.address(), request).await;
        assert_eq!(answer.status, status, "{of_package} {of_root}");
        let arrived = backend.seen.try_recv().is_ok();
        assert_eq!(arrived, status == StatusCode::OK);
    }
}

#[tokio::test]
async fn a_refused_package_is_recorded_as_a_file_that_can_be_read() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let before = "admin = \"127.0.0.1:0\"\nrecord = { refused = 10 }";
    for (mechanism, is_kept) in [("sign-encrypt", true), ("sign", false)] {
        let sides = [opening(mechanism, "{}")];
        let service = gateway(&folder, backend.address, before, &sides).await;
        let mut message = secured(&folder, mechanism, "{}", parts());
        message.parts.pop();
        let answer = send(service.address(), request_with(&message)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
        let admin = service.admin_address().expect("it is configured");
        let listed = send(admin, to_admin("/refused")).await.body;
        let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
        let id = listed[0]["id"].as_str().expect("a record");
        let found = send(admin, to_admin(&format!("/refused/{id}"))).await.body;
        let found: serde_json::Value = serde_json::from_str(&found).expect("JSON");
        assert_eq!(found.get("message").is_some(), is_kept, "{found}");
        let Some(kept) = found["message"].as_str() else {
            continue;
        };
        let file = base64::decode_xml_to_vec(kept.as_bytes()).expect("base64");
        let package = Package::read(&file).expect("a package").expect("a header");
        let found = package.into_message().expect("a message");
        assert_eq!(found.root, message.root);
        assert_eq!(contents(&found.parts), contents(&message.parts));
    }
}
