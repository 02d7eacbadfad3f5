//! What is done about SAML assertions: issue, renew, cancel, validate (WS-Trust 1.4, 4 to 7 and 9).
//!
//! ```text
//! request ─ for whom? ─ about whom? ─ which attributes? ─ how long? ─ which key? ─▶ assertion
//! ```
//!
//! The one rule: an assertion is about the proven sender of the request. For another subject it
//! takes a delegation, and an assertion that proves the subject.

mod actor_names;
mod asked;
mod cancelled;
mod delegated;
mod rules;
mod statement;

use jiff::Timestamp;
use soapstone_crypto::{Certificate, KeyKind, KeyTransport, OaepParameters};
use soapstone_wss::{ConfirmationMethod, ContextOwner, KeyTransportMethod, SamlVersion};
use soapstone_xml::{Document, Element};
use soapstone_xmlsec::enc::KeyEncryption;
use soapstone_xmlsec::write::{EncryptedKeyParts, encrypted_key};

pub use self::asked::ACTOR_CLAIM;
use self::asked::{AssertionRequest, Subject, actors, is_named};
use self::rules::Party;
pub use self::rules::{
    AssertionRules, ClaimDialect, Delegation, DelegationForm, ForeignSubjects, GrantedAttribute,
    Parties, TRANSIENT_NAMES, TargetService,
};
use self::statement::{Authentication, Confirmation, Statement, named_by_thumbprint, reference};
use super::keys::NewKey;
use super::{Issued, Outcome, Records, Requester, SecurityTokenService};
use crate::fault::Refusal;
use crate::identifier;
use crate::message::{
    ContextReference, Lifetime, RequestSecurityToken, RequestSecurityTokenResponse, RequestedClaim,
    RequestedClaims, SecurityToken, TokenStatus, later,
};
use crate::version::{KeyType, Operation};

impl SecurityTokenService {
    /// What is done about assertions; `version` is the one that is wanted.
    pub(super) fn about_assertion(
        &self,
        request: &RequestSecurityToken,
        requester: &Requester,
        (document, records): (&Document, Records<'_>),
        (operation, version): (Operation, SamlVersion),
        now: Timestamp,
    ) -> Result<Outcome, Refusal> {
        let not_offered = Refusal::OperationNotOffered { operation };
        let rules = self.rules.assertions.as_deref().ok_or(not_offered)?;
        if requester.mixed {
            return Err(Refusal::RequesterAmbiguous);
        }
        let asked = AssertionRequest {
            service: self,
            rules,
            request,
            requester,
            document,
            records,
            now,
        };
        match operation {
            Operation::Issue => asked.issue(version),
            Operation::Renew => asked.renew(version),
            Operation::Validate => asked.validate(),
            Operation::Cancel => asked.cancel(),
            operation => Err(Refusal::OperationNotOffered { operation }),
        }
    }
}

impl AssertionRequest<'_> {
    /// A new assertion.
    fn issue(&self, version: SamlVersion) -> Result<Outcome, Refusal> {
        let requester = self.party()?;
        let target = self.target()?;
        let subject = match self.acts()? {
            Some((form, token)) => self.delegated(form, token, &requester, target)?,
            None => self.oneself(&requester),
        };
        let attributes = self.attributes(&subject)?;
        let (confirmation, key_type, key) = self.confirmation(target)?;
        let expires = self.expires(&subject, &confirmation)?;
        self.written(Writing {
            version,
            what: "issued",
            target,
            subject: &subject,
            attributes: &attributes,
            confirmation: &confirmation,
            key_type,
            key,
            expires,
            requester: &requester,
        })
    }

