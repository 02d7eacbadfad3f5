//! The assertions of one exchange policy as text (WS-SecurityPolicy 1.3, 4 to 9).
//!
//! Which key protects decides the binding: certificates an asymmetric one, a key that the request
//! carries or a context a symmetric one, TLS alone a transport binding, and a user alone none. The
//! one rule: a thing that has no assertion is a problem, not a gap.

use soapstone_wss::{
    ConversationVersion, DerivedKeyForm, EncryptedPart, Extent, KeyBinding, KeyReference, Layout,
    Part, PasswordKind, Policy, Presence, ProtectionOrder,
};
use soapstone_xml::escape;

use super::reason::Unwritable;
use super::suites;
use super::version::Version;
use crate::compile::{Conversation, ExchangePolicy, SignatureReading};
use crate::explain;
use crate::names::SecurityPolicyVersion;

/// Writes the assertions of an exchange policy, and of the one that begins its conversation.
pub(super) struct Assertions<'w> {
    pub(super) version: Version,
    pub(super) signatures: SignatureReading,
    pub(super) problems: &'w mut Vec<Unwritable>,
}

/// Which token a binding has for a certificate, and how messages name it.
struct Certificate {
    /// The end of the URI of `sp:IncludeToken`.
    inclusion: &'static str,
    /// How it is named where it is not there.
    named: Option<KeyReference>,
    /// Messages carry it as a `PkiPath`.
    is_path: bool,
}

/// The two directions of messages, by the end of the URI of `sp:IncludeToken` for tokens that are
/// in these alone.
const TO_RECIPIENT: &str = "AlwaysToRecipient";
const TO_INITIATOR: &str = "AlwaysToInitiator";

