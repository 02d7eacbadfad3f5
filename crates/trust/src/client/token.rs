//! A request for an assertion of SAML, to be shown to another service (WS-Trust 1.4, 3, 4 and 9).
//!
//! The request is written here, element by element; the answer is read as any other, and its
//! assertion is judged by `soapstone-wss`.
//!
//! The one rule: the token is the one that was asked for, in version, key, audience and time, or
//! there is none.

use std::time::Duration;

use jiff::Timestamp;
use soapstone_crypto::{Certificate, SecretBytes, base64};
use soapstone_wss::names::DS;
use soapstone_wss::{
    AssertionIssuer, AssertionPolicy, AssertionToken, IssuedAssertion, NameIdentifier, SamlVersion,
    WantedAssertion, WantedHolder,
};
use soapstone_xml::Element;

use super::error::TrustError;
use super::keys::{Contribution, ProofRules};
use super::{TrustRequest, one_answer};
use crate::identifier::uuid_urn;
use crate::message::{
    AppliesTo, Entropy, Lifetime, RequestSecurityTokenResponse, Writer, later, only_child,
};
use crate::version::{Action, KeyType, Operation, RequestType, SecretType, TrustVersion};

/// `wst14:ActAs` (WS-Trust 1.4, 9.1).
const WST14: &str = "http://docs.oasis-open.org/ws-sx/ws-trust/200802";

/// The claims that a name alone asks for (Identity Selector Interoperability Profile 1.0, 3.3.3).
const IDENTITY: &str = "http://schemas.xmlsoap.org/ws/2005/05/identity";

/// `KeyType` of a bearer's token in February 2005, which names none itself (Identity Selector
/// Interoperability Profile 1.0, 3.3.4.5).
const NO_PROOF_KEY: &str = "http://schemas.xmlsoap.org/ws/2005/05/identity/NoProofKey";

/// Most bytes of an assertion that is taken. Hosts keep thousands, and each is there in two
/// forms.
const LARGEST_ASSERTION: usize = 128 * 1024;

/// The key of the token.
#[derive(Clone, Debug)]
pub enum TokenKey {
    /// None: whoever has the token is its subject.
    Bearer,
    /// Ours, in this certificate. The signature of the request proves that we hold it, where it is
    /// the key of that signature.
    Public(Certificate),
    /// A new symmetric one. The token has it for the service, enciphered, and the answer has what
    /// it takes to know it (WS-Trust 1.4, 4.4.3).
    Symmetric(ProofRules),
}

/// For whom the token is asked for, where that is not ourselves (WS-Trust 1.4, 9.1).
#[derive(Clone, Copy, Debug)]
pub enum OnBehalf<'u> {
    /// `wst:OnBehalfOf`: the token is that user's.
    Of(&'u AssertionToken),
    /// `wst14:ActAs`: the token is ours, acting as that user.
    ActingAs(&'u AssertionToken),
}

/// The claims that are asked for (WS-Trust 1.4, 9.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedClaims {
    /// By the URIs of their types, in the dialect of identities.
    Types(Vec<String>),
    /// As a policy's template has them: a `wst:Claims` element in canonical form.
    Template(Vec<u8>),
}

/// What is asked for, and what is taken.
///
/// The struct may grow; change single fields of a new value.
#[derive(Debug)]
#[non_exhaustive]
pub struct TokenRules {
    /// The version that is spoken. Default 1.3.
    pub version: TrustVersion,
    /// The version of the assertion. Default 2.0.
    pub assertion: SamlVersion,
    /// Its key. Default none.
    pub key: TokenKey,
    /// The service that it is for.
    pub applies_to: Option<AppliesTo>,
    /// The claims.
    pub claims: Option<WantedClaims>,
    /// Life that is asked for. Default what the token service likes.
    pub lifetime: Option<Duration>,
    /// Longest life that is believed. Default 24 hours.
    pub longest_lifetime: Duration,
    /// Who may issue it. Default nobody in particular: the security of the answer proves it.
    pub issuers: std::sync::Arc<[AssertionIssuer]>,
    /// The audiences, one of which it must name; clocks, and algorithms of the issuer.
    pub policy: AssertionPolicy,
}

impl TokenRules {
    /// A bearer's token for the service that `policy` names as audience.
    #[must_use]
    pub fn new(policy: AssertionPolicy) -> Self {
        Self {
            version: TrustVersion::V13,
            assertion: SamlVersion::V20,
            key: TokenKey::Bearer,
            applies_to: None,
            claims: None,
            lifetime: None,
            longest_lifetime: Duration::from_secs(24 * 3600),
            issuers: std::sync::Arc::default(),
            policy,
        }
    }

