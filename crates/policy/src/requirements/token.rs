//! Token assertions (WS-SecurityPolicy 1.3, 5).
//!
//! All of them are read; which of them messages can carry is decided when the policy is compiled.

use std::sync::Arc;

use soapstone_wss::{ConversationVersion, KerberosForm, SamlVersion};

use super::foreign::{self, MICROSOFT};
use super::model::{
    DerivedKeyDemand, Inclusion, PasswordDemand, ReferenceDemand, Requirements, Token, TokenKind,
};
use super::reading::{is_security, nested, refuse_beside};
use crate::alternative::{Alternative, Assertion};
use crate::names::{Name, SecurityPolicyVersion};
use crate::problem::{PolicyProblem, ProblemKind};

/// Token assertions that are read and not supported, whatever is in them. The last two are
/// Microsoft's.
const OTHERS: [&str; 4] = [
    "RelToken",
    "SpnegoContextToken",
    "SslContextToken",
    "RsaToken",
];

/// A key that is written out in the references to it.
const KEY_VALUE: &str = "KeyValueToken";

impl Token {
    pub(super) fn read(
        assertion: &Arc<Assertion>,
        problems: &mut Vec<PolicyProblem>,
    ) -> Option<Self> {
        let name = assertion.name();
        let Some(version) = version_of(name) else {
            problems.push(PolicyProblem::new(assertion, foreign::refusal(name)));
            return None;
        };
        let conversation = match version {
            SecurityPolicyVersion::V11 => ConversationVersion::February2005,
            _ => ConversationVersion::V13,
        };
        let kind = match &*name.local {
            "UsernameToken" => TokenKind::Username {
                password: PasswordDemand::Text,
                created: false,
                nonce: false,
            },
            "X509Token" => TokenKind::X509 { form: None },
            "KerberosToken" => TokenKind::Kerberos { form: None },
            "SamlToken" => TokenKind::Saml {
                versions: Vec::new(),
            },
            "IssuedToken" => TokenKind::Issued(Box::default()),
            "SecureConversationToken" => TokenKind::SecureConversation {
                version: conversation,
                bootstrap: None,
                must_not_cancel: false,
                must_not_amend: false,
                must_not_renew: false,
            },
            "SecurityContextToken" => TokenKind::SecurityContext {
                version: conversation,
            },
            "HttpsToken" => TokenKind::Https {
                client_certificate: https_attribute(assertion, problems),
                authentication: None,
            },
            KEY_VALUE => TokenKind::KeyValue { rsa: false },
            other if OTHERS.contains(&other) => TokenKind::Other,
            _ => {
                problems.push(PolicyProblem::new(assertion, ProblemKind::Unknown));
                return None;
            }
        };
        let mut token = Self {
            kind,
            inclusion: read_inclusion(assertion, problems)?,
            derived_keys: None,
            references: Vec::new(),
            issuer: None,
            name: name.clone(),
            version,
            place: assertion.place().clone(),
        };
        for parameter in assertion.parameters() {
            if let TokenKind::Issued(issued) = &mut token.kind
                && issued.take(parameter, problems)
            {
                continue;
            }
            match &*parameter.name.local {
                "Issuer" | "IssuerName" | "Claims" => token.issuer = Some(parameter.place.clone()),
                _ if matches!(token.kind, TokenKind::Other) => {}
                _ => problems.push(PolicyProblem::at(
                    &parameter.name,
                    &parameter.place,
                    ProblemKind::Unknown,
                )),
            }
        }
        for inner in nested(assertion) {
            token.inner(inner, problems);
        }
        Some(token)
    }

