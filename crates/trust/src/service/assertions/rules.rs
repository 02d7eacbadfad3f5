//! Which assertions a token service issues, about whom, and who may act for whom.
//!
//! The one rule: what no rule allows is refused. A list that is empty allows nobody.

use std::sync::Arc;
use std::time::Duration;

use soapstone_crypto::{
    Certificate, DigestAlgorithm, DistinguishedName, Identity, KeyTransport, SignatureAlgorithm,
};
use soapstone_wss::{
    Assertion, AssertionIssuer, AssertionPolicy, ContextOwner, KeyTransportMethod, NameIdentifier,
    SamlVersion,
};

use crate::service::{Requester, RequesterToken};
use crate::version::KeyType;

/// The rules by which assertions are issued.
#[derive(Clone, Debug)]
pub struct AssertionRules {
    /// `Issuer` of the assertions.
    pub issuer: String,
    /// The key that signs them.
    pub identity: Arc<Identity>,
    /// How it signs.
    pub signature: SignatureAlgorithm,
    /// How assertions are digested.
    pub digest: DigestAlgorithm,
    /// Versions that are issued; the first one where a request names none.
    pub versions: Vec<SamlVersion>,
    /// Kinds of keys that are issued for; the first one where a request names none.
    pub key_types: Vec<KeyType>,
    /// Shortest life of an assertion; requests for less are refused.
    pub shortest_lifetime: Duration,
    /// Life of an assertion when the request wants none in particular.
    pub lifetime: Duration,
    /// Longest life of an assertion; requests for more get this.
    pub longest_lifetime: Duration,
    /// How long after its subject authenticated an assertion may be renewed; `None`: not at all.
    pub renewable: Option<Duration>,
    /// Whether assertions are cancelled. The host remembers which.
    pub cancellable: bool,
    /// The services for which assertions are issued.
    pub services: Vec<TargetService>,
    /// What assertions say of their subjects.
    pub attributes: Vec<GrantedAttribute>,
    /// What claims of other dialects than that of identity claims mean.
    pub dialects: Vec<ClaimDialect>,
    /// Who may act for whom.
    pub delegations: Vec<Delegation>,
    /// Whose assertions prove the subject of a delegation, and are validated. The
    /// service itself is the first.
    pub issuers: Arc<[AssertionIssuer]>,
    /// What is accepted of such assertions. Audiences are those of the delegation.
    pub policy: AssertionPolicy,
}

impl AssertionRules {
    /// Whether an assertion was issued here: by this name, and signed with this key. A name alone
    /// is the word of whoever wrote it.
    pub(super) fn issued(&self, assertion: &Assertion) -> bool {
        let own = self.identity.certificate();
        assertion.issuer == self.issuer
            && assertion.signer().is_some_and(|it| it.der() == own.der())
    }
}

/// A service for which assertions are issued.
#[derive(Clone, Debug)]
pub struct TargetService {
    /// The address in `wsp:AppliesTo`.
    pub address: String,
    /// The audience of its assertions.
    pub audience: String,
    /// Its certificate, to which symmetric keys are encrypted.
    pub certificate: Option<Certificate>,
    /// How they are encrypted. RSA 1.5 is refused.
    pub key_transport: KeyTransportMethod,
}

impl TargetService {
    /// RSA-OAEP with SHA-256 and MGF1 with SHA-1 (XML-Enc 1.1, 5.5.2): stacks without `rsa-oaep` of
    /// 2009 read it.
    pub const KEY_TRANSPORT: KeyTransportMethod = KeyTransportMethod {
        algorithm: KeyTransport::RsaOaepMgf1p,
        digest: DigestAlgorithm::Sha256,
        mask: DigestAlgorithm::Sha1,
    };
}

/// What assertions say of some subjects.
#[derive(Clone, Debug)]
pub struct GrantedAttribute {
    /// The subjects.
    pub subjects: Parties,
    /// URI of the claim.
    pub claim: String,
    /// Its values.
    pub values: Vec<String>,
}

/// What the claims of a dialect mean (WS-Trust 1.4, 9.3). They choose among the attributes of a
/// subject, and give none that it has not.
#[derive(Clone, Debug)]
pub struct ClaimDialect {
    /// `@Dialect`.
    pub dialect: String,
    /// Names in this dialect, each with the URI of the claim that it asks for. A name is the `Uri`
    /// of an element, or its expanded name.
    pub claims: Vec<(String, String)>,
}

impl ClaimDialect {
    /// The claim that a name asks for.
    pub(super) fn meaning(&self, name: &str) -> Option<&str> {
        let mut claims = self.claims.iter();
        let found = claims.find(|(known, _)| known == name);
        found.map(|(_, claim)| claim.as_str())
    }
}

