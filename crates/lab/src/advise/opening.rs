//! How advice opens: whether it can be trusted, which mechanism to choose and why, which are as
//! good, and what to beware of.
//!
//! The rule kept here: two mechanisms whose latencies may be the same are told as equals.

use soapstone::wss::Mechanism;

use super::{Advice, Check, Means, Prediction, Workload};
use crate::study::Proof;

impl Prediction {
    /// Whether both latencies may be the same, given how far each may be off.
    fn may_equal(&self, other: &Self) -> bool {
        let apart = (self.latency[0] - other.latency[0]).abs();
        apart <= self.latency[1].hypot(other.latency[1])
    }
}

impl Advice {
    /// Those that are as good as the best within the error; only what sustains the rate is as good
    /// as what does.
    pub fn ties(&self) -> Vec<&Prediction> {
        let Some((best, others)) = self.ranked.split_first() else {
            return Vec::new();
        };
        let sustained = |it: &Prediction| it.utilization < 1.0;
        let as_good = others
            .iter()
            .filter(|it| sustained(it) == sustained(best) && it.may_equal(best));
        as_good.collect()
    }

    /// The first sentences: noise before anything else, then the choice, its equals, and warnings.
    /// Empty, if nothing is ranked.
    pub fn opening(&self, workload: &Workload, check: &Check) -> String {
        let Some(best) = self.ranked.first() else {
            return String::new();
        };
        let mut text = String::new();
        if check.median_percent > Check::BAR {
            text.push_str(&format!(
                "The machine was noisy, or costs do not follow the model: half of the predictions were off by {:.1} % or more, and the bar is \
                 {:.0} %. Do not trust what lies close together.\n",
                check.median_percent,
                Check::BAR
            ));
        }
        let milliseconds = |time: f64| format!("{:.3}", time / 1e3);
        if best.utilization < 1.0 {
            let [latency, error] = best.latency.map(milliseconds);
            text.push_str(&format!(
                "Choose {} because of all that satisfies the needs it adds least to a call: {latency} ± {error} ms",
                best.means
            ));
            if let Some(service) = workload.service {
                text.push_str(&format!(
                    ", which makes calls of a service of {} ms {:.1} % longer",
                    service / 1e3,
                    100.0 * best.latency[0] / service
                ));
            }
        } else {
            text.push_str(&format!(
                "Nothing sustains the rate; {} comes nearest",
                best.means
            ));
        }
        let ties = self.ties();
        let names: Vec<String> = ties.iter().map(|it| it.means.to_string()).collect();
        match names.as_slice() {
            [] => text.push_str(".\n"),
            [one] => text.push_str(&format!("; {one} is as good within the error.\n")),
            [some @ .., last] => text.push_str(&format!(
                "; {} and {last} are as good within the error.\n",
                some.join(", ")
            )),
        }
        let mut warned = Vec::new();
        for means in [&best.means]
            .into_iter()
            .chain(ties.iter().map(|it| &it.means))
        {
            for warning in warnings(means, workload) {
                if !warned.contains(&warning) {
                    warned.push(warning);
                    text.push_str(&format!("Beware: {warning}\n"));
                }
            }
        }
        text
    }
}

