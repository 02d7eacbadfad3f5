//! Agreements in use: which of them a request is under, and what becomes of it there.
//!
//! The broker decides ([`soapstone_broker::admit`]). Here are the names of clients and providers as
//! certificates have them, the clock, and the records.
//!
//! The rule kept here: a request is under an agreement only if the certificate of its client proved
//! to have sent it, or to vouch for whoever began its conversation. What an answer is worth comes
//! from what was proven of it.

use std::sync::Arc;
use std::time::Duration;

use soapstone::crypto::{Certificate, HolderName};
use soapstone_broker::{
    Admission, Agreement, AgreementEvent, AgreementStatus, Class, Excess, Needs, Served, Standing,
    admit, admit_by,
};
use tokio::time::Instant;

use super::together::Together;

use super::roles::{Asked, Proven, fit};
use crate::config::agreements::AgreementsSpec;
use crate::observe::violations::{Violations, moment};

/// The agreements of a configuration.
pub(crate) struct Agreements {
    all: Vec<InUse>,
    violations: Arc<Violations>,
    /// Where requests are counted together with those at other gateways.
    shared: Option<Together>,
}

/// One of them.
struct InUse {
    client: HolderName,
    provider: Option<HolderName>,
    agreement: Arc<Agreement>,
}

/// What agreements are asked about a request.
struct Requested {
    /// Which are those of its client.
    own: Vec<usize>,
    operation: Option<(String, String)>,
    bytes: u64,
    is_proven: bool,
}

impl Requested {
    fn asked(&self) -> soapstone_broker::Asked<'_> {
        let operation = self.operation.as_ref();
        soapstone_broker::Asked {
            operation: operation.map(|(whole, local)| (whole.as_str(), local.as_str())),
            bytes: self.bytes,
            is_proven: self.is_proven,
        }
    }
}

/// A request about which a store is asked that gateways share.
pub(crate) struct Admitting {
    agreements: Arc<Agreements>,
    shared: Together,
    requested: Requested,
}

impl Admitting {
    /// Asks, and waits for the store: no longer than its timeout for each agreement of the client.
    ///
    /// # Errors
    ///
    /// Why the client's agreements do not let the request in.
    pub(crate) fn admit(self) -> Result<Option<UnderAgreement>, OverAgreement> {
        let Self {
            agreements,
            shared,
            requested,
        } = self;
        let now = moment();
        let own = requested
            .own
            .iter()
            .map(|index| &agreements.all[*index].agreement);
        let take = |agreement: &Agreement, rate| shared.take(agreement, rate, now.at);
        let admitted = admit_by(own, &requested.asked(), now, take);
        agreements.told(&requested, admitted)
    }
}

/// What a request is under.
#[derive(Clone, Debug)]
pub(crate) struct UnderAgreement {
    agreement: Arc<Agreement>,
    provider: Option<HolderName>,
    violations: Arc<Violations>,
}

/// A request that its agreement does not let in.
#[derive(Debug)]
pub(crate) struct OverAgreement {
    pub(crate) excess: Excess,
    pub(crate) detail: String,
}

impl OverAgreement {
    /// How long to wait, where waiting helps.
    pub(crate) fn wait(&self) -> Option<Duration> {
        match self.excess {
            Excess::Rate { wait } => Some(wait),
            Excess::Operation | Excess::Unproven | Excess::Size | Excess::Unknown => None,
        }
    }
}

/// What was proven of an answer.
#[derive(Clone, Debug)]
pub(crate) enum AnswerEvidence {
    /// This certificate signed it.
    Signed(Certificate),
    /// A key that is no certificate's did: that of a conversation, for instance. Whose it is was
    /// proven when the key was agreed on.
    Keyed,
    /// Nobody did.
    Unsigned,
}