    fn key_type(&self) -> KeyType {
        match (&self.key, self.version) {
            (TokenKey::Public(_), _) => KeyType::PublicKey,
            (TokenKey::Symmetric(_), _) => KeyType::SymmetricKey,
            (TokenKey::Bearer, TrustVersion::V13) => KeyType::Bearer,
            (TokenKey::Bearer, TrustVersion::February2005) => {
                KeyType::Other(NO_PROOF_KEY.to_owned())
            }
        }
    }
}

/// An assertion that is to be renewed.
#[derive(Debug)]
struct Former {
    issuer: String,
    subject: NameIdentifier,
    ends: Timestamp,
}

/// A request for an assertion that is under way.
#[derive(Debug)]
pub struct PendingToken {
    /// `@Context` of the request, which its answer repeats.
    pub(super) context: String,
    /// Our part of a symmetric key.
    entropy: Option<SecretBytes>,
    /// Of a renewal: what the assertion was before.
    former: Option<Former>,
}

/// What is asked for.
#[derive(Clone, Copy)]
enum Asked<'a> {
    /// A new assertion, or several in one message: for that user, or for ourselves.
    New {
        user: Option<OnBehalf<'a>>,
        is_one_of_several: bool,
    },
    /// That assertion with a later end.
    Renewal(&'a AssertionToken),
}

impl Asked<'_> {
    const fn request_type(self) -> RequestType {
        match self {
            Self::New {
                is_one_of_several, ..
            } => RequestType {
                operation: Operation::Issue,
                batch: is_one_of_several,
            },
            Self::Renewal(_) => RequestType::single(Operation::Renew),
        }
    }
}

impl PendingToken {
    /// Asks for an assertion: for ourselves, or for the user whose assertion `user` is.
    #[must_use]
    pub fn issue(
        rules: &TokenRules,
        user: Option<OnBehalf<'_>>,
        now: Timestamp,
    ) -> (Self, TrustRequest) {
        let is_one_of_several = false;
        Self::asked(
            rules,
            Asked::New {
                user,
                is_one_of_several,
            },
            now,
        )
    }

    /// Asks for an assertion for ourselves, as one of several (WS-Trust 1.4, 4.2).
    pub(super) fn issue_in_batch(rules: &TokenRules, now: Timestamp) -> (Self, TrustRequest) {
        let (user, is_one_of_several) = (None, true);
        Self::asked(
            rules,
            Asked::New {
                user,
                is_one_of_several,
            },
            now,
        )
    }

    /// Asks for a later end of an assertion that was granted by these rules (WS-Trust 1.4, 5). All
    /// else of it is to stay. `None` for one with a symmetric key: nothing in a request shows who
    /// holds it.
    #[must_use]
    pub fn renew(
        rules: &TokenRules,
        granted: &IssuedAssertion,
        now: Timestamp,
    ) -> Option<(Self, TrustRequest)> {
        if matches!(rules.key, TokenKey::Symmetric(_)) {
            return None;
        }
        let (mut pending, request) = Self::asked(rules, Asked::Renewal(&granted.token), now);
        pending.former = Some(Former {
            issuer: granted.issuer.clone(),
            subject: granted.name.clone(),
            ends: granted.ends,
        });
        Some((pending, request))
    }

    fn asked(rules: &TokenRules, asked: Asked<'_>, now: Timestamp) -> (Self, TrustRequest) {
        let context = uuid_urn();
        let entropy = match &rules.key {
            TokenKey::Symmetric(proof) => proof.entropy(),
            TokenKey::Bearer | TokenKey::Public(_) => None,
        };
        let mut body = Vec::with_capacity(4096);
        rules.write(&context, asked, entropy.as_ref(), now, &mut body);
        let RequestType { operation, batch } = asked.request_type();
        let action = Action {
            version: rules.version,
            operation,
            context: false,
            batch,
        };
        // Whoever reads an assertion might use it.
        let shows_assertion = !matches!(asked, Asked::New { user: None, .. });
        let request = TrustRequest {
            action: action.request_uri(),
            body,
            confidential: shows_assertion || entropy.is_some(),
        };
        let pending = Self {
            context,
            entropy,
            former: None,
        };
        (pending, request)
    }

    /// Takes the assertion out of the answer in `body`, the `soap:Body` of a verified message.
    ///
    /// # Errors
    /// [`TrustError`]: it grants nothing, or something else than what was asked for.
    pub fn accept(
        self,
        rules: &TokenRules,
        body: Element<'_>,
        now: Timestamp,
    ) -> Result<IssuedAssertion, TrustError> {
        let answer = one_answer(body, rules.version)?;
        let [element] = answers_in(body)?[..] else {
            return Err(TrustError::AssertionMissing { found: None });
        };
        self.take(rules, (&answer, element), now)
    }