impl Assertions<'_> {
    /// What is demanded of endpoints, and of messages.
    pub(super) fn of(&mut self, exchange: &ExchangePolicy) -> (String, String) {
        let request = &exchange.request;
        for policy in [request, &exchange.response] {
            self.check(policy);
        }
        let uses = |key| request.uses(key) || exchange.response.uses(key);
        if uses(KeyBinding::Shared) {
            self.problems.push(Unwritable::SharedKey);
            return Default::default();
        }
        if uses(KeyBinding::Kerberos) || uses(KeyBinding::Assertion) {
            return Default::default();
        }
        let protects = [request, &exchange.response]
            .iter()
            .any(|policy| policy.signature().is_some() || policy.encryption().is_some());
        let endpoint = if let Some(conversation) = &exchange.conversation {
            self.conversation(exchange, conversation)
        } else if !protects {
            self.without_keys(exchange)
        } else if uses(KeyBinding::Password) {
            self.by_user(exchange)
        } else if uses(KeyBinding::RequestKey) || uses(KeyBinding::SessionKey) {
            self.symmetric(exchange)
        } else {
            self.asymmetric(exchange)
        };
        let user = self.user(exchange, protects);
        (endpoint + &user, parts(request))
    }

    /// What no binding has words for.
    fn check(&mut self, policy: &Policy) {
        if let Some(actor) = &policy.header.actor {
            let actor = actor.clone();
            self.report(Unwritable::Actor { actor });
        }
        if policy.assertion().is_some() {
            self.report(Unwritable::Assertion);
        }
        if policy.kerberos().is_some() {
            self.report(Unwritable::Kerberos);
        }
        for part in policy.signed_parts().iter() {
            let said = matches!(
                part,
                Part::Body
                    | Part::Timestamp
                    | Part::Header { .. }
                    | Part::Token
                    | Part::UsernameToken
            );
            if !said {
                let part = part.clone();
                self.report(Unwritable::Signed { part });
            }
        }
        for wanted in policy.encrypted_parts() {
            let said = matches!(
                wanted.part,
                Part::Body | Part::Header { .. } | Part::Signature | Part::UsernameToken
            ) && *wanted == EncryptedPart::customary(wanted.part.clone());
            if !said {
                let part = wanted.part.clone();
                self.report(Unwritable::Encrypted { part });
            }
        }
    }

    /// A problem that both directions have is told once.
    fn report(&mut self, problem: Unwritable) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Messages that nothing in themselves protects: on TLS (WS-SecurityPolicy 1.3, 7.3), or with a
    /// user alone.
    fn without_keys(&mut self, exchange: &ExchangePolicy) -> String {
        let demanded = |policy: &Policy| {
            policy
                .header
                .timestamp
                .is_some_and(|timestamp| timestamp.required)
        };
        let Some(transport) = exchange.transport else {
            if demanded(&exchange.request) || demanded(&exchange.response) {
                self.report(Unwritable::Timestamp);
            }
            return String::new();
        };
        let certificate = if transport.client_certificate {
            "<sp:RequireClientCertificate/>"
        } else {
            ""
        };
        let basic = match exchange.http_basic {
            Some(_) => "<sp:HttpBasicAuthentication/>",
            None => "",
        };
        let token = nest(
            "TransportToken",
            &nest("HttpsToken", &format!("{certificate}{basic}")),
        );
        let common = self.common(exchange, demanded(&exchange.request));
        nest("TransportBinding", &(token + &common))
    }

    /// WS-SecurityPolicy 1.3, 7.5.
    fn asymmetric(&mut self, exchange: &ExchangePolicy) -> String {
        let ExchangePolicy {
            request, response, ..
        } = exchange;
        let initiator = self.certificate(signing(request), encrypting(response), TO_RECIPIENT);
        let recipient = self.certificate(signing(response), encrypting(request), TO_INITIATOR);
        let tokens =
            self.party("InitiatorToken", &initiator) + &self.party("RecipientToken", &recipient);
        let timestamp = self.timestamp(request);
        let common = self.common(exchange, timestamp);
        let named = [initiator.named, recipient.named];
        nest("AsymmetricBinding", &(tokens + &common)) + &self.wss(&named)
    }

    /// WS-SecurityPolicy 1.3, 7.4, with a key that the request wraps to the service's certificate.
    fn symmetric(&mut self, exchange: &ExchangePolicy) -> String {
        let request = &exchange.request;
        let named = encrypting(request).or(signing(request));
        let certificate = self.certificate(None, named, TO_INITIATOR);
        let token = self.party("ProtectionToken", &certificate);
        let timestamp = self.timestamp(request);
        let common = self.common(exchange, timestamp);
        let named = [certificate.named, Some(KeyReference::EncryptedKeySha1)];
        nest("SymmetricBinding", &(token + &common)) + &self.wss(&named)
    }

    /// WS-SecurityPolicy 1.3, 7.4 and 5.4.1: keys from the password of a user. Each message has a
    /// token of its own.
    fn by_user(&mut self, exchange: &ExchangePolicy) -> String {
        let request = &exchange.request;
        let derived = derived_keys(request);
        let form = format!("<sp:NoPassword/>{derived}<sp:WssUsernameToken11/>");
        let token = self.token("UsernameToken", "Always", &form);
        let timestamp = self.timestamp(request);
        let common = self.common(exchange, timestamp);
        let binding = nest("ProtectionToken", &token) + &common;
        nest("SymmetricBinding", &binding) + &nest("Wss11", "")
    }

    /// WS-SecurityPolicy 1.3, 7.4 and 5.4.7.
    fn conversation(&mut self, exchange: &ExchangePolicy, conversation: &Conversation) -> String {
        let Some(first) = &conversation.bootstrap else {
            self.report(Unwritable::Bootstrap);
            return String::new();
        };
        let protected = |policy: &Policy| {
            let signature = policy.signature();
            let encryption = policy.encryption();
            signature.is_some_and(|found| found.parts.contains(&Part::Body))
                && encryption.is_some_and(|found| {
                    found.parts.contains(&EncryptedPart::customary(Part::Body))
                })
        };
        if first.transport.is_none() && !(protected(&first.request) && protected(&first.response)) {
            self.report(Unwritable::Bootstrap);
        }
        let (endpoint, messages) = self.of(first);
        let bootstrap = nest(
            "BootstrapPolicy",
            &format!("{endpoint}{messages}{}", trust(conversation.version)),
        );
        let derived = derived_keys(&exchange.request);
        let forbidden: String = [
            (conversation.may_cancel, "<sp:MustNotSendCancel/>"),
            (conversation.may_amend, "<sp:MustNotSendAmend/>"),
            (conversation.may_renew, "<sp:MustNotSendRenew/>"),
        ]
        .into_iter()
        .filter_map(|(allowed, forbidden)| (!allowed).then_some(forbidden))
        .collect();
        // Requests have the token, answers name it.
        let token = self.token(
            "SecureConversationToken",
            TO_RECIPIENT,
            &format!("{derived}{forbidden}{bootstrap}"),
        );
        let timestamp = self.timestamp(&exchange.request);
        let common = self.common(exchange, timestamp);
        let binding = nest(
            "SymmetricBinding",
            &(nest("ProtectionToken", &token) + &common),
        );
        binding + &nest("Wss11", "") + &trust(conversation.version)
    }

    /// A user (WS-SecurityPolicy 1.3, 5.4.1 and 8), which requests alone have.
    fn user(&mut self, exchange: &ExchangePolicy, protects: bool) -> String {
        let request = &exchange.request;
        let Some(username) = request.username() else {
            return String::new();
        };
        let [password] = username.passwords.as_slice() else {
            self.report(Unwritable::Passwords);
            return String::new();
        };
        let has = |part: &Part| *part == Part::UsernameToken;
        let signed = request
            .signature()
            .is_some_and(|signature| signature.parts.iter().any(has));
        let encrypted = request
            .encryption()
            .is_some_and(|encryption| encryption.parts.iter().any(|wanted| has(&wanted.part)));
        if protects && *password == PasswordKind::Text && !encrypted {
            self.report(Unwritable::ClearPassword);
        }
        let kind = match (
            signed || (exchange.transport.is_some() && !protects),
            encrypted,
        ) {
            (false, false) => "SupportingTokens",
            (true, false) => "SignedSupportingTokens",
            (false, true) => "EncryptedSupportingTokens",
            (true, true) => "SignedEncryptedSupportingTokens",
        };
        let password = match password {
            PasswordKind::Digest => "<sp:HashPassword/>",
            PasswordKind::Text => "",
            PasswordKind::Absent => "<sp:NoPassword/>",
        };
        // Items that are sent and not demanded have no assertion: partners may leave them out.
        let items: String = [("Created", username.created), ("Nonce", username.nonce)]
            .into_iter()
            .filter(|(_, presence)| *presence == Presence::Demanded)
            .map(|(item, _)| {
                let namespace = SecurityPolicyVersion::V13.namespace();
                format!("<sp13:{item} xmlns:sp13=\"{namespace}\"/>")
            })
            .collect();
        let form = format!("{password}{items}<sp:WssUsernameToken10/>");
        nest(kind, &self.token("UsernameToken", TO_RECIPIENT, &form))
    }

    /// Whether there is a Timestamp. It is signed if there is one, and then demanded
    /// (WS-SecurityPolicy 1.3, 6.2).
    fn timestamp(&mut self, policy: &Policy) -> bool {
        let demanded = policy
            .header
            .timestamp
            .is_some_and(|timestamp| timestamp.required);
        let signature = policy.signature();
        let signed = signature.is_some_and(|found| found.parts.contains(&Part::Timestamp));
        if demanded != signed {
            self.report(Unwritable::Timestamp);
        }
        demanded
    }

    /// What all bindings have (WS-SecurityPolicy 1.3, 7.1 and 7.2).
    fn common(&mut self, exchange: &ExchangePolicy, timestamp: bool) -> String {
        let request = &exchange.request;
        let suite = suites::assertion(exchange, self.signatures).unwrap_or_else(|| {
            self.report(Unwritable::Suite {
                algorithms: explain::algorithms(request),
                instead: suites::instead_of(&request.suite),
            });
            String::new()
        });
        let layout = match (request.header.layout, self.version.security) {
            (Layout::Strict, _) => "Strict",
            (Layout::Lax, _) => "Lax",
            (Layout::LaxTimestampFirst, SecurityPolicyVersion::V11) => "LaxTimestampFirst",
            (Layout::LaxTimestampLast, SecurityPolicyVersion::V11) => "LaxTimestampLast",
            (Layout::LaxTimestampFirst, _) => "LaxTsFirst",
            (Layout::LaxTimestampLast, _) => "LaxTsLast",
        };
        let signs = |part: &Part| {
            let signature = request.signature();
            signature.is_some_and(|signature| signature.parts.contains(part))
        };
        let encrypts = |part: &Part| {
            let encryption = request.encryption();
            encryption.is_some_and(|found| found.parts.iter().any(|wanted| wanted.part == *part))
        };
        let first = request.order() == ProtectionOrder::EncryptBeforeSigning;
        let options: String = [
            (timestamp, "<sp:IncludeTimestamp/>"),
            (first, "<sp:EncryptBeforeSigning/>"),
            (encrypts(&Part::Signature), "<sp:EncryptSignature/>"),
            (signs(&Part::Token), "<sp:ProtectTokens/>"),
            (
                request.parts.only_entire_headers_and_body,
                "<sp:OnlySignEntireHeadersAndBody/>",
            ),
        ]
        .into_iter()
        .filter_map(|(wanted, option)| wanted.then_some(option))
        .collect();
        nest("AlgorithmSuite", &suite) + &nest("Layout", &format!("<sp:{layout}/>")) + &options
    }

    /// The token for a certificate that signs in the one direction, and that is encrypted for in
    /// the other.
    fn certificate(
        &mut self,
        signs: Option<KeyReference>,
        encrypts: Option<KeyReference>,
        towards: &'static str,
    ) -> Certificate {
        let away = match towards {
            TO_RECIPIENT => TO_INITIATOR,
            _ => TO_RECIPIENT,
        };
        let carried =
            |reference: Option<KeyReference>| reference.is_some_and(KeyReference::has_token);
        let is_path = [signs, encrypts].contains(&Some(KeyReference::PkiPath));
        let inclusion = match (carried(signs), carried(encrypts)) {
            (true, true) => "Always",
            (true, false) => towards,
            (false, true) => away,
            (false, false) => "Never",
        };
        let mut named = [signs, encrypts]
            .into_iter()
            .flatten()
            .filter(|reference| !reference.has_token())
            .map(|reference| match reference {
                KeyReference::IssuerSerialQuoted => KeyReference::IssuerSerial,
                other => other,
            });
        let first = named.next();
        let reference = match (first, named.next()) {
            (Some(one), Some(other)) if one != other => Some(other),
            // A reference that is asked for would be used in the other direction, too: stacks look
            // at it first.
            (Some(one), _) if inclusion != "Never" && one != KeyReference::IssuerSerial => {
                Some(one)
            }
            (Some(one), _) if !self.has_assertion(one) => first,
            _ => None,
        };
        if let Some(reference) = reference {
            self.report(Unwritable::Reference { reference });
        }
        Certificate {
            inclusion,
            named: first,
            is_path,
        }
    }

    /// The token of a party: a certificate, or a key that is written out (WS-SecurityPolicy 1.3,
    /// 5.4.3 and 5.4.11).
    fn party(&self, role: &str, certificate: &Certificate) -> String {
        let written_out = certificate.named.filter(|named| named.is_written_out());
        let token = match written_out {
            Some(KeyReference::RsaKeyValue) => {
                self.token("KeyValueToken", certificate.inclusion, "<sp:RsaKeyValue/>")
            }
            Some(_) => self.token("KeyValueToken", certificate.inclusion, ""),
            None => self.x509(certificate),
        };
        nest(role, &token)
    }

    fn x509(&self, certificate: &Certificate) -> String {
        let reference = match certificate.named {
            _ if certificate.inclusion != "Never" => "",
            Some(KeyReference::IssuerSerial) => "<sp:RequireIssuerSerialReference/>",
            Some(KeyReference::SubjectKeyIdentifier) => "<sp:RequireKeyIdentifierReference/>",
            Some(KeyReference::Thumbprint) => "<sp:RequireThumbprintReference/>",
            Some(KeyReference::Embedded) => "<sp:RequireEmbeddedTokenReference/>",
            _ => "",
        };
        let form = match certificate.is_path {
            true => "WssX509PkiPathV1Token10",
            false => "WssX509V3Token10",
        };
        let form = format!("{reference}<sp:{form}/>");
        self.token("X509Token", certificate.inclusion, &form)
    }

    /// Whether an assertion asks for this way to name a certificate, or its key. WS-SecurityPolicy
    /// 1.1 has no token for keys that are written out.
    fn has_assertion(&self, reference: KeyReference) -> bool {
        match reference {
            KeyReference::IssuerSerial
            | KeyReference::SubjectKeyIdentifier
            | KeyReference::Thumbprint
            | KeyReference::Embedded => true,
            KeyReference::KeyValue | KeyReference::RsaKeyValue => {
                self.version.security != SecurityPolicyVersion::V11
            }
            _ => false,
        }
    }

    /// Which ways of naming tokens must be understood (WS-SecurityPolicy 1.3, 9).
    fn wss(&self, named: &[Option<KeyReference>]) -> String {
        let has = |reference| named.contains(&Some(reference));
        let options: String = [
            (
                KeyReference::SubjectKeyIdentifier,
                "<sp:MustSupportRefKeyIdentifier/>",
            ),
            (
                KeyReference::IssuerSerial,
                "<sp:MustSupportRefIssuerSerial/>",
            ),
            (KeyReference::Embedded, "<sp:MustSupportRefEmbeddedToken/>"),
            (KeyReference::Thumbprint, "<sp:MustSupportRefThumbprint/>"),
            (
                KeyReference::EncryptedKeySha1,
                "<sp:MustSupportRefEncryptedKey/>",
            ),
        ]
        .into_iter()
        .filter_map(|(reference, option)| has(reference).then_some(option))
        .collect();
        let of_11 = has(KeyReference::Thumbprint) || has(KeyReference::EncryptedKeySha1);
        nest(if of_11 { "Wss11" } else { "Wss10" }, &options)
    }

    fn token(&self, name: &str, inclusion: &str, inner: &str) -> String {
        let namespace = self.version.security.namespace();
        format!(
            "<sp:{name} sp:IncludeToken=\"{namespace}/IncludeToken/{inclusion}\"><wsp:Policy>{inner}</wsp:Policy></sp:{name}>"
        )
    }
}