impl Agreements {
    /// Those of a configuration. One of the former configuration with the same name goes on with
    /// what is known of it.
    pub(crate) fn new(
        spec: AgreementsSpec,
        shared: Option<Together>,
        former: Option<&Self>,
        violations: &Arc<Violations>,
    ) -> Self {
        let now = moment();
        let counted = former.and_then(|former| former.shared.as_ref());
        let shared = shared.map(|shared| match counted {
            Some(former) => shared.following(former),
            None => shared,
        });
        let known = former.map_or(&[][..], |former| &former.all);
        let mut all = Vec::with_capacity(spec.agreements.len());
        for spec in spec.agreements {
            let same = |old: &&InUse| old.agreement.terms().name == spec.terms.name;
            let agreement = match known.iter().find(same) {
                None => Agreement::new(spec.terms),
                Some(old) => {
                    let (next, events) = Agreement::following(&old.agreement, spec.terms, now);
                    violations.tell(events);
                    next
                }
            };
            let agreement = match &shared {
                Some(_) => agreement.judged_together(),
                None => agreement,
            };
            all.push(InUse {
                client: spec.client,
                provider: spec.provider,
                agreement: Arc::new(agreement),
            });
        }
        let next = Self {
            all,
            violations: Arc::clone(violations),
            shared,
        };
        if let (None, Some(former)) = (&next.shared, counted) {
            violations.tell(former.end(next.each(), now));
        }
        for gone in known {
            let name = &gone.agreement.terms().name;
            if !next.all.iter().any(|it| it.agreement.terms().name == *name) {
                violations.tell(gone.agreement.withdraw(now));
            }
        }
        next
    }

    fn each(&self) -> Vec<Arc<Agreement>> {
        let each = self.all.iter().map(|one| Arc::clone(&one.agreement));
        each.collect()
    }

    /// Whether one is about a route.
    pub(crate) fn are_about(&self, route: &str) -> bool {
        let mut all = self.all.iter();
        all.any(|one| one.agreement.terms().service == route)
    }

    /// Whether somebody may be asked about a request of a route. Whose it is is not known before it
    /// is opened: one agreement with a rate speaks for all of them.
    pub(crate) fn may_ask(&self, route: &str) -> bool {
        let mut all = self.all.iter().map(|one| one.agreement.terms());
        self.shared.is_some()
            && all.any(|terms| terms.service == route && terms.of_client.rate.is_some())
    }

    /// The agreement that lets a request in, by what this gateway alone has counted. `None`: its
    /// client has none that is in force.
    ///
    /// # Errors
    ///
    /// Why its agreements do not let it in.
    pub(crate) fn admit(&self, asked: &Asked<'_>) -> Result<Option<UnderAgreement>, OverAgreement> {
        match self.requested(asked) {
            None => Ok(None),
            Some(requested) => {
                let own = requested
                    .own
                    .iter()
                    .map(|index| &self.all[*index].agreement);
                let admitted = admit(own, &requested.asked(), moment());
                self.told(&requested, admitted)
            }
        }
    }

    /// Who is to be asked about a request where gateways count together. `None` where nobody is.
    pub(crate) fn asks(self: &Arc<Self>, asked: &Asked<'_>) -> Option<Admitting> {
        let shared = self.shared.as_ref()?;
        let requested = self.requested(asked)?;
        let has_rate = |index: &usize| self.all[*index].agreement.terms().of_client.rate.is_some();
        requested.own.iter().any(has_rate).then(|| Admitting {
            agreements: Arc::clone(self),
            shared: shared.clone(),
            requested,
        })
    }

    /// Where requests are counted together with those at other gateways.
    pub(crate) fn shared(&self) -> Option<&Together> {
        self.shared.as_ref()
    }

    /// What agreements are asked about a request. `None` if its client has none.
    fn requested(&self, asked: &Asked<'_>) -> Option<Requested> {
        // Whoever vouches for the sender of a message is the client: in a conversation as well.
        let attester = match asked.proven {
            Proven::Subject(owner) => owner.attester.as_ref().map(|one| &one.certificate),
            _ => None,
        };
        let attester = attester.and_then(|it| Some((it.name()?, it.issuer_name())));
        let (client, issuer) = match (asked.proven, &attester) {
            (Proven::Certificate(it), _) => (it.subject_name(), Some(it.issuer_name())),
            (_, Some((attester, issuer))) => (attester, issuer.as_ref()),
            (_, None) => return None,
        };
        let is_own = |one: &InUse| {
            one.agreement.terms().service == asked.route && one.client.is(client, issuer)
        };
        let own = self.all.iter().enumerate();
        let own = own.filter_map(|(index, one)| is_own(one).then_some(index));
        let own: Vec<usize> = own.collect();
        let operation = asked.operation.as_ref();
        // A backend may go by the action: it must not be that of another operation.
        let fits = operation
            .is_none_or(|(_, local)| asked.actions.iter().all(|action| fit(action, local)));
        (!own.is_empty()).then(|| Requested {
            own,
            operation: asked.operation.clone(),
            bytes: asked.bytes,
            is_proven: asked.body_is_proven && fits,
        })
    }