    /// Takes the assertion out of an answer, which stands in this element.
    pub(super) fn take(
        self,
        rules: &TokenRules,
        (answer, element): (&RequestSecurityTokenResponse, Element<'_>),
        now: Timestamp,
    ) -> Result<IssuedAssertion, TrustError> {
        if answer.context.as_ref() != Some(&self.context) {
            return Err(TrustError::AnotherRequestAnswered {
                found: answer.context.clone(),
            });
        }
        rules.check(answer, now)?;
        let proof = match &rules.key {
            TokenKey::Symmetric(proof) => {
                let wanted = proof.wanted(self.entropy.as_ref());
                Some(wanted.of(answer)?)
            }
            TokenKey::Bearer | TokenKey::Public(_) => None,
        };
        let wanted = WantedAssertion {
            version: rules.assertion,
            holder: match &rules.key {
                TokenKey::Bearer => WantedHolder::Bearer,
                TokenKey::Public(certificate) => WantedHolder::Public(certificate.public_key()),
                TokenKey::Symmetric(_) => WantedHolder::Wrapped,
            },
            issuers: &rules.issuers,
            policy: &rules.policy,
        };
        let token = requested_token(element, rules.version)?;
        let mut issued = IssuedAssertion::judge(token, wanted, now)
            .map_err(|rejected| TrustError::AssertionRefused(Box::new(rejected)))?;
        let size = issued.token.written().len();
        if size > LARGEST_ASSERTION {
            return Err(TrustError::AssertionTooLarge {
                size,
                limit: LARGEST_ASSERTION,
            });
        }
        if let Some(key) = proof {
            issued.token = issued.token.with_proof_key(key);
        }
        let said = answer.lifetime.and_then(|lifetime| lifetime.expires);
        let longest = later(now, rules.longest_lifetime);
        issued.ends = issued.ends.min(said.unwrap_or(longest)).min(longest);
        self.former.map_or(Ok(()), |former| former.check(&issued))?;
        Ok(issued)
    }
}

impl Former {
    /// Whether another assertion is this one with a later end (WS-Trust 1.4, 5): of the same
    /// issuer, and about the same subject by all that names it.
    fn check(self, issued: &IssuedAssertion) -> Result<(), TrustError> {
        if issued.issuer != self.issuer {
            return Err(TrustError::IssuerChanged {
                expected: self.issuer,
                found: issued.issuer.clone(),
            });
        }
        if issued.name.value != self.subject.value {
            return Err(TrustError::SubjectChanged {
                expected: self.subject.value,
                found: issued.name.value.clone(),
            });
        }
        if issued.name != self.subject {
            return Err(TrustError::SubjectRequalified {
                name: self.subject.value,
            });
        }
        match issued.ends <= self.ends {
            true => Err(TrustError::NotProlonged {
                before: self.ends,
                found: issued.ends,
            }),
            false => Ok(()),
        }
    }
}

impl TokenRules {
    /// Appends the `wst:RequestSecurityToken`, in canonical form.
    fn write(
        &self,
        context: &str,
        asked: Asked<'_>,
        entropy: Option<&SecretBytes>,
        now: Timestamp,
        out: &mut Vec<u8>,
    ) {
        let version = self.version;
        let name = "wst:RequestSecurityToken";
        // A collection around it declares the namespace.
        let is_alone = !asked.request_type().batch;
        let namespace = is_alone.then(|| version.namespace());
        Writer::new(out).message(name, namespace, Some(context), |writer| {
            writer.text("wst:TokenType", self.assertion.token_type());
            let request_type = asked.request_type();
            writer.text("wst:RequestType", &request_type.uri(version));
            if let Some(applies_to) = &self.applies_to {
                applies_to.write(writer);
            }
            let user = match asked {
                Asked::New { user, .. } => user,
                Asked::Renewal(token) => {
                    writer.element("wst:RenewTarget", None, &[], |writer| {
                        writer.out().extend_from_slice(token.written());
                    });
                    if let Some(lifetime) = self.lifetime {
                        Lifetime::new(now, later(now, lifetime)).write(writer);
                    }
                    return;
                }
            };
            match &self.claims {
                None => {}
                Some(WantedClaims::Template(claims)) => writer.out().extend_from_slice(claims),
                Some(WantedClaims::Types(types)) => {
                    let dialect = [("Dialect", IDENTITY)];
                    writer.element("wst:Claims", None, &dialect, |writer| {
                        for one in types {
                            let uri = [("Uri", one.as_str())];
                            writer.element("ic:ClaimType", Some(IDENTITY), &uri, |_| {});
                        }
                    });
                }
            }
            match user {
                None => {}
                Some(OnBehalf::Of(user)) => {
                    writer.element("wst:OnBehalfOf", None, &[], |writer| {
                        writer.out().extend_from_slice(user.written());
                    });
                }
                Some(OnBehalf::ActingAs(user)) => {
                    writer.element("wst14:ActAs", Some(WST14), &[], |writer| {
                        writer.out().extend_from_slice(user.written());
                    });
                }
            }
            if let Some(lifetime) = self.lifetime {
                Lifetime::new(now, later(now, lifetime)).write(writer);
            }
            writer.text("wst:KeyType", &self.key_type().uri(version));
            match &self.key {
                TokenKey::Bearer => {}
                TokenKey::Public(certificate) => {
                    writer.element("wst:UseKey", None, &[], |writer| {
                        writer.element("ds:KeyInfo", Some(DS), &[], |writer| {
                            writer.element("ds:X509Data", None, &[], |writer| {
                                let der = base64::encode(certificate.der());
                                writer.text("ds:X509Certificate", &der);
                            });
                        });
                    });
                }
                TokenKey::Symmetric(proof) => write_proof(proof, entropy, version, writer),
            }
        });
    }

