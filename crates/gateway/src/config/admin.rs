//! `admin`: where health, metrics, refused messages and the console are served, and for whom.
//!
//! The rule kept here: of a token the gateway knows its digest alone.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use http::HeaderValue;
use rustls::pki_types::CertificateDer;
use soapstone::config::{Located, Table};
use soapstone::crypto::trust::OnlineRevocation;
use soapstone::crypto::{Certificate, Digest, DigestAlgorithm, DistinguishedName, base64, digest};
use soapstone::endpoint::ExpiringFile;
use soapstone_store::tls_revocation::TlsRevocation;

use super::address::read_address;
use super::tls::{Answering, ServerTls, read_server};

/// Fewest characters of a token: nobody guesses 128 bits, written in hexadecimal digits.
const SHORTEST: usize = 32;

/// Where and for whom the gateway tells of itself.
#[derive(Clone, Debug)]
pub(crate) struct AdminConfig {
    pub(crate) listen: SocketAddr,
    pub(crate) access: AdminAccess,
    /// TLS, where the listener speaks it.
    pub(crate) tls: Option<AdminTls>,
}

/// TLS of the listener, and whose certificates let in.
#[derive(Clone)]
pub(crate) struct AdminTls {
    pub(crate) answering: Answering,
    /// Who issues the certificates of askers.
    authorities: Vec<CertificateDer<'static>>,
    /// Those that askers are shown.
    certificates: Vec<ExpiringFile>,
    /// What asks whether the certificates of askers were revoked.
    pub(crate) revocation: Option<Arc<TlsRevocation>>,
    /// Whether everybody must show a certificate.
    demands: bool,
    /// Whose certificates let in; none where nobody is asked for one.
    subjects: Vec<String>,
}

impl fmt::Debug for AdminTls {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AdminTls")
            .field("subjects", &self.subjects)
            .finish_non_exhaustive()
    }
}

/// How somebody was let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admitted {
    /// With a token or a certificate.
    Proven,
    /// As everybody who reaches the listener.
    Anybody,
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAdmitted {
    /// The token is missing, or it is another one.
    Token,
    /// The certificate is of nobody who may ask.
    Subject,
}

impl AdminConfig {
    /// The certificates that askers are shown.
    pub(super) fn certificates(&self) -> Vec<ExpiringFile> {
        let tls = self.tls.as_ref();
        tls.map(|tls| tls.certificates.clone()).unwrap_or_default()
    }

    /// What asks about the certificates of askers: a cache is to be attached.
    pub(super) fn online(&self) -> Option<&Arc<OnlineRevocation>> {
        self.tls.as_ref()?.revocation.as_ref()?.online()
    }

    /// Whether what a connection has shown is judged as it was judged when it was made, under what
    /// the listener was then. Subjects and tokens are looked at with each request.
    pub(crate) fn judges_as(&self, former: &Self) -> bool {
        match (&self.tls, &former.tls) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(now), Some(former)) => {
                now.authorities == former.authorities
                    && now.revocation.is_some() == former.revocation.is_some()
            }
        }
    }

    /// Lets in whoever shows what is demanded. `certificate` was verified with the connection.
    ///
    /// A listener that demands certificates and has a token demands both. Where certificates are
    /// optional, one of the two is enough.
    ///
    /// # Errors
    /// What is missing.
    pub(crate) fn admit(
        &self,
        certificate: Option<&Certificate>,
        authorization: Option<&HeaderValue>,
    ) -> Result<Admitted, NotAdmitted> {
        let has_token = self.access.admits(authorization);
        let Some(tls) = self.tls.as_ref().filter(|tls| !tls.subjects.is_empty()) else {
            return match (has_token, self.access.wants_token()) {
                (false, _) => Err(NotAdmitted::Token),
                (true, true) => Ok(Admitted::Proven),
                (true, false) => Ok(Admitted::Anybody),
            };
        };
        let is_named = certificate.is_some_and(|shown| {
            let mut subjects = tls.subjects.iter();
            subjects.any(|subject| shown.matches_subject(subject))
        });
        match (tls.demands, is_named, has_token) {
            (true, true, true) | (false, true, _) => Ok(Admitted::Proven),
            // It is there: `read_admin` demands it.
            (false, false, true) if self.access.wants_token() => Ok(Admitted::Proven),
            (true, false, _) => Err(NotAdmitted::Subject),
            (false, false, _) if certificate.is_some() && authorization.is_none() => {
                Err(NotAdmitted::Subject)
            }
            (true, true, false) | (false, false, _) => Err(NotAdmitted::Token),
        }
    }

    /// For everybody who reaches this address.
    pub(super) fn open(listen: SocketAddr) -> Self {
        let access = AdminAccess {
            token: None,
            console: true,
        };
        let tls = None;
        Self {
            listen,
            access,
            tls,
        }
    }
}