/// WS-SecurityPolicy 1.3, 10: both sides bring random bytes, so that neither alone decides the
/// key.
fn trust(version: ConversationVersion) -> String {
    let name = match version {
        ConversationVersion::February2005 => "Trust10",
        ConversationVersion::V13 => "Trust13",
    };
    let options =
        "<sp:MustSupportIssuedTokens/><sp:RequireClientEntropy/><sp:RequireServerEntropy/>";
    nest(name, options)
}

/// WS-SecurityPolicy 1.3, 4.1 and 4.2. An assertion without parts would mean all of them.
fn parts(policy: &Policy) -> String {
    let signed = policy.signed_parts();
    let signed = signed.iter();
    let encrypted = policy.encrypted_parts().iter();
    let encrypted = encrypted
        .filter(|wanted| wanted.part != Part::Body || wanted.extent == Extent::Content)
        .map(|wanted| &wanted.part);
    let said = |name: &str, parts: String| match parts.is_empty() {
        true => String::new(),
        false => format!("<sp:{name}>{parts}</sp:{name}>"),
    };
    said("SignedParts", signed.filter_map(part).collect())
        + &said("EncryptedParts", encrypted.filter_map(part).collect())
}

/// How keys are derived from that of a token (WS-SecurityPolicy 1.3, 5.3).
fn derived_keys(policy: &Policy) -> &'static str {
    let derived = policy.derived_keys();
    match derived.map(|derived| (derived.exclusive, derived.form)) {
        None => "",
        Some((false, _)) => "<sp:RequireDerivedKeys/>",
        Some((true, DerivedKeyForm::Explicit)) => "<sp:RequireExplicitDerivedKeys/>",
        Some((true, DerivedKeyForm::Implied)) => "<sp:RequireImpliedDerivedKeys/>",
    }
}

/// The Body or a header block; other parts are options of bindings, or tokens.
fn part(part: &Part) -> Option<String> {
    match part {
        Part::Body => Some("<sp:Body/>".to_owned()),
        Part::Header { namespace, local } => {
            let mut written = b"<sp:Header Name=\"".to_vec();
            escape::attribute(local, &mut written);
            written.extend_from_slice(b"\" Namespace=\"");
            escape::attribute(namespace, &mut written);
            written.extend_from_slice(b"\"/>");
            Some(String::from_utf8_lossy(&written).into_owned())
        }
        _ => None,
    }
}

fn nest(name: &str, inner: &str) -> String {
    if inner.is_empty() {
        return format!("<sp:{name}><wsp:Policy/></sp:{name}>");
    }
    format!("<sp:{name}><wsp:Policy>{inner}</wsp:Policy></sp:{name}>")
}

fn signing(policy: &Policy) -> Option<KeyReference> {
    policy.signature().map(|found| found.reference)
}

fn encrypting(policy: &Policy) -> Option<KeyReference> {
    policy.encryption().map(|found| found.reference)
}
