//! What tokens can be, and how messages name them.

use soapstone_wss::{
    AssertionPolicy, AssertionProtection, ConfirmationMethod, ConversationVersion, DerivedKeyForm,
    DerivedKeyPolicy, HolderUse, KerberosForm, KerberosPolicy, KeyBinding, KeyReference,
    PasswordKind, Policy, Presence, SamlVersion,
};

use crate::names::SecurityPolicyVersion;
use crate::problem::{PolicyProblem, ProblemKind};
use crate::requirements::{
    AlgorithmSuite, Binding, DerivedKeyDemand, IssuedKey, IssuedToken, PasswordDemand,
    ReferenceDemand, Requirements, Token, TokenKind, Wss,
};

/// A token that cannot be what the policy wants it to be.
pub(super) fn refused(token: &Token, reason: &'static str) -> PolicyProblem {
    PolicyProblem::at(
        &token.name,
        &token.place,
        ProblemKind::NotSupported { reason },
    )
}

/// Checks that a token is a certificate of a kind that messages carry, or the key of one.
pub(super) fn certificate(token: &Token, problems: &mut Vec<PolicyProblem>) -> bool {
    let form = match &token.kind {
        TokenKind::X509 { form } => form,
        TokenKind::KeyValue { .. } => return key_value(token, problems),
        _ => {
            problems.push(refused(token, why_not(token)));
            return false;
        }
    };
    let known = |form: &String| form.contains("V3") || form.contains("PkiPath");
    if !form.as_ref().is_none_or(known) {
        let reason = "certificates are X.509 v3, alone or as a PkiPath";
        problems.push(refused(token, reason));
        return false;
    }
    if token.issuer.is_some() {
        problems.push(refused(token, ISSUERS));
        return false;
    }
    true
}

/// Checks that nothing is said of a key that is written out but the key (WS-SecurityPolicy 1.3,
/// 5.4.11). Whose it is, the certificate says that the endpoint knows for it.
fn key_value(token: &Token, problems: &mut Vec<PolicyProblem>) -> bool {
    let wrong = [
        (token.issuer.is_some(), ISSUERS),
        (
            !token.references.is_empty(),
            "a key that is written out is named by itself alone",
        ),
    ];
    let found = wrong.into_iter().find(|(is_wrong, _)| *is_wrong);
    if let Some((_, reason)) = found {
        problems.push(refused(token, reason));
    }
    found.is_none()
}

/// What is accepted of an assertion that a policy wants, as far as the policy says it: whose it may
/// be, and for whom, is for the endpoint to say.
pub(super) fn assertion(
    token: &Token,
    holder: HolderUse,
    protection: AssertionProtection,
    policy: &Policy,
    problems: &mut Vec<PolicyProblem>,
) -> Option<AssertionPolicy> {
    let versions = match &token.kind {
        TokenKind::Saml { versions } => versions.clone(),
        TokenKind::Issued(issued) => match issued_versions(token, issued, holder, policy) {
            Ok(versions) => versions,
            Err(reason) => {
                problems.push(refused(token, reason));
                return None;
            }
        },
        _ => {
            problems.push(refused(token, why_not(token)));
            return None;
        }
    };
    let in_requests = token.inclusion.in_requests();
    let wrong = [
        (policy.assertion().is_some(), "a message has one assertion"),
        (
            !in_requests,
            "an assertion that is not in requests says nothing of their senders",
        ),
        (
            token.issuer.is_some(),
            "issuers and claims of assertions are a matter of the endpoint, not of policies",
        ),
        (
            derives_in_vain(token, holder, policy),
            "keys are derived from a symmetric key alone: that of an assertion which protects messages in a symmetric binding, or endorses them",
        ),
    ];
    if let Some((_, reason)) = wrong.into_iter().find(|(is_wrong, _)| *is_wrong) {
        problems.push(refused(token, reason));
        return None;
    }
    let methods = match holder {
        HolderUse::Beside if !has_public_key(token) => vec![ConfirmationMethod::Bearer],
        _ => vec![ConfirmationMethod::HolderOfKey],
    };
    Some(AssertionPolicy {
        versions: match versions.is_empty() {
            true => SamlVersion::ALL.to_vec(),
            false => versions,
        },
        methods,
        holder,
        protection,
        ..AssertionPolicy::default()
    })
}

