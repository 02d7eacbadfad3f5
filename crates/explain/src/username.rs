//! Password digests, as they are and as they are often made.
//!
//! The rule kept here: a password that is known to the reader's side is never shown.

use soapstone_crypto::{DigestAlgorithm, base64, digest, hexadecimal};
use soapstone_wss::names::{PASSWORD_DIGEST, WSSE, WSU};
use soapstone_xml::{Document, Element};

use crate::cause::{Cause, Step};
use crate::model::{Explanation, Finding, Severity};
use crate::options::Options;

/// Most tokens that are looked at.
const MOST: usize = 8;

pub(crate) fn tell(document: &Document, options: &Options<'_>, told: &mut Explanation) {
    let tokens = document.elements_named(WSSE, "UsernameToken");
    for token in tokens.filter(Element::is_live).take(MOST) {
        if let Some(finding) = look(token, options) {
            told.findings.push(finding);
        }
    }
}

fn text(token: Element<'_>, namespace: &str, local: &str) -> String {
    let child = token.child(namespace, local);
    child
        .map(|child| child.text().into_owned())
        .unwrap_or_default()
}

fn look(token: Element<'_>, options: &Options<'_>) -> Option<Finding> {
    let place = format!("wsse:UsernameToken in line {}", token.line_column().0);
    let user = text(token, WSSE, "Username");
    let password = token.child(WSSE, "Password")?;
    let kind = password.attribute("", "Type");
    let sent = password.text().into_owned();
    let finding =
        |severity, kind, says: String| Some(Finding::new(severity, kind, place.as_str(), says));
    let known = options
        .known
        .passwords
        .iter()
        .find(|(name, _)| *name == user);
    let Some((_, secret)) = known else {
        return match options.known.passwords.is_empty() {
            true => None,
            false => finding(
                Severity::Error,
                "authentication-failed",
                format!("the user `{user}` is not known"),
            ),
        };
    };
    if kind.as_deref() != Some(PASSWORD_DIGEST) {
        if sent.as_bytes() == secret.expose().as_slice() {
            return None;
        }
        let failed = finding(
            Severity::Error,
            "authentication-failed",
            format!("the password of `{user}` is another one"),
        )?;
        let trims = sent.trim().as_bytes() == secret.expose().as_slice();
        let step = Step::new(
            "white-space",
            "the white space at the ends of the password left out",
        );
        let digested = Step::new(
            "password-kind",
            "the password taken for a digest, which its Type does not say",
        );
        let created = text(token, WSU, "Created");
        let nonce = nonce_of(token);
        let right = base64::encode(&sha1(&[&nonce, created.as_bytes(), secret.expose()]));
        let texts = hashed_texts(secret.expose()).into_iter();
        let mut texts = texts.chain(written_texts(secret.expose()));
        let hashed = texts.find(|(_, text)| text == sent.trim());
        return Some(match (trims, sent.trim() == right, hashed) {
            (true, ..) => failed.because([Cause::proven(&[step], "the password is the right one")]),
            (_, true, _) => {
                failed.because([Cause::proven(&[digested], "the digest is the right one")])
            }
            (.., Some((name, _))) => {
                let says = format!("the {name} of the password sent in its place");
                let step = Step::new("password-kind", says);
                failed.because([Cause::proven(&[step], "the password is the right one")])
            }
            _ => failed,
        });
    }
    let nonce_text = text(token, WSSE, "Nonce");
    let created = text(token, WSU, "Created");
    let sent = sent.trim();
    let found = variants(&user, &nonce_text, &created, secret.expose())
        .into_iter()
        .find_map(|(digest, step)| {
            let written = [
                (base64::encode(&digest), None),
                (
                    hexadecimal::encode(&digest),
                    Some("the digest written in hexadecimal, not in base64"),
                ),
                (
                    hexadecimal::encode(&digest).to_uppercase(),
                    Some("the digest written in hexadecimal, not in base64"),
                ),
                (
                    base64::encode(hexadecimal::encode(&digest).as_bytes()),
                    Some("the base64 of the hexadecimal digest"),
                ),
                (
                    in_base64url(&digest),
                    Some("the digest written in base64url, not in base64"),
                ),
            ];
            let fits = written.into_iter().find(|(text, _)| text == sent)?;
            let encoding = fits.1.map(|says| Step::new("digest-encoding", says));
            Some(step.into_iter().chain(encoding).collect::<Vec<Step>>())
        });
    match found {
        Some(steps) if steps.is_empty() => None,
        found => {
            let failed = finding(
                Severity::Error,
                "authentication-failed",
                format!(
                    "the password digest of `{user}` is not that of nonce, wsu:Created and password"
                ),
            )?;
            Some(match found {
                Some(steps) => failed.because([Cause::proven(
                    &steps,
                    "the password digest is the one in the message",
                )]),
                None => failed.because([Cause::likely(
                    "password",
                    "the sender has another password, or nonce or wsu:Created were changed",
                )]),
            })
        }
    }
}