    /// The assertion of a request, with a later end, for its subject. All else of it stays, and a
    /// request for another key, `version` or content is refused.
    fn renew(&self, version: SamlVersion) -> Result<Outcome, Refusal> {
        let requester = self.party()?;
        self.asks_for_nothing_new()?;
        if self.request.entropy.is_some() {
            return Err(self.not_understood("Entropy"));
        }
        let Some(renewable) = self.rules.renewable else {
            return Err(Refusal::OperationNotOffered {
                operation: Operation::Renew,
            });
        };
        let old = self.verified(self.target_element(Operation::Renew)?)?;
        let refused = |problem: &str| {
            Err(Refusal::NotRenewable {
                problem: problem.to_owned(),
            })
        };
        if self.is_actor() {
            return refused("the requester acts for its subject");
        }
        let own = self.rules.issued(&old);
        let party = Party::own_subject(&old.subject).filter(|_| own);
        let target = self
            .rules
            .services
            .iter()
            .find(|target| old.is_for(std::slice::from_ref(&target.audience)));
        let may_renew = |party: &Party| {
            let acts = |target| self.renews_for(&old, party, &requester, target);
            party.is(&requester) || target.is_some_and(acts)
        };
        let Some(party) = party.filter(may_renew) else {
            return refused("it was not issued here about the requester");
        };
        let other_type = self.request.token_type.as_ref();
        if let Some(found) = other_type.filter(|_| version != old.version) {
            return Err(Refusal::TokenTypeNotOffered {
                found: found.clone(),
            });
        }
        let Some(target) = target else {
            return refused("no tokens are issued here any more for its audience");
        };
        if let Some(applies_to) = &self.request.applies_to
            && applies_to.address != target.address
        {
            return Err(Refusal::ScopeNotOffered {
                address: applies_to.address.clone(),
            });
        }
        let authenticated = old.authenticated.unwrap_or(old.issued);
        let last = later(authenticated, renewable);
        if last <= self.now {
            return refused("its subject has to authenticate anew");
        }
        let (confirmation, key_type) = match old.methods().next() {
            Some(ConfirmationMethod::Bearer) => (Confirmation::Bearer, KeyType::Bearer),
            _ => {
                let mut signers = self.requester.signers.iter();
                let held =
                    |one: &&Certificate| old.holder_keys().any(|key| key == one.public_key());
                let Some(holder) = signers.find(held) else {
                    return refused("its key did not sign the request");
                };
                (
                    Confirmation::Certificate(holder.clone()),
                    KeyType::PublicKey,
                )
            }
        };
        if !self.rules.key_types.contains(&key_type) {
            return Err(self.key_type_not_offered(&key_type));
        }
        let asked = self.request.key_type.as_ref();
        if let Some(other) = asked.filter(|asked| **asked != key_type) {
            return Err(self.key_type_not_offered(other));
        }
        let subject = Subject {
            authenticated,
            authentication: Authentication::Unspecified,
            ends: Some(self.end_of_owner().map_or(last, |end| end.min(last))),
            actors: actors(&old),
            party,
        };
        let said = |name: &str| old.attributes.iter().any(|it| is_named(it, name));
        let mut attributes = self.available(&subject);
        attributes.retain(|(name, _)| said(name));
        let expires = self.expires(&subject, &confirmation)?;
        self.written(Writing {
            version: old.version,
            what: "renewed",
            target,
            subject: &subject,
            attributes: &attributes,
            confirmation: &confirmation,
            key_type,
            key: None,
            expires,
            requester: &requester,
        })
    }

    /// Whether an assertion is good: one that was issued here, or by an issuer that is trusted. Why
    /// it is not is told to nobody.
    fn validate(&self) -> Result<Outcome, Refusal> {
        self.party()?;
        self.asks_for_nothing_new()?;
        let version = self.request.version;
        let status_type = version.status_token_type();
        let wanted = self.request.token_type.as_ref();
        if let Some(other) = wanted.filter(|it| **it != status_type) {
            return Err(Refusal::TokenTypeNotOffered {
                found: other.clone(),
            });
        }
        let element = self.target_element(Operation::Validate)?;
        let mut answer = RequestSecurityTokenResponse::new(version);
        answer.context.clone_from(&self.request.context);
        answer.token_type = Some(status_type);
        answer.status = Some(match self.verified(element) {
            Ok(_) => TokenStatus::Valid,
            Err(unknown @ Refusal::CancellationsUnavailable { .. }) => return Err(unknown),
            Err(_) => TokenStatus::Invalid,
        });
        Ok(Outcome::of(answer))
    }