/// Whether keys are to be derived of an assertion whose key does nothing that a derived key could
/// do: from a private key nothing is derived.
fn derives_in_vain(token: &Token, holder: HolderUse, policy: &Policy) -> bool {
    // WCF demands them of every token, and derives of symmetric keys alone: a private key that
    // endorses shows more than one that is derived.
    let has_key = has_proof_key(token) || has_public_key(token);
    let endorses = holder == HolderUse::Endorses && has_key;
    token.derived_keys.is_some() && !endorses && policy.signs_with() != Some(KeyBinding::Assertion)
}

/// Whether the key of an issued token is a symmetric one by its template.
pub(super) fn has_proof_key(token: &Token) -> bool {
    let symmetric = Some(IssuedKey::SymmetricKey);
    matches!(&token.kind, TokenKind::Issued(issued) if issued.key_type == symmetric)
}

/// Whether the key of an issued token is its holder's public one by its template.
pub(super) fn has_public_key(token: &Token) -> bool {
    let public = Some(IssuedKey::PublicKey);
    matches!(&token.kind, TokenKind::Issued(issued) if issued.key_type == public)
}

/// The versions of SAML that an issued token may have, or why there can be none.
fn issued_versions(
    token: &Token,
    issued: &IssuedToken,
    holder: HolderUse,
    policy: &Policy,
) -> Result<Vec<SamlVersion>, &'static str> {
    if token.references.contains(&ReferenceDemand::External) {
        return Err("messages refer to an assertion that they carry");
    }
    let protects = holder == HolderUse::Signs && policy.uses(KeyBinding::Assertion);
    match (issued.key_type, holder) {
        (Some(IssuedKey::Other), _) => {
            return Err(
                "the key of an issued token is none, a symmetric one, or the public key of its holder",
            );
        }
        (Some(IssuedKey::Bearer), HolderUse::Signs | HolderUse::Endorses) => {
            return Err("the token of a bearer has no key that could sign");
        }
        (Some(IssuedKey::PublicKey), _) if protects => {
            return Err(
                "the key of a token that protects messages in a symmetric binding is symmetric",
            );
        }
        (Some(IssuedKey::SymmetricKey), HolderUse::Beside | HolderUse::Connects) => {
            return Err("a symmetric key that signs nothing proves nobody: let it endorse");
        }
        (Some(IssuedKey::SymmetricKey), HolderUse::Signs) if !protects => {
            return Err("the key of an initiator in an asymmetric binding is no symmetric one");
        }
        _ => {}
    }
    match &issued.token_type {
        None => Ok(Vec::new()),
        Some(Ok(version)) => Ok(vec![*version]),
        Some(Err(_)) => Err("issued tokens are assertions of SAML"),
    }
}

/// What a policy says of a token that another service issues.
fn issued_of(token: &Token) -> Option<&IssuedToken> {
    match &token.kind {
        TokenKind::Issued(issued) => Some(issued),
        _ => None,
    }
}

/// An issued token as the token of the transport, of answers alone or another one than that of
/// requests: only requests have such tokens here.
pub(super) fn refuse_of_answers(
    request: &Requirements,
    response: &Requirements,
    problems: &mut Vec<PolicyProblem>,
) {
    let of_transport = |message: &'_ Requirements| match &message.binding {
        Some(Binding::Transport(binding)) => binding.token.clone(),
        _ => None,
    };
    let (there, back) = (of_transport(request), of_transport(response));
    let Some(token) = back else {
        return;
    };
    let wanted = issued_of(&token);
    if wanted.is_some() && wanted != there.as_ref().and_then(issued_of) {
        let reason =
            "the issued token of a transport is that of requests: write it for both messages";
        problems.push(refused(&token, reason));
    }
}

/// Whether the client shows the key of an issued token by its certificate, where that is the token
/// of the transport: unless the token is a bearer's by its template. A template that names no key
/// asks for nothing weaker.
pub(super) fn shows_certificate(token: &Token) -> bool {
    let bearer = Some(IssuedKey::Bearer);
    issued_of(token).is_some_and(|issued| issued.key_type != bearer)
}

/// The first token of requests that another service issues, and what the policy says of it.
pub(super) fn issued(request: &Requirements) -> Option<(&Token, &IssuedToken)> {
    let supporting = request.supporting.iter().flat_map(|one| &one.tokens);
    let initiator = match &request.binding {
        Some(Binding::Asymmetric(binding)) => binding.initiator_signature.as_ref(),
        Some(Binding::Symmetric(binding)) => binding.signature.as_ref(),
        Some(Binding::Transport(binding)) => binding.token.as_ref(),
        None => None,
    };
    let mut tokens = initiator.into_iter().chain(supporting);
    tokens.find_map(|token| Some((token, issued_of(token)?)))
}

