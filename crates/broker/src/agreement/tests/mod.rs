//! Agreements as the host uses them. The clock is the tests' own, so that what is counted is exact.

mod changes;
mod clients;
mod providers;

use super::*;
use crate::rate::Rate;

const HOUR: Duration = Duration::from_secs(3600);

fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

/// Moments of one test.
struct Clock(Instant);

impl Clock {
    fn new() -> Self {
        Self(Instant::now())
    }

    fn at(&self, since: Duration) -> Moment {
        Moment {
            at: self.0 + since,
            unix: HOUR + since,
        }
    }
}

fn terms(name: &str) -> AgreementTerms {
    AgreementTerms {
        name: name.to_owned(),
        service: "books".to_owned(),
        client: "CN=client".to_owned(),
        backends: Vec::new(),
        class: Class::Gold,
        validity: Validity {
            from: Duration::ZERO,
            until: 100 * HOUR,
        },
        of_client: ClientTerms {
            rate: Rate::parse("10/s", Some(5)),
            rate_text: "10/s, 5 at once".to_owned(),
            bytes: Some(1000),
            operations: vec!["getBooks".to_owned(), "{urn:b}getBook".to_owned()],
            penalty: Some("1 EUR".to_owned()),
        },
        of_provider: ProviderTerms {
            time: Some(ResponseTime {
                within: ms(200),
                quantile: Share::parse("90%").expect("a share"),
            }),
            availability: Share::parse("80%"),
            subject: Some("CN=provider".to_owned()),
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

fn agreement(terms: AgreementTerms) -> Arc<Agreement> {
    Arc::new(Agreement::new(terms))
}

/// An answer that was let through in time.
const WEAK: Served<'_> = Served::Weak {
    why: "unsigned",
    took: Some(Duration::ZERO),
};

const BOOKS: Asked<'_> = Asked {
    operation: Some(("{urn:b}getBooks", "getBooks")),
    bytes: 1000,
    is_proven: true,
};

/// What the events say of violations: obligation, violating calls, all calls.
fn told(events: &[AgreementEvent]) -> Vec<(Obligation, u64, u64)> {
    let told = events.iter().filter_map(|event| match event {
        AgreementEvent::Violated(it) => Some((it.obligation, it.violating, it.calls)),
        _ => None,
    });
    told.collect()
}

fn is_admitted(agreement: &Arc<Agreement>, asked: &Asked<'_>, now: Moment) -> bool {
    matches!(admit([agreement], asked, now).0, Admission::Under(_))
}

fn refusal(admission: Admission) -> Excess {
    match admission {
        Admission::Refused { excess, .. } => excess,
        other => panic!("expected a refusal, found {other:?}"),
    }
}
