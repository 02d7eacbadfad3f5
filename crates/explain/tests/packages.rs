//! Messages in MIME packages: the digest of each attachment, and why it differs (SwA Profile 1.1.1,
//! 5.4).

#[path = "support/mod.rs"]
mod support;

use soapstone::config::EndpointConfig;
use soapstone::crypto::{DigestAlgorithm, base64, digest};
use soapstone::endpoint::Securer;
use soapstone::mime::{Attachment, Message, Packaging};
use soapstone_explain::{Explanation, Options, Severity, State, explain};

use support::{NOW, PLAIN, Signer, as_it_is, first_causes, recorded, told_with, with_value};

const TEXT: &[u8] = b"first line\nsecond line\n";
const XML: &[u8] = b"<list b='2' a='1'><empty/></list>";
const BYTES: &[u8] = b"\x00\x01\xfe\xff";

/// What is digested in place of the canonical content.
type Digested<'d> = &'d dyn Fn(&[u8]) -> Vec<u8>;

fn secured(lines: &str) -> Message {
    let text = format!(
        "identity = {{ key = \"keys/client.key.pem\", certificate = \"keys/client.cert.pem\" }}\n\
         peer = {{ certificate = \"keys/server.cert.pem\" }}\n{lines}\ntime = \"{NOW}\"\n"
    );
    let config = EndpointConfig::from_text(&text, &recorded("test.toml"), &|_| None);
    let securer = config
        .and_then(|config| Securer::from_config(&config))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let part = |id: &str, media_type: &str, content: &[u8]| {
        Attachment::new(id, media_type, content.to_vec()).expect("an attachment")
    };
    let message = Message {
        root: PLAIN.as_bytes().to_vec(),
        parts: vec![
            part("text@example", "text/plain", TEXT),
            part("list@example", "application/xml", XML),
            part("bytes@example", "application/octet-stream", BYTES),
        ],
    };
    let secured = securer.secure(message);
    let secured = secured.unwrap_or_else(|error| panic!("{error}"));
    Message {
        root: secured.bytes,
        parts: secured.parts,
    }
}

const SIGN: &str = "[security]\nmechanism = \"sign\"\nsuite = \"Basic256Sha256+RsaSha256\"";

fn told(message: &Message) -> Explanation {
    let packaging = Packaging {
        root_type: "text/xml; charset=UTF-8",
        parameters: &[],
    };
    let file = packaging.write(message).into_file();
    told_with(&file, support::known())
}

/// The message with another digest of an attachment, signed anew.
fn digested(message: &Message, id: &str, how: Digested<'_>, content: &[u8]) -> Message {
    let root = String::from_utf8(message.root.clone()).expect("UTF-8");
    let start = root
        .find(&format!("URI=\"cid:{id}\""))
        .expect("a reference");
    let start = start + root[start..].find("<ds:DigestValue>").expect("a digest");
    let start = start + "<ds:DigestValue>".len();
    let end = start + root[start..].find('<').expect("its end");
    let value = digest(DigestAlgorithm::Sha256, &how(content)).expect("a digest");
    let value = base64::encode(value.as_ref());
    let root = format!("{}{value}{}", &root[..start], &root[end..]);
    let signer = Signer::client();
    let root = with_value(&root, |bytes| signer.sign(bytes), &as_it_is);
    Message {
        root: root.into_bytes(),
        parts: message.parts.clone(),
    }
}

/// A reference to an attachment with a transform of documents, or with none.
#[test]
fn a_transform_that_is_none_of_attachments_is_told() {
    let message = secured(SIGN);
    let root = String::from_utf8(message.root.clone()).expect("UTF-8");
    let other = root.replace(
        "http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Content-Signature-Transform",
        "http://www.w3.org/2001/10/xml-exc-c14n#",
    );
    assert_ne!(other, root);
    let told = told(&Message {
        root: other.into_bytes(),
        parts: message.parts.clone(),
    });
    let kinds = told.findings.iter().map(|it| it.kind);
    let kinds: Vec<_> = kinds
        .filter(|kind| kind.starts_with("attachment"))
        .collect();
    assert_eq!(kinds, ["attachment-transform"; 3]);
}

fn states(told: &Explanation) -> Vec<(String, State)> {
    let references = told.signatures[0].references.iter();
    references
        .filter(|one| one.uri.starts_with("cid:"))
        .map(|one| (one.uri.clone(), one.state))
        .collect()
}

#[test]
fn the_digests_of_all_attachments_are_compared() {
    for coverage in ["content", "complete"] {
        let message = secured(&format!(
            "{SIGN}\nattachments = {{ signed = \"{coverage}\" }}"
        ));
        let told = told(&message);
        assert_eq!(told.findings, [], "{coverage}");
        let states = states(&told);
        assert_eq!(states.len(), 3);
        for (uri, state) in states {
            assert_eq!(state, State::Matches, "{uri} {coverage}");
        }
    }
}