/// How an actor acts for a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DelegationForm {
    /// `wst:OnBehalfOf`: the assertion says nothing of who asked for it.
    OnBehalfOf,
    /// `wst14:ActAs`: the assertion names the one who acts as well.
    ActAs,
}

impl DelegationForm {
    /// Both.
    pub const ALL: [Self; 2] = [Self::OnBehalfOf, Self::ActAs];

    /// The name in configuration files and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OnBehalfOf => "on-behalf-of",
            Self::ActAs => "act-as",
        }
    }
}

/// A right to act for others.
#[derive(Clone, Debug)]
pub struct Delegation {
    /// Who may act.
    pub actors: Parties,
    /// For whom. With an `issuer`: those of [`foreign`](Parties::foreign) that it names, or all of
    /// its subjects, by names of every format.
    pub subjects: Parties,
    /// In which forms.
    pub forms: Vec<DelegationForm>,
    /// The issuer of the assertions that prove for whom; `None`: the service itself.
    pub issuer: Option<String>,
    /// The audiences of those assertions: who acts presents what was issued for him, and not what
    /// he found elsewhere.
    pub audiences: Vec<String>,
    /// Addresses of the services at which he may act.
    pub services: Vec<String>,
    /// Whether he renews what he got by [`DelegationForm::ActAs`]: it names him. The subject need
    /// not be there any more.
    pub renews: bool,
}

impl Delegation {
    /// Whether it is for this subject. A subject of another issuer stays one, also where we have
    /// named it ourselves.
    pub(super) fn is_about(&self, subject: &Party) -> bool {
        match (subject, &self.issuer) {
            (Party::Foreign(name), Some(issuer)) => {
                name.qualifier.as_ref() == Some(issuer)
                    && (self.subjects.anybody || self.subjects.include(subject))
            }
            (Party::Foreign(_), None) | (_, Some(_)) => false,
            (subject, None) => self.subjects.include(subject),
        }
    }
}

/// Some parties. A user and the subject of a certificate are never the same party, whatever their
/// names.
#[derive(Clone, Debug, Default)]
pub struct Parties {
    /// Names of users.
    pub users: Vec<String>,
    /// Subjects of certificates.
    pub certificates: Vec<DistinguishedName>,
    /// Principals of Kerberos clients.
    pub principals: Vec<String>,
    /// Subjects of other issuers. They act for others; or somebody acts for them, by a delegation
    /// that names their issuer.
    pub foreign: Vec<ForeignSubjects>,
    /// Everybody whom this service knows by itself. Of the subjects of another issuer, those of a
    /// delegation that names the issuer.
    pub anybody: bool,
}

/// Some subjects of another issuer, by kind, issuer and name.
#[derive(Clone, Debug)]
pub struct ForeignSubjects {
    /// The issuer that names them.
    pub issuer: String,
    /// `Format` of their names; `None`: the unspecified one. An issuer can give one name in two
    /// formats to two subjects.
    pub format: Option<String>,
    /// Their names.
    pub names: Vec<String>,
}

impl ForeignSubjects {
    /// Whether a subject is among them. A name for one login never is.
    fn include(&self, subject: &NameIdentifier) -> bool {
        has_lasting_name(subject)
            && subject.qualifier.as_ref() == Some(&self.issuer)
            && subject.service_qualifier.is_none()
            && format_of(subject) == self.format.as_deref().unwrap_or(UNSPECIFIED)
            && self.names.contains(&subject.value)
    }
}

impl Parties {
    /// Whether a party is among them. The subjects of another issuer are, where they are named
    /// together with that issuer.
    pub(super) fn include(&self, party: &Party) -> bool {
        match party {
            Party::Foreign(subject) => self.foreign.iter().any(|some| some.include(subject)),
            _ if self.anybody => true,
            Party::User(name) => self.users.contains(name),
            Party::Certificate { name, .. } => {
                let mut known = self.certificates.iter();
                known.any(|known| known.matches(name))
            }
            Party::Kerberos(principal) => self.principals.contains(principal),
        }
    }
}

/// The subject of an assertion, or an actor.
#[derive(Clone, Debug)]
pub(super) enum Party {
    User(String),
    Certificate {
        subject: String,
        name: DistinguishedName,
    },
    /// A principal, who is no user either.
    Kerberos(String),
    /// The subject of another issuer, who is no user of ours.
    Foreign(NameIdentifier),
}

/// `Format` of identifiers that are subjects of certificates, principals, and others (SAML Core
/// 2.0, 8.3.1, 8.3.3 and 8.3.5; SAML Core 1.1, 7.3).
pub(super) const X509_SUBJECT: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:X509SubjectName";
pub(super) const KERBEROS: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:kerberos";
pub(super) const UNSPECIFIED: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified";

