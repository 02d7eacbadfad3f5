//! Who sent a request, as far as its security showed.
//!
//! The one rule: one party sent it. What two tokens say of two parties is the word of nobody.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::Certificate;
use soapstone_wss::{
    AssertedOwner, Assertion, AssertionPolicy, Attester, ConfirmationMethod, ContextOwner,
    Envelope, Evidence, Extent, SecurityContext, SignatureEvidence, SignatureRole, Signer,
    Verified,
};

/// Who sent a request, as far as its security showed.
#[derive(Clone, Debug)]
pub struct Requester {
    /// Whom the message showed to have sent the request: by a certificate's signature, by a
    /// password, by a client certificate of TLS, by a Kerberos ticket, by an assertion.
    pub owner: ContextOwner,
    /// The token of another kind that showed who sent the request.
    pub token: Option<RequesterToken>,
    /// The context whose key signed the request.
    pub context: Option<SecurityContext>,
    /// Nobody on the way could read the request, nor will be able to read the answer. A context
    /// that is being renewed does not count: its new key must not be protected by the old one
    /// (WS-SecureConversation 1.4, 5).
    pub confidential: bool,
    /// The certificates whose keys signed the request, or endorsed its signature.
    pub signers: Vec<Certificate>,
    /// The request has the token of a user beside the signature of a certificate, and the
    /// signature does not cover the token: one of both can be of another message. Or it has a
    /// token of another kind beside a user, a certificate or a second one.
    pub mixed: bool,
    /// The request has an assertion that does not show its subject to have sent the request.
    pub idle: bool,
}

/// A token that shows who sent a request, and that is neither a user's nor a certificate.
#[derive(Clone, Debug)]
pub enum RequesterToken {
    /// An assertion whose subject sent the request.
    Assertion {
        /// What it says.
        assertion: Box<Assertion>,
        /// Its end, or that of the confirmation that confirmed it, if that is earlier.
        ends: Timestamp,
    },
    /// A Kerberos token.
    Kerberos {
        /// The principal of its client.
        client: String,
        /// The end of the ticket.
        ends: Timestamp,
    },
}

impl fmt::Display for RequesterToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assertion { assertion, .. } => {
                write!(out, "{} of {}", assertion.subject.value, assertion.issuer)
            }
            Self::Kerberos { client, .. } => out.write_str(client),
        }
    }
}

impl RequesterToken {
    /// The token that shows who sent a verified message, if one does: by its key, which signed the
    /// Body, or by a connection that protects both. What another key signs of an assertion, its
    /// holder of another message could have had signed. What a holder's key signs beside the Body,
    /// any receiver of it could have put before another Body: a connection of the holder's own key
    /// is needed then, or its signature over the Body.
    fn of(
        evidence: &Evidence,
        private_transport: bool,
        covers_body: impl Fn(&SignatureEvidence) -> bool,
    ) -> Option<Self> {
        let signs = |is_its: &dyn Fn(&Signer) -> bool| {
            let mut signatures = evidence.signatures.iter();
            signatures.any(|one| {
                one.role == SignatureRole::Message && is_its(&one.signer) && covers_body(one)
            })
        };
        let endorses = || {
            let covers = |one: &SignatureEvidence| {
                let mut endorsed = evidence.signatures.iter();
                covers_body(one)
                    || endorsed.any(|it| {
                        it.role == SignatureRole::Message && covers_body(it) && one.covers(it.node)
                    })
            };
            let mut signatures = evidence.signatures.iter();
            signatures.any(|one| matches!(one.signer, Signer::Holder { .. }) && covers(one))
        };
        let shown = evidence.assertion.as_ref().and_then(|shown| {
            let is_shown = match shown.confirmed {
                Some(ConfirmationMethod::HolderOfKey) => {
                    signs(&|one| matches!(one, Signer::Holder { .. }))
                        || private_transport && (shown.held_by_connection || endorses())
                }
                Some(ConfirmationMethod::Bearer) => private_transport,
                _ => false,
            };
            is_shown.then(|| Self::Assertion {
                assertion: Box::new(shown.assertion.clone()),
                ends: shown.ends,
            })
        });
        shown.or_else(|| {
            let client = evidence.kerberos_client()?;
            let ends = evidence.kerberos_end?;
            let by_key = signs(&|one| matches!(one, Signer::Kerberos(_)));
            (private_transport || by_key).then(|| Self::Kerberos {
                client: client.to_owned(),
                ends,
            })
        })
    }
}

impl Requester {
    /// Whether nobody was shown to have sent the request.
    pub(super) fn is_nobody(&self) -> bool {
        self.token.is_none() && matches!(self.owner, ContextOwner::Anonymous)
    }

    /// Whether the request has a token that begins no context: an assertion or a Kerberos ticket
    /// that shows nobody, as another name stands beside it. The context would have neither its
    /// subject nor its end.
    pub(super) fn has_idle_token(&self) -> bool {
        let by_token = matches!(
            self.owner,
            ContextOwner::Kerberos { .. } | ContextOwner::Subject(_)
        );
        self.idle || self.token.is_some() && !by_token
    }

    /// When the token that showed the requester ends.
    pub(super) fn token_end(&self, policy: &AssertionPolicy) -> Option<Timestamp> {
        match &self.token {
            // Another confirmation may last longer, and shows nobody here.
            Some(RequesterToken::Assertion { assertion, ends }) => {
                Some(assertion.expires(policy).min(*ends))
            }
            Some(RequesterToken::Kerberos { ends, .. }) => Some(*ends),
            None => None,
        }
    }
}