/// What SECURITY.md warns of, and what a load takes from a prediction.
fn warnings(means: &Means, workload: &Workload) -> Vec<&'static str> {
    let mut warnings = Vec::new();
    if means.mechanism == Mechanism::Username && !means.tls {
        warnings.push(
            "a user's token without TLS says who calls and protects nothing else; who reads the message learns the password or can guess it.",
        );
    }
    // One partner alone can sign nobody else's cipher text.
    if means.mechanism == Mechanism::EncryptSign && workload.callers.is_none_or(|it| it > 1.0) {
        warnings.push(
            "under encrypt-sign a partner can sign what another partner has encrypted, and is answered: where several are trusted, sign first.",
        );
    }
    if means.suite.contains("EcdhEs") && workload.partners.is_empty() {
        warnings.push(
            "of the stacks that are tested only WSS4J 4, and so CXF, speaks suites with EcdhEs.",
        );
    }
    match means.proof {
        Proof::SharedKey => warnings.push(
            "a shared key proves one of all who hold it, and each endpoint counts alone how much it enciphers with it: certificates and conversations have new keys.",
        ),
        Proof::PasswordKey => warnings.push(
            "who sees a message under a key from a password can try passwords on it at leisure: take passwords that a program has drawn, and TLS.",
        ),
        Proof::SamlBearer => warnings.push(
            "who reads a bearer's assertion can send it: encrypt it, or take assertions that name their holder's key.",
        ),
        _ => {}
    }
    if means.tls && workload.hops > 0.0 {
        warnings.push("TLS ends at each intermediary, which reads what passes, and can change it.");
    }
    if means.mechanism == Mechanism::SecureConversation && workload.encrypted < 1.0 {
        warnings.push("conversations are predicted as encrypting the whole Body.");
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prediction(mechanism: Mechanism, suite: &str, latency: [f64; 2]) -> Prediction {
        Prediction {
            means: Means {
                proof: Proof::Usual,
                tls: false,
                mechanism,
                suite: suite.to_owned(),
            },
            latency,
            processor: [0.0; 2],
            octets: 0.0,
            handshake: 0.0,
            utilization: 0.1,
        }
    }

    fn advice(ranked: &[Prediction]) -> Advice {
        Advice {
            ranked: ranked.to_vec(),
            left_out: Vec::new(),
            turns: Vec::new(),
        }
    }

    fn check(median_percent: f64) -> Check {
        Check {
            n: 10,
            median_percent,
            worst_percent: 50.0,
        }
    }

    #[test]
    fn advice_opens_with_the_choice_and_those_that_are_as_good_within_the_error() {
        let advice = advice(&[
            prediction(
                Mechanism::SecureConversation,
                "Basic128GCM",
                [1_000.0, 300.0],
            ),
            prediction(Mechanism::SignEncrypt, "Basic128GCM", [1_400.0, 300.0]),
            prediction(Mechanism::SignEncrypt, "Basic256GCM", [1_500.0, 300.0]),
        ]);
        assert_eq!(
            advice.opening(&Workload::default(), &check(10.0)),
            "Choose secure-conversation/Basic128GCM because of all that satisfies the needs it adds least to a call: 1.000 ± 0.300 ms; \
             sign-encrypt/Basic128GCM is as good within the error.\n"
        );
    }

    #[test]
    fn noise_is_told_before_anything_else_and_warnings_after_the_choice() {
        let advice = advice(&[
            prediction(Mechanism::Username, "", [100.0, 10.0]),
            prediction(Mechanism::EncryptSign, "Basic128GCMEcdhEs", [101.0, 10.0]),
            prediction(Mechanism::SignEncrypt, "Basic128GCMEcdhEs", [102.0, 10.0]),
        ]);
        let opening = advice.opening(&Workload::default(), &check(20.0));
        let lines: Vec<&str> = opening.lines().collect();
        assert!(
            lines[0].starts_with("The machine was noisy, or costs do not follow the model: half")
        );
        assert!(lines[1].ends_with(
            "; encrypt-sign/Basic128GCMEcdhEs and sign-encrypt/Basic128GCMEcdhEs are as good within the error."
        ));
        assert!(lines[2].starts_with("Beware: a user's token without TLS"));
        assert!(lines[3].starts_with("Beware: under encrypt-sign a partner"));
        assert!(lines[4].starts_with("Beware: of the stacks that are tested only WSS4J 4"));
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn what_a_token_does_not_promise_is_warned_of() {
        let opening = |proof| {
            let mut token = prediction(Mechanism::SignEncrypt, "Basic128GCM", [100.0, 1.0]);
            token.means.proof = proof;
            advice(&[token]).opening(&Workload::default(), &check(1.0))
        };
        for (proof, warning) in [
            (
                Proof::SharedKey,
                "Beware: a shared key proves one of all who hold it",
            ),
            (
                Proof::PasswordKey,
                "Beware: who sees a message under a key from a password",
            ),
            (
                Proof::SamlBearer,
                "Beware: who reads a bearer's assertion can send it",
            ),
        ] {
            let opening = opening(proof);
            assert!(opening.contains(warning), "{opening}");
        }
        for proof in [Proof::Usual, Proof::Kerberos, Proof::SamlHolder] {
            let opening = opening(proof);
            assert!(!opening.contains("Beware"), "{opening}");
        }
    }

    #[test]
    fn what_does_not_sustain_the_rate_is_no_equal() {
        let mut slow = prediction(Mechanism::SignEncrypt, "Basic128GCM", [1_000.0, 300.0]);
        slow.utilization = 1.2;
        let advice = advice(&[
            prediction(
                Mechanism::SecureConversation,
                "Basic128GCM",
                [1_000.0, 300.0],
            ),
            slow.clone(),
        ]);
        assert_eq!(advice.ties(), Vec::<&Prediction>::new());
        let nothing = super::tests::advice(&[slow]);
        assert!(
            nothing
                .opening(&Workload::default(), &check(1.0))
                .starts_with("Nothing sustains the rate; sign-encrypt/Basic128GCM comes nearest.")
        );
    }
}
