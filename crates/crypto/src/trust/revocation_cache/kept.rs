//! Answers as they are kept over a restart: PEM with the certificates that they are about.
//!
//! The one rule: what is read here is verified by the cache as if it came now.

use crate::certificate::Certificate;
use crate::keystore::pem;
use crate::trust::answer_error::AnswerError;

/// The labels of kept answers. `X509 CRL` is that of RFC 7468; the other has no registered name.
const RESPONSE_LABEL: &str = "OCSP RESPONSE";
const LIST_LABEL: &str = "X509 CRL";
/// How the line of a kept list begins that tells where it is from.
const FROM: &str = "from ";

/// What is to be kept over a restart: a text, and a name for its file that is always the same for
/// the same question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    /// The name: letters, digits, a hyphen and a dot.
    pub name: String,
    /// The text, which [`RevocationCache::restore`](super::RevocationCache::restore) takes.
    pub text: String,
}

impl KeptAnswer {
    pub(super) fn of_response(
        certificate: &Certificate,
        issuer: &Certificate,
        allow_sha1: bool,
        response: &[u8],
    ) -> Self {
        let text = [
            certificate.to_pem(),
            issuer.to_pem(),
            pem::block(RESPONSE_LABEL, response),
        ];
        let about = question(&certificate.thumbprint_sha256(), issuer, allow_sha1);
        Self::new("ocsp", &about, text.concat())
    }

    pub(super) fn of_list(url: &str, issuer: &Certificate, allow_sha1: bool, list: &[u8]) -> Self {
        let body = match std::str::from_utf8(list) {
            Ok(text) if pem::looks_like_pem(list) => text.to_owned(),
            _ => pem::block(LIST_LABEL, list),
        };
        let text = format!("{FROM}{url}\n{}{body}", issuer.to_pem());
        let url = crate::digest::sha256(url.as_bytes());
        Self::new("crl", &question(&url, issuer, allow_sha1), text)
    }

    fn new(kind: &str, question: &[u8], text: String) -> Self {
        let digest = crate::digest::sha256(question);
        let digest = crate::hexadecimal::encode(&digest[..16]);
        Self {
            name: format!("{kind}-{digest}.pem"),
            text,
        }
    }
}

/// What tells the question from others.
fn question(about: &[u8; 32], issuer: &Certificate, allow_sha1: bool) -> Vec<u8> {
    let issuer = issuer.thumbprint_sha256();
    [about.as_slice(), &issuer, &[u8::from(allow_sha1)]].concat()
}

/// What a kept text holds; nobody has verified it.
pub(super) enum Restored {
    Response {
        certificate: Certificate,
        issuer: Certificate,
        response: Vec<u8>,
    },
    List {
        url: String,
        issuer: Certificate,
        list: Vec<u8>,
    },
}

impl Restored {
    pub(super) fn read(text: &[u8]) -> Result<Self, AnswerError> {
        let blocks = pem::blocks(text).map_err(AnswerError::Malformed)?;
        let certificates: Vec<Certificate> = blocks
            .iter()
            .filter_map(Certificate::from_pem_block)
            .collect::<Result<_, _>>()
            .map_err(AnswerError::Malformed)?;
        let body = blocks
            .iter()
            .find(|block| [RESPONSE_LABEL, LIST_LABEL].contains(&block.label));
        match (certificates.as_slice(), body) {
            ([certificate, issuer], Some(block)) if block.label == RESPONSE_LABEL => {
                Ok(Self::Response {
                    certificate: certificate.clone(),
                    issuer: issuer.clone(),
                    response: block.octets.expose().clone(),
                })
            }
            ([issuer], Some(block)) if block.label == LIST_LABEL => {
                let first = text.split(|&byte| byte == b'\n').next();
                let url = first.and_then(|line| line.strip_prefix(FROM.as_bytes()));
                let url = url.and_then(|url| std::str::from_utf8(url).ok());
                Ok(Self::List {
                    url: url.ok_or(AnswerError::NotAsked)?.to_owned(),
                    issuer: issuer.clone(),
                    list: block.octets.expose().clone(),
                })
            }
            _ => Err(AnswerError::NotAsked),
        }
    }
}