    fn inner(&mut self, inner: &Arc<Assertion>, problems: &mut Vec<PolicyProblem>) {
        let name = inner.name();
        if &*name.namespace != MICROSOFT && name.security_version().is_none() {
            if !inner.is_ignorable() && !matches!(self.kind, TokenKind::Other) {
                problems.push(PolicyProblem::new(inner, ProblemKind::Unknown));
            }
            return;
        }
        let reference = match &*name.local {
            "RequireDerivedKeys" => {
                self.derived_keys.get_or_insert(DerivedKeyDemand::Either);
                return;
            }
            "RequireExplicitDerivedKeys" => {
                return self.derive(DerivedKeyDemand::Explicit, inner, problems);
            }
            "RequireImpliedDerivedKeys" | "RequireImplicitDerivedKeys" => {
                return self.derive(DerivedKeyDemand::Implied, inner, problems);
            }
            "RequireKeyIdentifierReference" => ReferenceDemand::KeyIdentifier,
            "RequireIssuerSerialReference" => ReferenceDemand::IssuerSerial,
            "RequireEmbeddedTokenReference" => ReferenceDemand::Embedded,
            "RequireThumbprintReference" => ReferenceDemand::Thumbprint,
            "RequireExternalUriReference" | "RequireExternalReference" => ReferenceDemand::External,
            "RequireInternalReference" => ReferenceDemand::Internal,
            _ => {
                if !self.kind.inner(inner, problems) {
                    problems.push(PolicyProblem::new(inner, ProblemKind::Unknown));
                }
                return;
            }
        };
        self.references.push(reference);
    }

    /// Derived keys in one of two ways, which exclude each other (5.3.5 and 5.3.6).
    fn derive(
        &mut self,
        demand: DerivedKeyDemand,
        inner: &Assertion,
        problems: &mut Vec<PolicyProblem>,
    ) {
        let known = self.derived_keys.replace(demand);
        if known.is_some_and(|known| known != demand && known != DerivedKeyDemand::Either) {
            let with = "the other way to derive keys";
            problems.push(PolicyProblem::new(inner, ProblemKind::Conflict { with }));
        }
    }
}

impl TokenKind {
    /// Reads an assertion that only this kind of token has; false if it has none such.
    fn inner(&mut self, inner: &Arc<Assertion>, problems: &mut Vec<PolicyProblem>) -> bool {
        let local = &*inner.name().local;
        match self {
            Self::Username {
                password,
                created,
                nonce,
            } => match local {
                "WssUsernameToken10" | "WssUsernameToken11" => {}
                "HashPassword" | "NoPassword" if *password != PasswordDemand::Text => {
                    let with = "what else is said of the password";
                    problems.push(PolicyProblem::new(inner, ProblemKind::Conflict { with }));
                }
                "HashPassword" => *password = PasswordDemand::Hash,
                "NoPassword" => *password = PasswordDemand::None,
                "Created" => *created = true,
                "Nonce" => *nonce = true,
                _ => return false,
            },
            Self::X509 { form } => match local {
                "WssX509V3Token10"
                | "WssX509V3Token11"
                | "WssX509V1Token10"
                | "WssX509V1Token11"
                | "WssX509Pkcs7Token10"
                | "WssX509Pkcs7Token11"
                | "WssX509PkiPathV1Token10"
                | "WssX509PkiPathV1Token11" => *form = Some(local.to_owned()),
                _ => return false,
            },
            Self::SecureConversation {
                version,
                bootstrap,
                must_not_cancel,
                must_not_amend,
                must_not_renew,
            } => match local {
                "BootstrapPolicy" => {
                    refuse_beside(inner, problems);
                    let alternative = inner.nested().cloned().unwrap_or_default();
                    *bootstrap = Some(Box::new(Requirements::read(&alternative, problems)));
                }
                "MustNotSendCancel" => *must_not_cancel = true,
                "MustNotSendAmend" => *must_not_amend = true,
                "MustNotSendRenew" => *must_not_renew = true,
                // Contexts are cancelled unless that is forbidden.
                "RequireCancel" => {}
                _ => return context_version(local, version),
            },
            Self::SecurityContext { version } => return context_version(local, version),
            Self::Https {
                client_certificate,
                authentication,
            } => match local {
                "RequireClientCertificate" => *client_certificate = true,
                "HttpBasicAuthentication" | "HttpDigestAuthentication" => {
                    *authentication = Some((inner.name().clone(), inner.place().clone()));
                }
                _ => return false,
            },
            Self::Saml { versions } => match local {
                "WssSamlV11Token10" | "WssSamlV11Token11" => versions.push(SamlVersion::V11),
                "WssSamlV20Token11" => versions.push(SamlVersion::V20),
                _ => return false,
            },
            Self::Kerberos { form } => {
                let found = match local {
                    "WssGssKerberosV5ApReqToken11" => KerberosForm::Gss,
                    "WssKerberosV5ApReqToken11" => KerberosForm::Raw,
                    _ => return false,
                };
                if form.replace(found).is_some_and(|other| other != found) {
                    let with = "the other form of the token";
                    problems.push(PolicyProblem::new(inner, ProblemKind::Conflict { with }));
                }
            }
            Self::KeyValue { rsa } => match local {
                "RsaKeyValue" => *rsa = true,
                _ => return false,
            },
            Self::Issued(_) => return false,
            // The token as a whole is refused later.
            Self::Other => {}
        }
        true
    }
}