/// Who may ask.
#[derive(Clone, Debug, Default)]
pub struct AdminAccess {
    /// The digest of the token; without one, everybody who reaches the listener.
    token: Option<Digest>,
    /// Whether there is a console.
    pub(crate) console: bool,
}

impl AdminAccess {
    /// Whether the value of an `Authorization` header has the token: as `Bearer`, or as the
    /// password of `Basic`, which browsers send.
    pub fn admits(&self, authorization: Option<&HeaderValue>) -> bool {
        let Some(expected) = &self.token else {
            return true;
        };
        let given = authorization.and_then(|value| presented(value.to_str().ok()?));
        let given = given.and_then(|token| digest(DigestAlgorithm::Sha256, &token).ok());
        given.is_some_and(|given| expected.matches(given.as_ref()))
    }

    /// Whether it takes a token to ask.
    pub fn wants_token(&self) -> bool {
        self.token.is_some()
    }
}

/// The token in the value of an `Authorization` header (RFC 6750, 2.1; RFC 7617, 2).
fn presented(value: &str) -> Option<Vec<u8>> {
    let (scheme, rest) = value.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.as_bytes().to_vec());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let mut pair = Vec::new();
    base64::decode(rest.as_bytes(), &mut pair).ok()?;
    let colon = pair.iter().position(|byte| *byte == b':')?;
    Some(pair[colon + 1..].to_vec())
}

/// Reads `[admin]`.
pub(super) fn read_admin(mut table: Table<'_>) -> Option<AdminConfig> {
    if !table.has("listen") {
        table.missing("listen", "say where to listen: listen = \"127.0.0.1:9901\"");
    }
    let listen = read_address(&mut table, "listen");
    let console = table.boolean("console").is_none_or(|given| given.value);
    let has_tls = table.has("tls");
    let tls = table.table("tls").and_then(read_server);
    // Through TLS a token is in the clear for nobody.
    let access = read_access(&mut table, listen.filter(|_| !has_tls));
    let subjects = read_subjects(&mut table);
    let tls = match (tls, has_tls) {
        (None, false) => {
            if let Some(place) = subjects.as_ref().and(table.place_of("subjects")) {
                table.report_with_hint(
                    place,
                    "`subjects` needs certificates, and the listener speaks no TLS",
                    WHOSE,
                );
            }
            Some(None)
        }
        (None, true) => None,
        (Some(tls), _) => read_tls(&table, tls, subjects.as_deref(), access.as_ref()).map(Some),
    };
    table.finish();
    Some(AdminConfig {
        listen: listen?,
        access: AdminAccess { console, ..access? },
        tls: tls?,
    })
}

const WHOSE: &str = "say who issues them: tls = { certificate = \"admin.cert.pem\", key = \"admin.key.pem\", client_ca = \"ca.cert.pem\" }";

/// Who may ask by certificate. What is no name is reported.
fn read_subjects(table: &mut Table<'_>) -> Option<Vec<Located<String>>> {
    let subjects = table.strings("subjects")?;
    if subjects.is_empty() {
        let place = table.place_of("subjects").unwrap_or_default();
        table.report(place, "`subjects` names nobody");
    }
    for subject in &subjects {
        // What it is instead may be a secret that was put into the wrong place.
        if DistinguishedName::parse(&subject.value).is_err() {
            table.report_with_hint(
                subject.place,
                "a subject of a certificate must be a distinguished name, found something else",
                "`soapstone keys list FILE` prints the subject of a certificate",
            );
        }
    }
    Some(subjects)
}

