//! What a provider says of itself, as its agreement sees it: reports that do not fit its calls, and
//! a policy that is weaker than agreed.
//!
//! The rule kept here: a provider owes true reports and a policy only where the agreement says so.

use std::time::Duration;

use super::violation::{AgreementEvent, Obligation, Violation};
use super::{Agreement, Moment, note};
use crate::claims::REPORTS;

impl Agreement {
    /// A backend was found to be slower than it reports ([`Change::Doubted`]), or still to be so
    /// ([`Change::StillDoubted`]). Returns what that changed.
    ///
    /// [`Change::Doubted`]: crate::Change::Doubted
    /// [`Change::StillDoubted`]: crate::Change::StillDoubted
    pub fn doubted(
        &self,
        backend: &str,
        seen: Duration,
        claimed: Duration,
        now: Moment,
    ) -> Vec<AgreementEvent> {
        if !self.terms.of_provider.reports {
            return Vec::new();
        }
        let said = Said {
            obligation: Obligation::Reports,
            promised: "reports that fit the calls",
            measured: format!("calls took {seen:?}, and reports say {claimed:?}"),
            times: u64::from(REPORTS),
        };
        self.found_of(backend, said, now)
    }

    /// The policy that a backend registered is weaker than agreed, in that. Returns what that
    /// changed.
    pub fn described(&self, backend: &str, weakness: &str, now: Moment) -> Vec<AgreementEvent> {
        if !self.terms.of_provider.description {
            return Vec::new();
        }
        let said = Said {
            obligation: Obligation::Description,
            promised: "a policy that is no weaker than agreed",
            measured: weakness.to_owned(),
            times: 1,
        };
        self.found_of(backend, said, now)
    }

    /// Something was found that no window measures.
    fn found_of(&self, backend: &str, said: Said, now: Moment) -> Vec<AgreementEvent> {
        let (terms, owed) = (&self.terms, &self.terms.of_provider);
        if !terms.is_in_force(now.unix) || !terms.is_about(backend) {
            return Vec::new();
        }
        let violation = Violation {
            agreement: terms.name.clone(),
            service: terms.service.clone(),
            client: terms.client.clone(),
            backend: Some(backend.to_owned()),
            provider: owed.subject.clone(),
            obligation: said.obligation,
            promised: said.promised.to_owned(),
            measured: said.measured,
            calls: said.times,
            violating: said.times,
            window: (now.unix, now.unix),
            penalty: owed.penalty.clone(),
            excluded: None,
        };
        let mut found = vec![violation];
        let (mut state, mut events) = (self.state(), Vec::new());
        let exclusion = state.exclusion;
        if let Some(provider) = state.provider(backend) {
            events.extend(provider.lapse(&terms.name, backend, now));
            provider.strike(exclusion, &mut found, now);
        }
        note(&mut state.violations, found, &mut events);
        events
    }
}

/// What a provider said of itself and did not keep.
struct Said {
    obligation: Obligation,
    promised: &'static str,
    measured: String,
    times: u64,
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::{
        AgreementTerms, Class, ClientTerms, Exclusion, ProviderTerms, Standing, Validity, Window,
    };
    use super::*;

    fn terms(reports: bool) -> AgreementTerms {
        AgreementTerms {
            name: "gold".to_owned(),
            service: "books".to_owned(),
            client: "CN=client".to_owned(),
            backends: vec!["one".to_owned()],
            class: Class::Gold,
            validity: Validity {
                from: Duration::from_secs(1),
                until: Duration::from_secs(100),
            },
            of_client: ClientTerms::default(),
            of_provider: ProviderTerms {
                reports,
                penalty: Some("2 EUR".to_owned()),
                exclusion: Some(Exclusion {
                    after: 2,
                    time: Duration::from_secs(60),
                }),
                ..ProviderTerms::default()
            },
            window: Window::Calls(10),
        }
    }

    /// The violations that come of a lie of a backend at that second.
    fn lie(agreement: &Agreement, backend: &str, at: Instant, second: u64) -> Vec<Violation> {
        let (seen, claimed) = (Duration::from_millis(500), Duration::from_millis(1));
        let unix = Duration::from_secs(second);
        let events = agreement.doubted(backend, seen, claimed, Moment { at, unix });
        let violations = events.into_iter().filter_map(|event| match event {
            AgreementEvent::Violated(violation) => Some(*violation),
            AgreementEvent::Returned { .. } => None,
            other @ AgreementEvent::Expired { .. } => panic!("{other:?}"),
        });
        violations.collect()
    }