/// Why a certificate, of a message or of a connection, cannot be one of a particular issuer.
pub(super) const ISSUERS: &str =
    "issuers and claims are a matter of trust anchors, not of policies";

/// Why a token that is to be protected cannot stand inside of the reference to it.
pub(super) const TOKEN_INSIDE: &str =
    "a token inside of the reference to it is neither signed nor encrypted by itself";

/// Where a Kerberos token may be.
const KERBEROS: &str = "a Kerberos token protects messages in a symmetric binding, endorses them, or says who sends over a connection that protects them";

/// What messages have of a Kerberos token, and how they name it.
pub(super) fn kerberos(
    token: &Token,
    carried: bool,
    problems: &mut Vec<PolicyProblem>,
) -> Option<KerberosPolicy> {
    let TokenKind::Kerberos { form } = token.kind else {
        problems.push(refused(token, why_not(token)));
        return None;
    };
    let known = |one: &ReferenceDemand| {
        matches!(
            one,
            ReferenceDemand::KeyIdentifier | ReferenceDemand::Internal
        )
    };
    let wrong = [
        (
            token.issuer.is_some(),
            "issuers and claims of Kerberos tokens are a matter of the endpoint, not of policies",
        ),
        (
            !token.references.iter().all(known),
            "a Kerberos token is referred to in the message, or by the SHA-1 of its bytes",
        ),
        (
            !token.inclusion.in_requests(),
            "a Kerberos token that is not in requests begins no session",
        ),
    ];
    if let Some((_, reason)) = wrong.into_iter().find(|(is_wrong, _)| *is_wrong) {
        problems.push(refused(token, reason));
        return None;
    }
    Some(KerberosPolicy {
        form: form.unwrap_or(KerberosForm::Gss),
        carried,
        by_identifier: token.references.contains(&ReferenceDemand::KeyIdentifier),
    })
}

/// Why a kind of token is not supported here.
pub(super) fn why_not(token: &Token) -> &'static str {
    match (&token.kind, &*token.name.local) {
        (TokenKind::Issued(_), _) => {
            "a token that another service issues is the initiator's or that of the transport, protects messages in a symmetric binding, or is a supporting one"
        }
        (_, "RelToken") => "rights expressions are not supported",
        (_, "SpnegoContextToken") => "SPNEGO is not supported",
        (_, "RsaToken") => "a bare key proves nobody",
        (_, "SslContextToken") => "TLS within SOAP messages is not supported",
        (TokenKind::Username { .. }, _) => {
            "a user's password gives the key of a symmetric binding, or one that endorses"
        }
        (TokenKind::Https { .. }, _) => "HTTPS protects connections, not messages",
        (TokenKind::X509 { .. }, _) => "a certificate cannot be used for this",
        (TokenKind::KeyValue { .. }, _) => "a key that is written out cannot be used for this",
        (TokenKind::SecureConversation { .. } | TokenKind::SecurityContext { .. }, _) => {
            "a security context protects messages in a symmetric binding, or endorses them"
        }
        (TokenKind::Kerberos { .. }, _) => KERBEROS,
        (TokenKind::Saml { .. }, _) => {
            "an assertion is the initiator's token, protects messages in a symmetric binding, or is a supporting token"
        }
        (TokenKind::Other, _) => "tokens of this kind are not supported",
    }
}

/// How messages name a certificate that they carry, or do not carry.
pub(super) fn reference(
    token: &Token,
    included: bool,
    wss: Option<&Wss>,
    problems: &mut Vec<PolicyProblem>,
) -> KeyReference {
    match token.kind {
        TokenKind::KeyValue { rsa: true } => return KeyReference::RsaKeyValue,
        TokenKind::KeyValue { rsa: false } => return KeyReference::KeyValue,
        _ => {}
    }
    let demanded = |demand: ReferenceDemand| token.references.contains(&demand);
    if demanded(ReferenceDemand::External) {
        problems.push(refused(
            token,
            "certificates are not fetched from elsewhere",
        ));
    }
    if demanded(ReferenceDemand::Embedded) {
        return KeyReference::Embedded;
    }
    if included {
        return match &token.kind {
            TokenKind::X509 { form: Some(form) } if form.contains("PkiPath") => {
                KeyReference::PkiPath
            }
            // The id of an assertion identifies its holder's key (SAML Token Profile 1.1.1, 3.4).
            // By it token services have theirs named, and services of Metro find no
            // other name.
            TokenKind::Issued(_) => KeyReference::SubjectKeyIdentifier,
            TokenKind::Saml { .. } if demanded(ReferenceDemand::KeyIdentifier) => {
                KeyReference::SubjectKeyIdentifier
            }
            _ => KeyReference::Direct,
        };
    }
    if demanded(ReferenceDemand::IssuerSerial) {
        return KeyReference::IssuerSerial;
    }
    if demanded(ReferenceDemand::KeyIdentifier) {
        return KeyReference::SubjectKeyIdentifier;
    }
    if demanded(ReferenceDemand::Thumbprint) {
        return KeyReference::Thumbprint;
    }
    // Nothing demanded: what the other side says that it understands.
    match wss {
        Some(wss) if wss.issuer_serial => KeyReference::IssuerSerial,
        Some(wss) if wss.key_identifier => KeyReference::SubjectKeyIdentifier,
        Some(wss) if wss.thumbprint => KeyReference::Thumbprint,
        _ => KeyReference::IssuerSerial,
    }
}