/// TLS of the listener with those who may ask. `None` when something is wrong, which is reported.
fn read_tls(
    table: &Table<'_>,
    tls: ServerTls,
    subjects: Option<&[Located<String>]>,
    access: Option<&AdminAccess>,
) -> Option<AdminTls> {
    let place = table.place_of("subjects").or(table.place_of("tls"));
    let place = place.unwrap_or_default();
    let wrong = match (tls.asks_for_certificate, subjects) {
        (true, None) => Some((
            "`client_ca` needs `subjects`: an authority issues certificates for others, too",
            "say whose certificates let in: subjects = [\"CN=operator,O=Example\"]",
        )),
        (false, Some(_)) => Some(("`subjects` needs `client_ca` in `tls`", WHOSE)),
        _ if tls.asks_for_certificate
            && !tls.demands_certificate
            && access.is_some_and(|access| !access.wants_token()) =>
        {
            Some((
                "optional certificates need a token for whoever shows none",
                "name the file with the token: token_file = \"admin.token\"",
            ))
        }
        _ => None,
    };
    if let Some((message, hint)) = wrong {
        table.report_with_hint(place, message, hint);
        return None;
    }
    let subjects = subjects.unwrap_or_default();
    Some(AdminTls {
        answering: tls.answering,
        authorities: tls.authorities,
        certificates: tls.certificates,
        revocation: tls.revocation,
        demands: tls.demands_certificate,
        subjects: subjects.iter().map(|it| it.value.clone()).collect(),
    })
}

/// Reads who may ask at an address: whoever shows the token of the table. What is wrong with it has
/// been reported where there is nothing.
pub fn read_access(table: &mut Table<'_>, listen: Option<SocketAddr>) -> Option<AdminAccess> {
    let secret = table.secret("token", "token_env", "token_file");
    let given = secret.is_some();
    let token = secret.and_then(|text| {
        let characters = text.value.expose().trim();
        if characters.len() < SHORTEST {
            table.report_with_hint(
                text.place,
                format!(
                    "a token must have {SHORTEST} characters at least, found {}",
                    characters.len()
                ),
                "make one with `openssl rand -hex 32`",
            );
            return None;
        }
        if let Some(address) = listen {
            let host = address.ip().to_string();
            table
                .document()
                .warn_of_clear_secret(text.place, "token", &host);
        }
        digest(DigestAlgorithm::Sha256, characters.as_bytes()).ok()
    });
    let access = AdminAccess {
        token,
        console: false,
    };
    Some(access).filter(|access| access.wants_token() || !given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_taken_as_bearer_and_as_the_password_of_basic_and_in_no_other_way() {
        let token = "0123456789abcdef0123456789abcdef";
        let access = AdminAccess {
            token: digest(DigestAlgorithm::Sha256, token.as_bytes()).ok(),
            console: true,
        };
        let admits =
            |value: &str| access.admits(Some(&HeaderValue::from_str(value).expect("a value")));
        let basic = |pair: String| format!("Basic {}", base64::encode(pair.as_bytes()));
        assert!(admits(&format!("Bearer {token}")));
        assert!(admits(&format!("bearer {token}")));
        assert!(admits(&basic(format!("anybody:{token}"))));
        assert!(admits(&basic(format!(":{token}"))));
        for refused in [
            format!("Bearer {token}0"),
            format!("Bearer {}", &token[1..]),
            format!("Token {token}"),
            basic(token.to_owned()),
            basic(format!("{token}:")),
            "Basic %%%".to_owned(),
            "Bearer".to_owned(),
            token.to_owned(),
        ] {
            assert!(!admits(&refused), "{refused}");
        }
        assert!(!access.admits(None));
        assert!(AdminAccess::default().admits(None));
    }
}