    #[test]
    fn a_lie_about_load_is_a_violation_and_two_exclude_the_provider() {
        let (agreement, now) = (Agreement::new(terms(true)), Instant::now());
        let first = lie(&agreement, "one", now, 5);
        let told = (first[0].obligation, first[0].measured.as_str());
        let measured = "calls took 500ms, and reports say 1ms";
        assert_eq!(told, (Obligation::Reports, measured));
        assert_eq!(first[0].penalty.as_deref(), Some("2 EUR"));
        assert_eq!(first[0].excluded, None);
        assert_eq!(agreement.standing("one", now), Standing::Party);
        let second = lie(&agreement, "one", now, 6);
        assert_eq!(second[0].excluded, Some(Duration::from_secs(60)));
        assert_eq!(agreement.standing("one", now), Standing::Excluded);
        let unix = Duration::from_secs(6);
        let status = agreement.status(Moment { at: now, unix });
        assert!(status.violations.contains(&(Obligation::Reports, 2)));
    }

    /// Nothing else than a lie may come between the end of an exclusion and the next look at it.
    #[test]
    fn a_lie_after_an_exclusion_counts_before_anything_else_has_ended_it() {
        let (agreement, now) = (Agreement::new(terms(true)), Instant::now());
        let lie = |second| lie(&agreement, "one", now + Duration::from_secs(second), second);
        lie(5);
        assert!(lie(6)[0].excluded.is_some());
        // One that is found meanwhile makes it no longer, and counts towards no other one.
        assert_eq!(lie(65)[0].excluded, None);
        let moment = |second| Moment {
            at: now + Duration::from_secs(second),
            unix: Duration::from_secs(second),
        };
        let (seen, claimed) = (Duration::from_millis(500), Duration::from_millis(1));
        let events = agreement.doubted("one", seen, claimed, moment(66));
        let [
            AgreementEvent::Returned { .. },
            AgreementEvent::Violated(violation),
        ] = &events[..]
        else {
            panic!("its return, and a violation, found {events:?}");
        };
        assert_eq!(violation.excluded, None);
        assert_eq!(agreement.status(moment(66)).providers[0].strikes, 1);
        assert_eq!(agreement.tick(moment(66)), []);
        assert!(lie(67)[0].excluded.is_some());
        let standing = agreement.standing("one", moment(67).at);
        assert_eq!(standing, Standing::Excluded);
    }

    #[test]
    fn a_policy_that_is_weaker_than_agreed_is_a_violation_and_two_exclude_the_provider() {
        let mut agreed = terms(false);
        agreed.of_provider.description = true;
        let (agreement, at) = (Agreement::new(agreed), Instant::now());
        let described = |agreement: &Agreement, backend, second| {
            let unix = Duration::from_secs(second);
            agreement.described(backend, "answers: nothing is signed", Moment { at, unix })
        };
        let [AgreementEvent::Violated(first)] = &described(&agreement, "one", 5)[..] else {
            panic!("a violation");
        };
        let told = (first.obligation, first.measured.as_str(), first.violating);
        let measured = "answers: nothing is signed";
        assert_eq!(told, (Obligation::Description, measured, 1));
        assert_eq!(agreement.standing("one", at), Standing::Party);
        described(&agreement, "one", 6);
        assert_eq!(agreement.standing("one", at), Standing::Excluded);
        // Another backend, another time, or nothing of it agreed.
        assert_eq!(described(&agreement, "two", 7), []);
        assert_eq!(described(&agreement, "one", 100), []);
        assert_eq!(described(&Agreement::new(terms(true)), "one", 5), []);
    }

    #[test]
    fn what_was_not_agreed_is_no_violation() {
        let now = Instant::now();
        assert_eq!(lie(&Agreement::new(terms(false)), "one", now, 5), []);
        let agreement = Agreement::new(terms(true));
        assert_eq!(lie(&agreement, "two", now, 5), []);
        assert_eq!(lie(&agreement, "one", now, 100), []);
    }
}