/// That keys are derived from the token's, if it says so.
pub(super) fn derived_keys(
    token: &Token,
    suite: Option<&AlgorithmSuite>,
) -> Option<DerivedKeyPolicy> {
    let demand = token.derived_keys?;
    let version = match &token.kind {
        TokenKind::SecureConversation { version, .. } | TokenKind::SecurityContext { version } => {
            *version
        }
        _ => match token.version {
            SecurityPolicyVersion::V11 => ConversationVersion::February2005,
            _ => ConversationVersion::V13,
        },
    };
    Some(DerivedKeyPolicy {
        version,
        form: match demand {
            DerivedKeyDemand::Either | DerivedKeyDemand::Explicit => DerivedKeyForm::Explicit,
            DerivedKeyDemand::Implied => DerivedKeyForm::Implied,
        },
        exclusive: demand != DerivedKeyDemand::Either,
        signature_length: suite.map_or(16, AlgorithmSuite::signature_key_length),
    })
}

/// Checks that a token names a user from whose password keys can be derived: it tells no password
/// (UsernameToken Profile 1.1.1, 4).
pub(super) fn user_with_key(token: &Token, problems: &mut Vec<PolicyProblem>) -> bool {
    let TokenKind::Username {
        password,
        created,
        nonce,
    } = &token.kind
    else {
        return false;
    };
    let wrong = [
        (
            !token.inclusion.in_requests(),
            "a key from a password needs the token that says how it is derived: let messages carry it",
        ),
        (
            *password == PasswordDemand::Hash,
            "a token that keys are derived from holds no password",
        ),
        (
            *created || *nonce,
            "a token that keys are derived from has a salt, and neither nonce nor time",
        ),
        (
            token.issuer.is_some(),
            "issuers and claims of users are not checked",
        ),
    ];
    let found = wrong.into_iter().find(|(is_wrong, _)| *is_wrong);
    if let Some((_, reason)) = found {
        problems.push(refused(token, reason));
    }
    found.is_none()
}

/// Which password a user proves; `None` with a problem if it is none that can be checked.
pub(super) fn password(token: &Token, problems: &mut Vec<PolicyProblem>) -> Option<PasswordKind> {
    let TokenKind::Username { password, .. } = &token.kind else {
        return None;
    };
    if token.derived_keys.is_some() {
        let reason = "a user whose token signs nothing has no use for derived keys: let it endorse";
        problems.push(refused(token, reason));
        return None;
    }
    if token.issuer.is_some() {
        problems.push(refused(
            token,
            "issuers and claims of users are not checked",
        ));
        return None;
    }
    match password {
        PasswordDemand::Hash => Some(PasswordKind::Digest),
        PasswordDemand::None => Some(PasswordKind::Absent),
        PasswordDemand::Text => Some(PasswordKind::Text),
    }
}

/// Whether tokens have a nonce and a time: where the policy demands them (WS-SecurityPolicy 1.3,
/// 5.4.1), or a digest needs them.
pub(super) fn items(token: &Token, password: PasswordKind) -> (Presence, Presence) {
    let TokenKind::Username { created, nonce, .. } = &token.kind else {
        return (Presence::Absent, Presence::Absent);
    };
    let presence = |demanded: &bool| match (*demanded, password) {
        (true, _) => Presence::Demanded,
        (false, PasswordKind::Digest) => Presence::Sent,
        (false, _) => Presence::Absent,
    };
    (presence(nonce), presence(created))
}