    /// What came of a request.
    fn told(
        &self,
        requested: &Requested,
        (admission, events): (Admission, Vec<AgreementEvent>),
    ) -> Result<Option<UnderAgreement>, OverAgreement> {
        self.violations.tell(events);
        match admission {
            Admission::Free => Ok(None),
            Admission::Under(agreement) => {
                let mut own = requested.own.iter().map(|index| &self.all[*index]);
                let one = own.find(|one| Arc::ptr_eq(&one.agreement, &agreement));
                Ok(Some(UnderAgreement {
                    provider: one.and_then(|one| one.provider.clone()),
                    agreement,
                    violations: Arc::clone(&self.violations),
                }))
            }
            Admission::Refused { agreement, excess } => Err(OverAgreement {
                detail: format!(
                    "the agreement \"{}\" of {} does not let the request in",
                    agreement.terms().name,
                    agreement.terms().client
                ),
                excess,
            }),
        }
    }

    /// A backend of a route was found to be slower than it reports.
    pub(crate) fn doubted(&self, route: &str, backend: &str, seen: Duration, claimed: Duration) {
        let now = moment();
        let about = self.all.iter().map(|one| &one.agreement);
        for agreement in about.filter(|it| it.terms().service == route) {
            let events = agreement.doubted(backend, seen, claimed, now);
            self.violations.tell(events);
        }
    }

    /// Whether one is about the policies that providers of a route register.
    pub(crate) fn are_about_descriptions(&self, route: &str) -> bool {
        let mut all = self.all.iter().map(|one| one.agreement.terms());
        all.any(|terms| terms.service == route && terms.of_provider.description)
    }

    /// The policy that a backend of a route registered is weaker than agreed.
    pub(crate) fn described(&self, route: &str, backend: &str, weakness: &str) {
        let now = moment();
        let about = self.all.iter().map(|one| &one.agreement);
        for agreement in about.filter(|it| it.terms().service == route) {
            let events = agreement.described(backend, weakness, now);
            self.violations.tell(events);
        }
    }

    /// Ends the windows that are over. It waits for the store, where gateways count together.
    pub(crate) fn tick(&self) {
        let now = moment();
        for one in &self.all {
            self.violations.tell(one.agreement.tick(now));
        }
        if let Some(shared) = &self.shared {
            let all = self.all.iter().map(|one| &one.agreement);
            self.violations.tell(shared.look(all));
        }
    }

    /// Ends every window where no agreement goes on, and waits for no store: requests may wait for
    /// this.
    pub(crate) fn end(&self) {
        let now = moment();
        if let Some(shared) = &self.shared {
            self.violations.tell(shared.end(Vec::new(), now));
        }
        for one in &self.all {
            self.violations.tell(one.agreement.withdraw(now));
        }
    }

    /// Ends every window. It waits for the store, where gateways count together.
    pub(crate) fn finish(&self) {
        let now = moment();
        if let Some(shared) = &self.shared {
            self.violations.tell(shared.end_and_wait(self.each(), now));
        }
        for one in &self.all {
            self.violations.tell(one.agreement.finish(now));
        }
    }

    /// What each says and what is known of it.
    pub(crate) fn status(&self) -> impl Iterator<Item = (&Agreement, AgreementStatus)> {
        let now = moment();
        let all = self.all.iter();
        all.map(move |one| (&*one.agreement, one.agreement.status(now)))
    }
}