pub use soapstone_wss::TRANSIENT_NAMES;

/// The format of a name; a name without one has the unspecified format (SAML Core 2.0, 2.2.2; SAML
/// Core 1.1, 2.4.2.2).
pub(super) fn format_of(name: &NameIdentifier) -> &str {
    name.format.as_deref().unwrap_or(UNSPECIFIED)
}

/// Whether a name means the same subject with the next login.
pub(super) fn has_lasting_name(name: &NameIdentifier) -> bool {
    name.is_lasting()
}

impl Party {
    /// Who sent a request, if that was shown. What another key signed in the name of this service
    /// shows nobody.
    pub(super) fn of(requester: &Requester, rules: &AssertionRules) -> Option<Self> {
        match &requester.token {
            Some(RequesterToken::Assertion {
                assertion: shown, ..
            }) if rules.issued(shown) => {
                return Self::own_subject(&shown.subject);
            }
            Some(RequesterToken::Assertion {
                assertion: shown, ..
            }) if shown.issuer == rules.issuer => return None,
            Some(RequesterToken::Assertion {
                assertion: shown, ..
            }) => return Self::foreign(shown),
            Some(RequesterToken::Kerberos { client, .. }) => {
                return Some(Self::Kerberos(client.clone()));
            }
            None => {}
        }
        match &requester.owner {
            ContextOwner::User(name) => Some(Self::User(name.clone())),
            ContextOwner::Certificate(certificate) => Some(Self::Certificate {
                subject: certificate.subject().to_owned(),
                name: certificate.subject_name().clone(),
            }),
            ContextOwner::Kerberos { client, .. } => Some(Self::Kerberos(client.clone())),
            // Such a request has the assertion, which was looked at above.
            ContextOwner::Subject(_) | ContextOwner::Anonymous => None,
        }
    }

    /// The subject of an assertion that this service issued.
    pub(super) fn own_subject(subject: &NameIdentifier) -> Option<Self> {
        match subject.format.as_deref() {
            _ if subject.qualifier.is_some() => Some(Self::Foreign(subject.clone())),
            Some(X509_SUBJECT) => Some(Self::Certificate {
                subject: subject.value.clone(),
                name: DistinguishedName::parse(&subject.value).ok()?,
            }),
            Some(KERBEROS) => Some(Self::Kerberos(subject.value.clone())),
            Some(UNSPECIFIED) => Some(Self::User(subject.value.clone())),
            _ => None,
        }
    }

    /// The subject of another issuer's assertion: a name in that issuer's domain, and no name of
    /// ours. Nobody, where the issuer itself says that the name is of another domain, or of one
    /// service (SAML Core 2.0, 2.2.2): what is said of the issuer's subjects is not said of those.
    pub(super) fn foreign(presented: &Assertion) -> Option<Self> {
        let name = &presented.subject;
        if name.other_domain(&presented.issuer).is_some() || name.service_qualifier.is_some() {
            return None;
        }
        let mut name = name.clone();
        name.qualifier = Some(presented.issuer.clone());
        Some(Self::Foreign(name))
    }

    /// Its name, for logs and assertions.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::User(name) | Self::Kerberos(name) => name,
            Self::Certificate { subject, .. } => subject,
            Self::Foreign(name) => &name.value,
        }
    }

    /// The domain of that name, where it is another issuer's.
    pub(super) fn domain(&self) -> Option<&str> {
        match self {
            Self::User(_) | Self::Certificate { .. } | Self::Kerberos(_) => None,
            Self::Foreign(name) => name.qualifier.as_deref(),
        }
    }

    /// Who has a share of what is remembered: kind and name, alike for names that are [the
    /// same](Self::is), and for no others. The subjects of another issuer share one: it may give
    /// each a new name with each login (SAML Core 2.0, 8.3.8).
    pub(super) fn share(&self) -> String {
        match self {
            Self::User(name) => format!("user\n{name}"),
            Self::Certificate { name, .. } => format!("certificate\n{}", name.folded()),
            Self::Kerberos(name) => format!("kerberos\n{name}"),
            Self::Foreign(_) => format!("foreign\n{}", self.domain().unwrap_or_default()),
        }
    }

    /// Whether both are the same party.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::User(one), Self::User(other)) | (Self::Kerberos(one), Self::Kerberos(other)) => {
                one == other
            }
            (Self::Certificate { name: one, .. }, Self::Certificate { name: other, .. }) => {
                one.matches(other)
            }
            _ => false,
        }
    }
}