fn context_version(local: &str, version: &mut ConversationVersion) -> bool {
    *version = match local {
        "SC10SecurityContextToken" => ConversationVersion::February2005,
        "SC13SecurityContextToken" => ConversationVersion::V13,
        _ => return false,
    };
    true
}

/// The version of the language of a token assertion. Microsoft's own tokens are of the time of 1.1.
fn version_of(name: &Name) -> Option<SecurityPolicyVersion> {
    let of_microsoft = || {
        let is_token = matches!(&*name.local, "SslContextToken" | "RsaToken");
        let is_token = is_token && &*name.namespace == MICROSOFT;
        is_token.then_some(SecurityPolicyVersion::V11)
    };
    name.security_version().or_else(of_microsoft)
}

/// Whether an assertion of this name is a token.
pub(super) fn names_token(name: &Name) -> bool {
    version_of(name).is_some() && name.local.ends_with("Token")
}

/// Whether an alternative wants a key that is written out, in whatever place.
pub(crate) fn wants_key_value(alternative: &Alternative) -> bool {
    alternative.assertions.iter().any(|assertion| {
        let name = assertion.name();
        (name.security_version().is_some() && &*name.local == KEY_VALUE)
            || assertion.nested().is_some_and(wants_key_value)
    })
}

/// Whether `assertion` is one of WS-SecurityPolicy or a token of Microsoft's; adds the problem if
/// it is neither.
pub(super) fn is_token(assertion: &Assertion, problems: &mut Vec<PolicyProblem>) -> bool {
    version_of(assertion.name()).is_some() || is_security(assertion, problems)
}

/// WS-SecurityPolicy 1.1, 4.3.10: the attribute that later became an assertion.
fn https_attribute(assertion: &Assertion, problems: &mut Vec<PolicyProblem>) -> bool {
    const ATTRIBUTE: &str = "RequireClientCertificate";
    let node = assertion.node();
    let value = node
        .attribute("", ATTRIBUTE)
        .or_else(|| node.attribute(&node.name.namespace, ATTRIBUTE));
    match value.map(str::trim) {
        None | Some("false" | "0") => false,
        Some("true" | "1") => true,
        Some(found) => {
            problems.push(PolicyProblem::new(
                assertion,
                ProblemKind::Value {
                    attribute: ATTRIBUTE,
                    expected: "`true` or `false`",
                    found: found.to_owned(),
                },
            ));
            true
        }
    }
}

/// WS-SecurityPolicy 1.3, 5.1: `sp:IncludeToken`, whose values are in the namespace of their
/// version. Always, if it is not there.
fn read_inclusion(assertion: &Assertion, problems: &mut Vec<PolicyProblem>) -> Option<Inclusion> {
    let versions = SecurityPolicyVersion::ALL;
    let node = assertion.node();
    let written = versions
        .iter()
        .find_map(|version| node.attribute(version.namespace(), "IncludeToken"))
        .or_else(|| node.attribute("", "IncludeToken"));
    let Some(written) = written.map(str::trim) else {
        return Some(Inclusion::Always);
    };
    let local = versions.iter().find_map(|version| {
        written
            .strip_prefix(version.namespace())?
            .strip_prefix("/IncludeToken/")
    });
    let inclusion = match local {
        Some("Never") => Inclusion::Never,
        Some("Once") => Inclusion::Once,
        Some("AlwaysToRecipient") => Inclusion::AlwaysToRecipient,
        Some("AlwaysToInitiator") => Inclusion::AlwaysToInitiator,
        Some("Always") => Inclusion::Always,
        _ => {
            problems.push(PolicyProblem::new(
                assertion,
                ProblemKind::Value {
                    attribute: "sp:IncludeToken",
                    expected: "…/IncludeToken/ with Never, Once, AlwaysToRecipient, AlwaysToInitiator or Always",
                    found: written.to_owned(),
                },
            ));
            return None;
        }
    };
    Some(inclusion)
}