    /// Refuses what a request asks of a new assertion alone: claims, another key, another subject
    /// (WS-Trust 1.4, 3.1).
    pub(super) fn asks_for_nothing_new(&self) -> Result<(), Refusal> {
        match self.request.about_assertions() {
            Some(element) => Err(Refusal::NotUnderstood { element }),
            None => Ok(()),
        }
    }

    pub(super) fn not_understood(&self, local: &str) -> Refusal {
        Refusal::NotUnderstood {
            element: format!("{{{}}}{local}", self.request.version.namespace()),
        }
    }

    /// The token inside of what a request is to be done with.
    pub(super) fn target_element(&self, operation: Operation) -> Result<Element<'_>, Refusal> {
        let node = self.request.target_node;
        let node = node.ok_or(Refusal::TargetMissing { operation })?;
        Ok(self.document.element(node))
    }

    /// The service that a request names.
    fn target(&self) -> Result<&TargetService, Refusal> {
        let applies_to = self.request.applies_to.as_ref();
        let applies_to = applies_to.ok_or(Refusal::ScopeMissing)?;
        let mut services = self.rules.services.iter();
        services
            .find(|service| service.address == applies_to.address)
            .ok_or_else(|| Refusal::ScopeNotOffered {
                address: applies_to.address.clone(),
            })
    }

    /// Everything that may be said of a subject.
    fn available(&self, subject: &Subject) -> Vec<(String, Vec<String>)> {
        let mut available: Vec<(String, Vec<String>)> = Vec::new();
        for attribute in &self.rules.attributes {
            // Of the subjects of others nothing is known here.
            let is_ours = !matches!(subject.party, Party::Foreign(_));
            if !is_ours || !attribute.subjects.include(&subject.party) {
                continue;
            }
            let values = attribute.values.iter().cloned();
            match available
                .iter_mut()
                .find(|(name, _)| *name == attribute.claim)
            {
                Some((_, known)) => known.extend(values),
                None => available.push((attribute.claim.clone(), values.collect())),
            }
        }
        available
    }

    /// What the assertion says of its subject: all that may be said, or the claims that the request
    /// asks for.
    fn attributes(&self, subject: &Subject) -> Result<Vec<(String, Vec<String>)>, Refusal> {
        let mut said = self.available(subject);
        if let Some(requested) = &self.request.claims {
            let wanted = self.wanted_claims(requested)?;
            let is_known = |uri: &str| said.iter().any(|(name, _)| name == uri);
            let mut needed = wanted.iter().filter(|claim| !claim.optional);
            if let Some(unknown) = needed.find(|claim| !is_known(&claim.uri)) {
                return Err(Refusal::ClaimNotOffered {
                    claim: unknown.uri.clone(),
                });
            }
            said.retain(|(name, _)| wanted.iter().any(|claim| claim.uri == *name));
        }
        Ok(said)
    }

    /// The claims that a request asks for, as identity claims: by the rule for its dialect. Without
    /// a rule, and without a meaning in it, nothing is said that nobody understood (WS-Trust 1.4,
    /// 9.3).
    fn wanted_claims(&self, requested: &RequestedClaims) -> Result<Vec<RequestedClaim>, Refusal> {
        if requested.are_of_identity() {
            return Ok(requested.claims.clone());
        }
        let mut dialects = self.rules.dialects.iter();
        let dialect = dialects.find(|one| one.dialect == requested.dialect);
        let dialect = dialect.ok_or_else(|| self.not_understood("Claims"))?;
        let not_offered = |claim: &String| Refusal::ClaimNotOffered {
            claim: claim.clone(),
        };
        if let Some(claim) = &requested.says_more {
            return Err(not_offered(claim));
        }
        let mut wanted = Vec::with_capacity(requested.claims.len());
        for asked in &requested.claims {
            match dialect.meaning(&asked.uri) {
                Some(uri) => wanted.push(RequestedClaim {
                    uri: uri.to_owned(),
                    optional: asked.optional,
                }),
                None if asked.optional => {}
                None => return Err(not_offered(&asked.uri)),
            }
        }
        Ok(wanted)
    }

    /// When the assertion ends: as the request asks and the rules allow, and no later than what it
    /// rests on.
    fn expires(
        &self,
        subject: &Subject,
        confirmation: &Confirmation,
    ) -> Result<Timestamp, Refusal> {
        let (rules, now) = (self.rules, self.now);
        let asked = super::lifetime::end(
            self.request.lifetime,
            (rules.lifetime, rules.longest_lifetime),
            self.service.rules.skew,
            now,
        )?;
        let shortest = later(now, rules.shortest_lifetime);
        let too_short = |end: Timestamp| Refusal::TimeRange {
            lifetime: Lifetime::new(now, end),
            now,
        };
        if asked < shortest {
            return Err(too_short(asked));
        }
        let holder = match confirmation {
            Confirmation::Certificate(certificate) => Some(certificate.not_after()),
            _ => None,
        };
        let own = rules.identity.certificate().not_after();
        let ends = [Some(own), holder, subject.ends].into_iter().flatten();
        let end = ends.fold(asked, Timestamp::min);
        match end > now {
            true => Ok(end),
            false => Err(too_short(end)),
        }
    }

    fn key_type_not_offered(&self, key_type: &KeyType) -> Refusal {
        Refusal::KeyTypeNotOffered {
            found: key_type.uri(self.request.version),
        }
    }

    /// The key of the assertion.
    fn confirmation(
        &self,
        target: &TargetService,
    ) -> Result<(Confirmation, KeyType, Option<NewKey>), Refusal> {
        let request = self.request;
        let first = self.rules.key_types.first();
        let wanted = request.key_type.as_ref().or(first);
        let wanted = wanted.cloned().unwrap_or(KeyType::SymmetricKey);
        if !self.rules.key_types.contains(&wanted) {
            return Err(self.key_type_not_offered(&wanted));
        }
        if wanted != KeyType::PublicKey && request.use_key.is_some() {
            return Err(self.not_understood("UseKey"));
        }
        if wanted != KeyType::SymmetricKey && request.entropy.is_some() {
            return Err(self.not_understood("Entropy"));
        }
        match wanted {
            KeyType::Bearer => Ok((Confirmation::Bearer, wanted, None)),
            KeyType::PublicKey => {
                let holder = self.holder().ok_or(Refusal::KeyNotProven)?;
                Ok((Confirmation::Certificate(holder.clone()), wanted, None))
            }
            KeyType::SymmetricKey => {
                let recipient = target.certificate.as_ref();
                let recipient = recipient.ok_or_else(|| self.key_type_not_offered(&wanted))?;
                let bits = self.service.rules.key_size;
                let key = self.service.new_key(request, self.requester, bits)?;
                let encrypted = encrypted_for(recipient, target.key_transport, key.key.expose())?;
                Ok((Confirmation::Encrypted(encrypted), wanted, Some(key)))
            }
            KeyType::Other(_) => Err(self.key_type_not_offered(&wanted)),
        }
    }

    /// The certificate whose key the assertion names: that of `wst:UseKey` if its key signed the
    /// request, or else the one that signed it.
    fn holder(&self) -> Option<&Certificate> {
        let signers = &self.requester.signers;
        if let Some(key) = &self.request.use_key {
            return signers.iter().find(|one| one.public_key() == key);
        }
        match (&self.requester.owner, &signers[..]) {
            (ContextOwner::Certificate(owner), signers) => {
                signers.iter().find(|one| one.der() == owner.der())
            }
            (_, [only]) => Some(only),
            _ => None,
        }
    }

    /// The answer with an assertion.
    fn written(&self, writing: Writing<'_>) -> Result<Outcome, Refusal> {
        let Writing {
            version,
            what,
            target,
            subject,
            attributes,
            confirmation,
            key_type,
            key,
            expires,
            requester,
        } = writing;
        let id = format!("_{}", identifier::uuid());
        let mut attributes = attributes.to_vec();
        if !subject.actors.is_empty() {
            attributes.push((ACTOR_CLAIM.to_owned(), subject.actors.clone()));
        }
        let statement = Statement {
            version,
            id: &id,
            issued: self.now,
            expires,
            subject: &subject.party,
            authenticated: subject.authenticated,
            authentication: subject.authentication,
            confirmation,
            audience: &target.audience,
            attributes: &attributes,
        };
        let mut answer = RequestSecurityTokenResponse::new(self.request.version);
        answer.context.clone_from(&self.request.context);
        answer.token_type = Some(version.token_type().to_owned());
        answer.applies_to.clone_from(&self.request.applies_to);
        answer.token = Some(SecurityToken::Other(statement.signed(self.rules)?));
        let reference = ContextReference::Other(reference(version, &id));
        answer.attached = Some(reference.clone());
        answer.unattached = Some(reference);
        answer.lifetime = Some(Lifetime::new(self.now, expires));
        // Every reader of an assertion without a key is its subject.
        let is_bearers = key_type == KeyType::Bearer;
        let mut confidential = is_bearers;
        answer.key_type = Some(key_type);
        if let Some(key) = key {
            answer.proof = key.proof;
            answer.entropy = key.entropy;
            answer.key_size = Some(key.bits);
            confidential |= key.confidential;
        }
        Ok(Outcome {
            confidential,
            issued: Some(Issued {
                what,
                id,
                is_bearers,
                subject: subject.party.name().to_owned(),
                domain: subject.party.domain().map(str::to_owned),
                requester: requester.name().to_owned(),
                audience: target.audience.clone(),
            }),
            ..Outcome::of(answer)
        })
    }
}

