//! `wsse:BinarySecurityToken` with an AP-REQ (Kerberos Token Profile 1.1, 3.2).
//!
//! It names a key that both parties hold, and proves its client if the host has accepted it. The
//! one rule: the host's word is about the bytes of one token. Another token beside it is refused.

use soapstone_xml::Element;

use super::context::sessions;
use super::kind::{Claim, GivenKey, Kind, Proving, broken};
use crate::attributes::only_attributes;
use crate::digest;
use crate::evidence::KerberosEvidence;
use crate::kerberos::{KerberosForm, KerberosName};
use crate::key_locator::KeyLocator;
use crate::marks::{End, ReplayKey};
use crate::names::{
    GSS_KERBEROS_AP_REQ, GSS_KERBEROS_AP_REQ_1510, GSS_KERBEROS_AP_REQ_4120, KERBEROS_AP_REQ,
    KERBEROS_AP_REQ_1510, KERBEROS_AP_REQ_4120, KERBEROS_AP_REQ_SHA1, WSSE,
};
use crate::policy::Policy;
use crate::rejected::Rejected;
use crate::supporting::SupportingToken;
use crate::values::{base64_octets, only_base64};

/// The kind.
pub(super) static KIND: Kind = Kind {
    local: "BinarySecurityToken",
    namespaces: &[WSSE],
    value_types: &[
        GSS_KERBEROS_AP_REQ,
        KERBEROS_AP_REQ,
        GSS_KERBEROS_AP_REQ_1510,
        KERBEROS_AP_REQ_1510,
        GSS_KERBEROS_AP_REQ_4120,
        KERBEROS_AP_REQ_4120,
    ],
    single: Some("Kerberos tokens"),
    has_type: |token, claimed| token.attribute("", "ValueType").as_deref() == Some(claimed),
    identifiers: &[(KERBEROS_AP_REQ_SHA1, KeyLocator::KerberosSha1)],
    key: GivenKey::Secret(|token| {
        read(token).map(|(_, bytes)| KeyLocator::KerberosSha1(sha1(&bytes).to_vec()))
    }),
    prove: Some(prove),
    is_used_by: |policy| policy.kerberos().is_some(),
    wrong_demands,
    claims: |token| {
        let (form, bytes) = read(token)?;
        let sha1 = soapstone_crypto::hexadecimal::encode(&sha1(&bytes));
        Ok(vec![
            Claim::new("type", form.token_type()),
            Claim::new("bytes", bytes.len().to_string()),
            Claim::new("SHA-1", sha1),
        ])
    },
    ..Kind::named("Kerberos")
};

/// Of tokens whose key does nothing.
fn wrong_demands(policy: &Policy) -> Vec<&'static str> {
    let (endorsing, protects) = sessions(policy);
    let idle = policy.supporting.iter();
    let idle = idle.filter(|token| matches!(token, SupportingToken::Kerberos(_)));
    let idle = idle.count();
    let rules = [
        (
            idle > 1 || idle == 1 && (protects || endorsing > 0),
            "a message has one Kerberos token",
        ),
        (
            idle == 1 && !policy.is_by_connection(),
            "a Kerberos token whose key does nothing is tied to no message: a connection has to protect both, or its key endorse",
        ),
    ];
    broken(rules).collect()
}

/// The SHA-1 by which later messages name a token.
pub fn sha1(token: &[u8]) -> [u8; 20] {
    digest::sha1([token])
}

fn malformed(problem: impl Into<String>) -> Rejected {
    Rejected::Malformed {
        element: "wsse:BinarySecurityToken",
        problem: problem.into(),
    }
}

/// The form and the bytes of a token.
fn read(token: Element<'_>) -> Result<(KerberosForm, Vec<u8>), Rejected> {
    only_attributes(token, &["EncodingType", "ValueType"]).map_err(malformed)?;
    only_base64(token, "token")?;
    let value_type = token.attribute("", "ValueType").unwrap_or_default();
    let form = KerberosForm::of_type(&value_type).ok_or_else(|| Rejected::TokenUnsupported {
        found: format!("token type `{value_type}`"),
    })?;
    let text = token.text_strict();
    let text = text.ok_or_else(|| malformed("expected text"))?;
    let bytes = base64_octets(&text, "wsse:BinarySecurityToken")?;
    match bytes.is_empty() {
        true => Err(malformed("expected an AP-REQ, found nothing")),
        false => Ok((form, bytes)),
    }
}

/// What a token is looked up by, if it can be read.
pub(crate) fn name(token: Element<'_>) -> Option<KerberosName> {
    let (form, bytes) = read(token).ok()?;
    Some(KerberosName::Token { form, bytes })
}

/// Proves the client of the token, which the host has accepted.
fn prove(token: Element<'_>, with: &mut Proving<'_>) -> Result<(), Rejected> {
    let (form, bytes) = read(token)?;
    if with.kerberos.is_some_and(|wanted| wanted.form != form) {
        return Err(Rejected::TokenUnsupported {
            found: format!("token type `{}`", form.token_type()),
        });
    }
    if with.evidence.kerberos.is_some() {
        return KIND
            .single
            .map_or(Ok(()), |what| Err(Rejected::TooMany { what, limit: 1 }));
    }
    let found = sha1(&bytes);
    let session = with.facts.kerberos.as_ref();
    let session = session.filter(|session| session.sha1 == found);
    let authenticator = session.and_then(|session| Some((session, session.authenticator?)));
    let (session, authenticator) = authenticator.ok_or(Rejected::KerberosUnknown)?;
    if session.expires <= with.now {
        return Err(Rejected::KerberosExpired {
            expired: session.expires,
        });
    }
    with.marks.push(ReplayKey {
        key: authenticator,
        until: session.authenticator_ends,
        end: End::Counted,
    });
    with.evidence.kerberos = Some(KerberosEvidence {
        client: session.client.clone(),
    });
    Ok(())
}