impl Requester {
    /// The sender of a verified message. Where no signature covers its Body, and nothing else than
    /// the message protects it, nobody was shown to have sent what it asks for: somebody on the
    /// way can have put it there, or the token of a user who sent something else. `contexts` are
    /// those that the host looked up for it; `private_transport`: it came over TLS, and the
    /// answer goes back the same way.
    #[must_use]
    pub fn of(
        verified: &Verified<Envelope>,
        contexts: &[SecurityContext],
        private_transport: bool,
    ) -> Self {
        let evidence = verified.evidence();
        let body = verified.envelope().body();
        let inside = body.first_child().map(|request| request.id());
        let covers_body = |signature: &SignatureEvidence| {
            signature.covers(body.id()) || inside.is_some_and(|it| signature.covers(it))
        };
        let signed = evidence
            .signatures
            .iter()
            .any(|signature| signature.role == SignatureRole::Message && covers_body(signature));
        let proven = signed || private_transport;
        let token = RequesterToken::of(evidence, private_transport, covers_body);
        let is_certified = |one: &SignatureEvidence| one.certificate().is_some();
        let names = [
            evidence.assertion.is_some(),
            evidence.kerberos_client().is_some(),
            evidence.user.is_some() || evidence.signatures.iter().any(is_certified),
        ];
        let several = names.into_iter().filter(|is_there| *is_there).count() > 1;
        let user = evidence.user.as_ref();
        let user = user.filter(|_| private_transport || evidence.user_is_sender());
        // The user comes first: a service that is called over TLS has endorsing signatures of its
        // callers, and no connection ties them to a Body.
        let owner = match (user, evidence.signer()) {
            _ if !proven => ContextOwner::Anonymous,
            (Some(user), _) => ContextOwner::User(user.clone()),
            (None, Some(certificate)) => ContextOwner::Certificate(certificate.clone()),
            (None, None) => ContextOwner::Anonymous,
        };
        let owner = match &token {
            Some(RequesterToken::Kerberos { client, ends }) if !several => ContextOwner::Kerberos {
                client: client.clone(),
                ends: *ends,
            },
            // A ticket beside another name shows nobody.
            Some(RequesterToken::Kerberos { .. }) => ContextOwner::Anonymous,
            _ => match subject_of(evidence, token.as_ref(), several, signed) {
                Some(subject) => ContextOwner::Subject(Arc::new(subject)),
                None if evidence.assertion.is_some() => ContextOwner::Anonymous,
                None => owner,
            },
        };
        let idle = evidence.assertion.is_some() && !matches!(owner, ContextOwner::Subject(_));
        let context = evidence
            .signatures
            .iter()
            .filter(|_| proven)
            .find_map(|signature| {
                let Signer::Context { name, .. } = &signature.signer else {
                    return None;
                };
                contexts.iter().find(|context| context.name() == *name)
            });
        let by_context = evidence.signatures.iter().any(|signature| {
            signature.role == SignatureRole::Message
                && matches!(signature.signer, Signer::Context { .. })
        });
        let encrypted = evidence
            .encrypted
            .iter()
            .any(|encrypted| match encrypted.extent {
                Extent::Content => encrypted.node == body.id(),
                Extent::Element => Some(encrypted.node) == inside,
            });
        let signs = |signature: &&SignatureEvidence| {
            proven
                && (private_transport
                    || signature.role == SignatureRole::Endorsing
                    || covers_body(signature))
        };
        let signers = evidence.signatures.iter().filter(signs);
        Self {
            owner,
            token,
            context: context.cloned(),
            confidential: private_transport || (encrypted && !by_context),
            signers: signers.filter_map(certificate_of).cloned().collect(),
            mixed: several || evidence.mixes_senders(),
            idle,
        }
    }
}

/// The subject of an assertion that was shown to have sent a request: by `token`, or by the one
/// certificate that vouched for the subject and `signed` the Body. Nobody, where another name
/// stands beside.
fn subject_of(
    evidence: &Evidence,
    token: Option<&RequesterToken>,
    several: bool,
    signed: bool,
) -> Option<AssertedOwner> {
    let shown = evidence.assertion.as_ref()?;
    let attester = match token {
        Some(RequesterToken::Assertion { .. }) if !several => None,
        None if shown.confirmed == Some(ConfirmationMethod::SenderVouches) && signed => {
            let attester = evidence.signer()?;
            let certificates = evidence.signatures.iter();
            let mut certificates = certificates.filter_map(SignatureEvidence::certificate);
            let is_alone = certificates.all(|one| one.der() == attester.der())
                && evidence.user.is_none()
                && evidence.kerberos_client().is_none();
            // All of them have the one certificate then.
            let root = evidence.signatures.iter().find_map(|one| one.root)?;
            Some(is_alone.then(|| Attester::of(attester, root))?)
        }
        _ => return None,
    };
    let assertion = &shown.assertion;
    Some(AssertedOwner {
        issuer: assertion.issuer.clone(),
        signed_by: shown.signed_by.clone(),
        subject: assertion.subject.clone(),
        id: assertion.id.clone(),
        ends: shown.ends,
        attributes: assertion.attributes.clone(),
        attester,
    })
}

/// The certificate whose key made a signature. That of an assertion's holder is one: its issuer
/// vouches for the key.
fn certificate_of(signature: &SignatureEvidence) -> Option<&Certificate> {
    match &signature.signer {
        Signer::Holder { certificate, .. } => certificate.as_ref(),
        _ => signature.certificate(),
    }
}