#[test]
fn the_true_cause_of_an_attachments_digest_is_told_first() {
    let message = secured(SIGN);
    let header = |content: &[u8]| [b"Content-ID:<x>\r\n\r\n".as_slice(), content].concat();
    let cases: &[(&str, &[u8], Digested<'_>, &str, bool)] = &[
        (
            "text@example",
            TEXT,
            &<[u8]>::to_vec,
            "not-canonicalized",
            true,
        ),
        (
            "list@example",
            XML,
            &<[u8]>::to_vec,
            "not-canonicalized",
            true,
        ),
        (
            "bytes@example",
            BYTES,
            &|content| base64::encode(content).into_bytes(),
            "transfer-encoding",
            true,
        ),
        (
            "bytes@example",
            BYTES,
            &|content| [content, b"\r\n"].concat(),
            "attachment-boundary",
            true,
        ),
        ("bytes@example", BYTES, &header, "content-changed", false),
    ];
    for (id, content, how, kind, certain) in cases {
        let told = told(&digested(&message, id, how, content));
        let causes = first_causes(&told);
        let kinds: Vec<_> = causes
            .iter()
            .map(|cause| (cause.kinds.clone(), cause.certain))
            .collect();
        assert_eq!(kinds, [(vec![*kind], *certain)], "{id}");
    }
}

#[test]
fn coverage_that_is_announced_and_not_used_is_the_cause() {
    let message = secured(&format!(
        "{SIGN}\nattachments = {{ signed = \"complete\" }}"
    ));
    let told = told(&digested(&message, "bytes@example", &<[u8]>::to_vec, BYTES));
    let causes = first_causes(&told);
    assert_eq!(causes[0].kinds, ["attachment-coverage"]);
    assert!(causes[0].certain);
}

#[test]
fn an_attachment_that_was_changed_on_the_way_has_no_certain_cause() {
    let mut message = secured(SIGN);
    message.parts[2].set_content(b"other".to_vec());
    let told = told(&message);
    let causes = first_causes(&told);
    assert_eq!(causes.len(), 1);
    assert_eq!(causes[0].kinds, ["content-changed"]);
    assert!(!causes[0].certain);
}

/// Lines that a transport rewrote are the same text (SwA Profile 1.1.1, 5.4.2).
#[test]
fn rewritten_line_ends_of_a_text_change_no_digest() {
    let mut message = secured(SIGN);
    message.parts[0].set_content(b"first line\r\nsecond line\r\n".to_vec());
    assert_eq!(told(&message).findings, []);
}

#[test]
fn an_attachment_in_cipher_text_is_not_called_changed() {
    let message =
        secured("[security]\nmechanism = \"sign-encrypt\"\nsuite = \"Basic256Sha256+RsaSha256\"");
    let told = told(&message);
    assert!(
        told.findings
            .iter()
            .all(|finding| finding.severity == Severity::Note),
        "{:?}",
        told.findings
    );
    for (uri, state) in states(&told) {
        assert_eq!(state, State::NotChecked, "{uri}");
    }
}

/// A hostile package costs the work that the options allow, and has no digest beyond it.
#[test]
fn attachments_are_digested_within_the_work_alone() {
    let message = secured(SIGN);
    let packaging = Packaging {
        root_type: "text/xml",
        parameters: &[],
    };
    let options = Options {
        work: 1,
        ..Options::default()
    };
    let file = packaging.write(&message).into_file();
    let told = explain(file, &options).expect("an explanation");
    for (uri, state) in states(&told) {
        assert_eq!(state, State::NotChecked, "{uri}");
    }
    let notes = told.findings.iter();
    assert!(notes.filter(|one| one.kind == "work-bound").count() >= 3);
}

/// XML grows in its canonical form, and what it grows by is work, too.
#[test]
fn an_attachment_that_grows_is_digested_within_the_work_alone() {
    let mut message = secured(SIGN);
    let size = 100_000;
    let content = format!("<a>{}</a>", ">".repeat(size));
    message.parts[1].set_content(content.into_bytes());
    let packaging = Packaging {
        root_type: "text/xml",
        parameters: &[],
    };
    let file = packaging.write(&message).into_file();
    for (work, expected) in [(3 * size, State::NotChecked), (5 * size, State::Differs)] {
        let options = Options {
            work,
            ..Options::default()
        };
        let told = explain(file.clone(), &options).expect("an explanation");
        let states = states(&told);
        let mut states = states.iter();
        let list = states.find(|(uri, _)| uri == "cid:list@example");
        assert_eq!(list.expect("the list").1, expected, "{work}");
    }
}

#[test]
fn a_package_that_cannot_be_taken_apart_is_told_to_be_one() {
    let file =
        b"MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b\r\n".to_vec();
    let error = explain(file, &Options::default()).expect_err("no message");
    let cause = error.cause.expect("a cause");
    assert!(
        cause.starts_with("as a package it cannot be taken apart: "),
        "{cause}"
    );
}
