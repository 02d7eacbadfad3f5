//! The names of actors in the assertions of this service.
//!
//! ```text
//! user NAME
//! certificate DISTINGUISHED-NAME
//! kerberos PRINCIPAL
//! subject ISSUER FORMAT NAME
//! ```
//!
//! The one rule: an actor is a party, so that its name here holds its kind and, where another one
//! named it, the issuer. Two parties never have one name, whatever they are called: issuer and
//! format have no space of their own, and all behind the last separator is the name.

use super::rules::{Party, format_of, has_lasting_name};
use soapstone_crypto::DistinguishedName;

const USER: &str = "user";
const CERTIFICATE: &str = "certificate";
const KERBEROS: &str = "kerberos";
const SUBJECT: &str = "subject";

impl Party {
    /// Its name among the actors of an assertion.
    pub(super) fn as_actor(&self) -> String {
        match self {
            Self::User(name) => format!("{USER} {name}"),
            Self::Certificate { subject, .. } => format!("{CERTIFICATE} {subject}"),
            Self::Kerberos(principal) => format!("{KERBEROS} {principal}"),
            Self::Foreign(name) => {
                let issuer = escaped(name.qualifier.as_deref().unwrap_or_default());
                let format = escaped(format_of(name));
                format!("{SUBJECT} {issuer} {format} {}", name.value)
            }
        }
    }

    /// Whether an actor of that name is this party. A name of another form is nobody's, and so is
    /// the name that a subject has for a login.
    pub(super) fn is_named_actor(&self, named: &str) -> bool {
        match self {
            Self::Certificate { name, .. } => {
                let of_certificate = named
                    .strip_prefix(CERTIFICATE)
                    .and_then(|rest| rest.strip_prefix(' '));
                let known = of_certificate.and_then(|it| DistinguishedName::parse(it).ok());
                known.is_some_and(|known| known.matches(name))
            }
            Self::Foreign(name) if !has_lasting_name(name) => false,
            _ => self.as_actor() == named,
        }
    }
}

/// A text without spaces, from which it could be had again.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '%' => out.push_str("%25"),
            letter if letter.is_whitespace() => {
                let mut bytes = [0; 4];
                for byte in letter.encode_utf8(&mut bytes).bytes() {
                    out.push_str(&format!("%{byte:02X}"));
                }
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use soapstone_wss::NameIdentifier;

    use super::super::rules::{TRANSIENT_NAMES, UNSPECIFIED};
    use super::*;

    fn foreign(issuer: &str, format: Option<&str>, name: &str) -> Party {
        let mut identifier = NameIdentifier::default();
        identifier.value = name.to_owned();
        identifier.format = format.map(str::to_owned);
        identifier.qualifier = Some(issuer.to_owned());
        Party::Foreign(identifier)
    }

    fn certificate(subject: &str) -> Party {
        Party::Certificate {
            subject: subject.to_owned(),
            name: DistinguishedName::parse(subject).expect("a name"),
        }
    }

    /// Parties whose names are chosen so that texts put together would meet.
    #[test]
    fn no_two_parties_have_one_name_as_actors() {
        let idp = "https://idp.example";
        let email = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
        let told = foreign(idp, None, "alice").as_actor();
        let parties = [
            Party::User("alice".to_owned()),
            Party::User("CN=alice".to_owned()),
            Party::User("certificate CN=alice".to_owned()),
            Party::User(told.clone()),
            Party::User(told.replacen("subject ", "", 1)),
            certificate("CN=alice"),
            Party::Kerberos("alice".to_owned()),
            Party::Kerberos("CN=alice".to_owned()),
            foreign(idp, None, "alice"),
            foreign(idp, Some(email), "alice"),
            foreign("https://other.example", None, "alice"),
            foreign(&format!("{idp} {email}"), None, "alice"),
            foreign(&format!("{idp}%20{email}"), None, "alice"),
            foreign(idp, None, &format!("{email} alice")),
            foreign(idp, Some(&format!("{email} {UNSPECIFIED}")), "alice"),
        ];
        for (at, one) in parties.iter().enumerate() {
            for (with, other) in parties.iter().enumerate() {
                let named = one.as_actor();
                assert_eq!(
                    other.is_named_actor(&named),
                    at == with,
                    "{other:?}: {named}"
                );
            }
        }
    }

    #[test]
    fn a_name_without_a_format_has_the_unspecified_one() {
        let one = foreign("https://idp.example", None, "alice");
        let other = foreign("https://idp.example", Some(UNSPECIFIED), "alice");
        assert!(one.is_named_actor(&other.as_actor()));
    }

    /// RFC 4517, 4.2.15: names of certificates are compared as such.
    #[test]
    fn the_name_of_a_certificate_is_compared_as_one() {
        let one = certificate("CN=Front,O=Example");
        assert!(one.is_named_actor("certificate CN=front, O=Example"));
        assert!(!one.is_named_actor("CN=Front,O=Example"));
        assert!(!one.is_named_actor("certificateCN=Front,O=Example"));
    }

    /// SAML Core 2.0, 8.3.8.
    #[test]
    fn a_name_for_one_login_is_no_actor_with_the_next_one() {
        let one = foreign("https://idp.example", Some(TRANSIENT_NAMES), "alice");
        assert!(!one.is_named_actor(&one.as_actor()));
    }
}