impl UnderAgreement {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.agreement.terms().name
    }

    /// What it adds to the needs of a request.
    pub(crate) fn needs(&self) -> &Needs {
        &self.agreement.terms().of_provider.security
    }

    /// Who goes first.
    pub(crate) fn class(&self) -> Class {
        self.agreement.terms().class
    }

    /// What it says of a backend.
    pub(crate) fn standing(&self, backend: &str, now: Instant) -> Standing {
        self.agreement.standing(backend, now.into_std())
    }

    /// A request under it has come to its end at a backend.
    pub(crate) fn ended(&self, backend: &str, served: Served<'_>) {
        let events = self.agreement.ended(backend, served, moment());
        self.violations.tell(events);
    }

    /// In what an answer that was let through is weaker than agreed, or than the policy that its
    /// provider registered, which may have answers signed. A fault that nobody secured is
    /// not asked about: the message of a client can cause one.
    pub(crate) fn weakness(
        &self,
        evidence: &AnswerEvidence,
        registered_signatures: bool,
    ) -> Option<String> {
        let owes = registered_signatures && self.agreement.terms().of_provider.description;
        match (evidence, &self.provider) {
            (AnswerEvidence::Unsigned, _) if owes => {
                Some("signed by nobody, and the registered policy signs answers".to_owned())
            }
            (AnswerEvidence::Signed(certificate), Some(provider)) => {
                let (subject, issuer) = (certificate.subject_name(), certificate.issuer_name());
                let is_provider = provider.is(subject, Some(issuer));
                let signer = |it: &Certificate| format!("{} of {}", it.subject(), it.issuer());
                (!is_provider).then(|| format!("signed by {}", signer(certificate)))
            }
            (AnswerEvidence::Unsigned, Some(_)) => Some("signed by nobody".to_owned()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use soapstone::crypto::DistinguishedName;
    use soapstone::wss::{AssertedOwner, Attester, KnownCertificate, NameIdentifier};
    use soapstone_broker::{AgreementTerms, ClientTerms, ProviderTerms, Rate, Validity, Window};

    use super::*;

    /// Whoever vouches for others owes for them what he owes for a single message.
    #[test]
    fn a_conversation_is_under_the_agreement_of_who_vouched_for_its_subject() {
        let violations = Arc::default();
        let terms = AgreementTerms {
            name: "gold".to_owned(),
            service: "/books".to_owned(),
            client: "CN=gateway,O=Acme".to_owned(),
            backends: Vec::new(),
            class: Class::Gold,
            validity: Validity {
                from: Duration::ZERO,
                until: Duration::MAX,
            },
            of_client: ClientTerms {
                rate: Rate::parse("1/h", Some(1)),
                ..ClientTerms::default()
            },
            of_provider: ProviderTerms::default(),
            window: Window::Calls(10),
        };
        let name = |text| DistinguishedName::parse(text).expect("a name");
        let agreement = InUse {
            client: HolderName::new(name("CN=gateway, O=Acme"), Some(name("CN=ca"))),
            provider: None,
            agreement: Arc::new(Agreement::new(terms)),
        };
        let agreements = Agreements {
            all: vec![agreement],
            violations,
            shared: None,
        };
        let admit = |attester: Option<(&str, &str)>| {
            let proven = Proven::Subject(Arc::new(AssertedOwner {
                issuer: "https://idp.example".to_owned(),
                signed_by: None,
                subject: NameIdentifier::default(),
                id: "_a1".to_owned(),
                ends: Timestamp::UNIX_EPOCH,
                attributes: Vec::new(),
                attester: attester.map(|(subject, issuer)| Attester {
                    certificate: KnownCertificate {
                        thumbprint: [1; 32],
                        root: [2; 32],
                        subject: subject.to_owned(),
                        issuer: issuer.to_owned(),
                    },
                    ends: Timestamp::UNIX_EPOCH,
                }),
            }));
            let admitted = agreements.admit(&Asked {
                route: "/books",
                proven: &proven,
                assertion: None,
                operation: None,
                body_is_proven: true,
                actions: Vec::new(),
                bytes: 10,
            });
            admitted.map(|under| under.is_some()).ok()
        };
        let own = ("CN=gateway,O=Acme", "CN=ca");
        // Another authority has certified the same subject.
        let namesake = ("CN=gateway,O=Acme", "CN=other");
        assert_eq!(admit(Some(namesake)), Some(false));
        assert_eq!(admit(Some(own)), Some(true));
        assert_eq!(admit(Some(own)), None, "one an hour");
        assert_eq!(admit(Some(("CN=other,O=Acme", "CN=ca"))), Some(false));
        assert_eq!(admit(None), Some(false));
    }
}