/// Without padding, as most writers leave it out.
fn in_base64url(bytes: &[u8]) -> String {
    let text = base64::encode(bytes).replace('+', "-").replace('/', "_");
    text.trim_end_matches('=').to_owned()
}

fn nonce_of(token: Element<'_>) -> Vec<u8> {
    base64::decode_xml_to_vec(text(token, WSSE, "Nonce").as_bytes()).unwrap_or_default()
}

fn sha1(pieces: &[&[u8]]) -> Vec<u8> {
    hash(DigestAlgorithm::Sha1, pieces)
}

fn hash(algorithm: DigestAlgorithm, pieces: &[&[u8]]) -> Vec<u8> {
    digest(algorithm, &pieces.concat())
        .map(|digest| digest.as_ref().to_vec())
        .unwrap_or_default()
}

/// The right digest first, then those that are often made.
fn variants(
    user: &str,
    nonce_text: &str,
    created: &str,
    password: &[u8],
) -> Vec<(Vec<u8>, Option<Step>)> {
    let trimmed = nonce_text.trim();
    let nonce = base64::decode_xml_to_vec(nonce_text.as_bytes()).unwrap_or_default();
    let text = trimmed.as_bytes();
    let created = created.as_bytes();
    let hashed = sha1(&[password]);
    let user = user.as_bytes();
    let wide: Vec<u8> = String::from_utf8_lossy(password)
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let hexadecimal_nonce = hexadecimal::encode(&nonce);
    let twice = base64::decode_xml_to_vec(&nonce).unwrap_or_default();
    let pieces: Vec<(&str, Vec<&[u8]>)> = vec![
        ("", vec![&nonce, created, password]),
        (
            "the base64 text of the nonce digested, not its bytes",
            vec![text, created, password],
        ),
        (
            "the SHA-1 digest of the password in the place of the password",
            vec![&nonce, created, &hashed],
        ),
        (
            "the base64 text of the nonce and the SHA-1 digest of the password",
            vec![text, created, &hashed],
        ),
        (
            "the hexadecimal text of the nonce digested, not its bytes",
            vec![hexadecimal_nonce.as_bytes(), created, password],
        ),
        (
            "the base64 text of the nonce with the white space around it",
            vec![nonce_text.as_bytes(), created, password],
        ),
        ("wsu:Created left out", vec![&nonce, password]),
        (
            "wsu:Created left out and the base64 text of the nonce",
            vec![text, password],
        ),
        ("the nonce left out", vec![created, password]),
        ("the password alone", vec![password]),
        (
            "wsu:Created before the nonce",
            vec![created, &nonce, password],
        ),
        ("the password first", vec![password, &nonce, created]),
        (
            "the password before wsu:Created",
            vec![&nonce, password, created],
        ),
        ("the password in UTF-16", vec![&nonce, created, &wide]),
        (
            "the white space at the ends of wsu:Created left out",
            vec![&nonce, created.trim_ascii(), password],
        ),
        (
            "the nonce encoded in base64 twice",
            vec![&twice, created, password],
        ),
        ("an empty password", vec![&nonce, created]),
        (
            "a line end behind the password",
            vec![&nonce, created, password, b"\n"],
        ),
        (
            "the user in front of the password",
            vec![&nonce, created, user, password],
        ),
        (
            "the user in front of all",
            vec![user, &nonce, created, password],
        ),
    ];
    let of_pieces = pieces.iter().map(|(says, pieces)| {
        let step = (!says.is_empty()).then(|| Step::new("username-digest", *says));
        (sha1(pieces), step)
    });
    of_pieces
        .chain(rewritten(&nonce, created, password))
        .collect()
}

