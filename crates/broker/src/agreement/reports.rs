//! Reports of a provider that do not fit its calls, as its agreement sees them.
//!
//! The rule kept here: a provider owes true reports only where the agreement says so.

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
        let (terms, owed) = (&self.terms, &self.terms.of_provider);
        if !owed.reports || !terms.is_in_force(now.unix) || !terms.is_about(backend) {
            return Vec::new();
        }
        let reports = u64::from(REPORTS);
        let violation = Violation {
            agreement: terms.name.clone(),
            service: terms.service.clone(),
            client: terms.client.clone(),
            backend: Some(backend.to_owned()),
            provider: owed.subject.clone(),
            obligation: Obligation::Reports,
            promised: "reports that fit the calls".to_owned(),
            measured: format!("calls took {seen:?}, and reports say {claimed:?}"),
            calls: reports,
            violating: reports,
            window: (now.unix, now.unix),
            penalty: owed.penalty.clone(),
            excluded: None,
        };
        let mut found = vec![violation];
        let (mut state, mut events) = (self.state(), Vec::new());
        if let Some(provider) = state.provider(backend) {
            events.extend(provider.lapse(&terms.name, backend, now));
            provider.strike(owed.exclusion, &mut found, now);
        }
        note(&mut state.violations, found, &mut events);
        events
    }
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
    fn what_was_not_agreed_is_no_violation() {
        let now = Instant::now();
        assert_eq!(lie(&Agreement::new(terms(false)), "one", now, 5), []);
        let agreement = Agreement::new(terms(true));
        assert_eq!(lie(&agreement, "two", now, 5), []);
        assert_eq!(lie(&agreement, "one", now, 100), []);
    }
}