    /// What the answer says of the token beside it.
    fn check(
        &self,
        answer: &RequestSecurityTokenResponse,
        now: Timestamp,
    ) -> Result<(), TrustError> {
        let ours = [self.assertion.token_type(), self.assertion.namespace()];
        if let Some(other) = &answer.token_type
            && !ours.contains(&other.as_str())
        {
            return Err(TrustError::AssertionMissing {
                found: Some(other.clone()),
            });
        }
        if let Some(key_type) = &answer.key_type
            && *key_type != self.key_type()
        {
            return Err(TrustError::KeyTypeRefused {
                found: key_type.uri(self.version),
            });
        }
        if let (Some(wanted), Some(found)) = (&self.applies_to, &answer.applies_to)
            && wanted.address != found.address
        {
            return Err(TrustError::AppliesToRefused {
                found: found.address.clone(),
            });
        }
        let has_key = answer.proof.is_some() || answer.entropy.is_some();
        if has_key && !matches!(self.key, TokenKey::Symmetric(_)) {
            return Err(TrustError::ProofUnexpected);
        }
        let acts = [
            ("wst:RequestedTokenCancelled", answer.cancelled),
            ("wst:Status", answer.status.is_some()),
        ];
        if let Some((element, _)) = acts.into_iter().find(|(_, is_there)| *is_there) {
            return Err(TrustError::NotUnderstood {
                element: element.to_owned(),
            });
        }
        let lifetime = answer.lifetime.unwrap_or_default();
        let begins = lifetime.created.unwrap_or(now);
        let ends = lifetime.expires.unwrap_or(Timestamp::MAX);
        let good = begins <= later(now, self.policy.skew) && begins < ends && ends > now;
        match good {
            true => Ok(()),
            false => Err(TrustError::LifetimeRefused { lifetime, now }),
        }
    }
}

/// Writes how long the key is to be, our part of it, and how it is to be computed.
fn write_proof(
    proof: &ProofRules,
    entropy: Option<&SecretBytes>,
    version: TrustVersion,
    writer: &mut Writer<'_>,
) {
    writer.text("wst:KeySize", &proof.key_size().to_string());
    if let Some(entropy) = entropy {
        let kind = match proof.contribution {
            Contribution::Ours => SecretType::SymmetricKey,
            Contribution::Both | Contribution::Issuers => SecretType::Nonce,
        };
        let entropy = Entropy::Secret {
            kind: Some(kind),
            octets: entropy.duplicate(),
        };
        writer.element("wst:Entropy", None, &[], |writer| {
            entropy.write(version, writer);
        });
    }
    if proof.contribution == Contribution::Both {
        let algorithm = proof.computed_key.uri(version);
        writer.text("wst:ComputedKeyAlgorithm", &algorithm);
    }
}

/// The answers in a Body, alone or in a collection.
pub(super) fn answers_in(body: Element<'_>) -> Result<Vec<Element<'_>>, TrustError> {
    let answer = only_child(body, "one answer in the `soap:Body`")?;
    Ok(match answer.local() {
        "RequestSecurityTokenResponseCollection" => answer.children().collect(),
        _ => vec![answer],
    })
}

/// The token of an answer, as the element that it is: the signature in it covers it there.
fn requested_token(answer: Element<'_>, version: TrustVersion) -> Result<Element<'_>, TrustError> {
    let is_token = |child: &Element<'_>| child.is(version.namespace(), "RequestedSecurityToken");
    match answer.children().find(is_token) {
        Some(requested) => Ok(only_child(requested, "one token")?),
        None => Err(TrustError::AssertionMissing { found: None }),
    }
}