/// Digests of the usual pieces with one of them written otherwise.
fn rewritten(nonce: &[u8], created: &[u8], password: &[u8]) -> Vec<(Vec<u8>, Option<Step>)> {
    let mut found = Vec::new();
    let mut add = |digest: Vec<u8>, says: String| {
        found.push((digest, Some(Step::new("username-digest", says))));
    };
    let text = String::from_utf8_lossy(password);
    let latin = text.chars().map(|one| u8::try_from(u32::from(one)).ok());
    let latin: Option<Vec<u8>> = latin.collect();
    if let Some(latin) = latin.filter(|latin| latin != password) {
        let says = "the password in ISO-8859-1".to_owned();
        add(sha1(&[nonce, created, &latin]), says);
    }
    for (name, text) in hashed_texts(password) {
        let says = format!("the {name} of the password in its place");
        add(sha1(&[nonce, created, text.as_bytes()]), says);
    }
    for algorithm in [
        DigestAlgorithm::Sha256,
        DigestAlgorithm::Sha512,
        DigestAlgorithm::Md5,
    ] {
        let says = format!(
            "the digest {} in the place of SHA-1",
            algorithm.short_name()
        );
        add(hash(algorithm, &[nonce, created, password]), says);
    }
    // Only the moment may have lost or gained its fraction on the way.
    if let Ok(text) = std::str::from_utf8(created)
        && let Some(whole) = text.trim().strip_suffix('Z')
    {
        let other = match whole.split_once('.') {
            Some((seconds, _)) => format!("{seconds}Z"),
            None => format!("{whole}.000Z"),
        };
        for other in [other, format!("{whole}+00:00"), whole.to_owned()] {
            let says = format!("wsu:Created written as `{other}`");
            add(sha1(&[nonce, other.as_bytes(), password]), says);
        }
    }
    found
}

/// Other texts of a password, each with its name.
fn written_texts(password: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(password);
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
    let named = |name: &str, text: String| (name.to_owned(), text);
    let mut texts = vec![
        named("base64 text", base64::encode(password)),
        named("escaped text", escaped),
        named("text in capitals", text.to_uppercase()),
        named("text in small letters", text.to_lowercase()),
    ];
    texts.retain(|(_, other)| *other != text);
    texts
}

/// Hashes of a password as systems keep them, each with its name: in hexadecimal and in base64.
fn hashed_texts(password: &[u8]) -> Vec<(String, String)> {
    let mut texts = Vec::new();
    for algorithm in [
        DigestAlgorithm::Md5,
        DigestAlgorithm::Sha1,
        DigestAlgorithm::Sha256,
        DigestAlgorithm::Sha512,
    ] {
        let digest = hash(algorithm, &[password]);
        let name = algorithm.short_name();
        let hexadecimal = hexadecimal::encode(&digest);
        let written = format!("hexadecimal {name} digest");
        texts.push((written.clone(), hexadecimal.to_uppercase()));
        texts.push((written, hexadecimal));
        texts.push((format!("base64 {name} digest"), base64::encode(&digest)));
    }
    texts
}