/// What is written into an answer.
struct Writing<'w> {
    version: SamlVersion,
    what: &'static str,
    target: &'w TargetService,
    subject: &'w Subject,
    attributes: &'w [(String, Vec<String>)],
    confirmation: &'w Confirmation,
    key_type: KeyType,
    key: Option<NewKey>,
    expires: Timestamp,
    requester: &'w Party,
}

/// A symmetric key as an `xenc:EncryptedKey` for a certificate.
fn encrypted_for(
    recipient: &Certificate,
    method: KeyTransportMethod,
    key: &[u8],
) -> Result<Vec<u8>, Refusal> {
    if !takes_symmetric_keys(recipient) || method.algorithm == KeyTransport::Rsa15 {
        return Err(Refusal::Library {
            problem: "a symmetric key is encrypted to RSA keys alone, and by OAEP".to_owned(),
        });
    }
    let algorithm = method.algorithm;
    let oaep = OaepParameters::new(method.digest, method.mask);
    let wrapped = recipient.public_key().wrap(algorithm, &oaep, key);
    let cipher_value = wrapped.map_err(|error| Refusal::Library {
        problem: error.to_string(),
    })?;
    let key_info = named_by_thumbprint(recipient);
    let mut out = Vec::new();
    encrypted_key(
        &EncryptedKeyParts {
            id: None,
            recipient: None,
            method: &KeyEncryption::Transport { algorithm, oaep },
            implied_oaep_digest: false,
            raw_key_info: Some(&key_info),
            cipher_value: &cipher_value,
            data_references: &[],
            carried_key_name: None,
        },
        &mut out,
    );
    Ok(out)
}

/// Whether symmetric keys can be encrypted to a certificate.
#[must_use]
pub fn takes_symmetric_keys(certificate: &Certificate) -> bool {
    matches!(certificate.public_key().kind(), KeyKind::Rsa { .. })
}
