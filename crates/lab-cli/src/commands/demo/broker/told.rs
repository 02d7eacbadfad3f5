//! What is told of the calls: who was served by whom and why, and what became of providers.
//!
//! The rule kept here: what the broker accepted, refused and lost comes from its audit trail and
//! its own figures. What should have been follows from the cast.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::brokered::cast::{CLIENTS, KILLED, LIAR, PROVIDERS, SLOWED};
use crate::failure::Failure;
use crate::table::{Align, Table};
use crate::testbed::architecture::{Architecture, Provider};

/// A part of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// Everybody is well, but for the liar.
    Well,
    /// One is slow.
    Slowed,
    /// One is killed.
    Killed,
}

impl Part {
    pub(super) const ALL: [Self; 3] = [Self::Well, Self::Slowed, Self::Killed];

    /// What happens in it.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Well => "all run",
            Self::Slowed => "provider-1 slowed",
            Self::Killed => "provider-2 killed",
        }
    }
}

/// Calls of one client that went to one provider in one part.
#[derive(Default)]
struct Served {
    calls: u32,
    failed: u32,
    reasons: BTreeMap<String, u32>,
    failures: BTreeMap<String, u32>,
    microseconds: Vec<u64>,
}

impl Served {
    fn median(&self) -> f64 {
        let mut times = self.microseconds.clone();
        times.sort_unstable();
        times
            .get(times.len() / 2)
            .map_or(0.0, |it| *it as f64 / 1e3)
    }
}

/// Part, client and provider, by their places; no provider where the call went nowhere.
type Place = (Part, usize, Option<usize>);

/// Everything that is told.
pub(super) struct Told {
    /// The names of the providers at the broker.
    names: Vec<String>,
    served: BTreeMap<Place, Served>,
    /// What clients were told instead of an answer.
    lost: Vec<(Part, String)>,
    /// What the broker knows of each provider at the end.
    backends: Vec<Value>,
    /// How long the demo took, from its start to the last call.
    took: Duration,
}

impl Told {
    pub(super) fn new(architecture: &Architecture) -> Self {
        let providers = architecture.providers.iter();
        Self {
            names: providers.map(Provider::backend).collect(),
            served: BTreeMap::new(),
            lost: Vec::new(),
            backends: Vec::new(),
            took: Duration::ZERO,
        }
    }

    /// Takes in the trail of a part, and what clients lost in it.
    pub(super) fn part(&mut self, part: Part, lines: &[Value], lost: Vec<String>) {
        for line in lines {
            let text = |field: &str| line[field].as_str().unwrap_or_default();
            let sender = text("sender").trim_start_matches("CN=");
            let Some(client) = CLIENTS.iter().position(|it| it.name == sender) else {
                continue;
            };
            let named = text("backend");
            let provider = self.names.iter().position(|name| name == named);
            let served = self.served.entry((part, client, provider)).or_default();
            if line["verdict"] == "accepted" && line["status"] == 200 {
                served.calls += 1;
                let reason = text("chosen").to_owned();
                *served.reasons.entry(reason).or_default() += 1;
                let took = line["microseconds"].as_u64();
                served.microseconds.extend(took);
            } else {
                served.failed += 1;
                let failure = text("reason").to_owned();
                *served.failures.entry(failure).or_default() += 1;
            }
        }
        self.lost.extend(lost.into_iter().map(|it| (part, it)));
    }

    /// Takes in what the broker knows at the end, and how long all of it took.
    pub(super) fn end(&mut self, told: &Value, took: Duration) {
        self.took = took;
        let known = told["routes"][0]["backends"].as_array();
        let of = |name: &String| {
            let mut known = known.into_iter().flatten();
            let found = known.find(|it| it["name"] == name.as_str());
            found.cloned().unwrap_or_default()
        };
        self.backends = self.names.iter().map(of).collect();
    }

    /// How many calls there were, and how many of them a provider served that covers the needs of
    /// the client.
    fn met(&self) -> (u32, u32) {
        let (mut calls, mut met) = (0, 0);
        for ((_, client, provider), served) in &self.served {
            calls += served.calls + served.failed;
            let provider = provider.map(|it| &PROVIDERS[it]);
            if provider.is_some_and(|it| CLIENTS[*client].is_served_by(it)) {
                met += served.calls;
            }
        }
        (calls, met)
    }

    /// Calls that the liar got from clients and that they lost by it.
    fn lost_by_the_liar(&self) -> u32 {
        let by_it = self
            .served
            .iter()
            .filter(|(place, _)| place.2 == Some(LIAR));
        by_it.map(|(_, served)| served.failed).sum()
    }

    /// What did not hold that must.
    fn broken(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for ((part, client, provider), served) in &self.served {
            let client = &CLIENTS[*client];
            let how = match provider.map(|it| &PROVIDERS[it]) {
                _ if served.calls == 0 => continue,
                Some(provider) if client.is_served_by(provider) => continue,
                Some(provider) => format!("below its needs by {}", provider.offer.name),
                None => "by an unknown provider".to_owned(),
            };
            broken.push(format!(
                "{} calls of {} were served {how} ({})",
                served.calls,
                client.name,
                part.title()
            ));
        }
        let liar = self.lost_by_the_liar() as usize;
        if self.lost.len() > liar {
            let (part, first) = &self.lost[0];
            broken.push(format!(
                "{} calls were lost, and {liar} of them by the provider that lies; the first ({}): {first}",
                self.lost.len(),
                part.title()
            ));
        }
        for (index, client) in CLIENTS.iter().enumerate() {
            let of_client = self
                .served
                .iter()
                .filter(|it| it.0.0 == Part::Killed && it.0.1 == index);
            if of_client.map(|(_, served)| served.calls).sum::<u32>() == 0 {
                broken.push(format!("{} was not served at the end", client.name));
            }
        }
        let number = |index: usize, field: &str| self.backends[index][field].as_u64();
        if number(LIAR, "failed") <= Some(0) {
            broken.push("the provider that lies was never called".to_owned());
        }
        if self.backends[LIAR]["usable"] != false {
            broken.push("the provider that lies is in use".to_owned());
        }
        if self.backends[KILLED]["usable"] != false {
            broken.push("the provider that was killed is in use".to_owned());
        }
        broken
    }

    /// How the demo ends.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        let broken = self.broken();
        match broken.is_empty() {
            true => Ok(()),
            false => Err(Failure::new(broken.join("; "))),
        }
    }

    /// One line of JSON for each part, client and provider, and one for each provider.
    pub(super) fn json(&self) -> String {
        let mut text = String::new();
        for ((part, client, provider), served) in &self.served {
            let line = json!({
                "part": part.title(),
                "client": CLIENTS[*client].name,
                "provider": provider.map(|it| PROVIDERS[it].offer.name),
                "served": served.calls,
                "failed": served.failed,
                "chosen": served.reasons,
                "failures": served.failures,
                "median_ms": served.median(),
                "meets_needs": provider.map(|it| CLIENTS[*client].is_served_by(&PROVIDERS[it])),
            });
            text.push_str(&format!("{line}\n"));
        }
        for (cast, known) in PROVIDERS.iter().zip(&self.backends) {
            let line = json!({
                "provider": cast.offer.name,
                "fate": cast.fate,
                "state": known["state"],
                "usable": known["usable"],
                "answered": known["answered"],
                "failed": known["failed"],
                "ejections": known["ejections"],
            });
            text.push_str(&format!("{line}\n"));
        }
        let (calls, met) = self.met();
        let line = json!({
            "calls": calls,
            "met": met,
            "seconds": self.took.as_secs_f64(),
            "lost": self.lost.len(),
            "lost_by_the_liar": self.lost_by_the_liar(),
            "broken": self.broken(),
        });
        text.push_str(&format!("{line}\n"));
        text
    }

    /// The tables.
    pub(super) fn tables(&self, url: &str) -> String {
        format!(
            "{}\nWho was served by whom, and why the broker chose so:\n\n{}\n\
             What became of the providers:\n\n{}\n{}\n",
            introduction(url),
            self.calls(),
            self.providers(),
            self.conclusion()
        )
    }

    fn calls(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("part", Left),
            ("client", Left),
            ("served by", Left),
            ("calls", Right),
            ("median ms", Right),
            ("why", Left),
        ]);
        for ((part, client, provider), served) in &self.served {
            let provider = provider.map_or("nobody", |it| PROVIDERS[it].offer.name);
            let median = match served.calls {
                0 => "-".to_owned(),
                _ => format!("{:.1}", served.median()),
            };
            let failures = served.failures.iter();
            let failures = failures.map(|(why, times)| format!("lost: {why} {times}"));
            let reasons = served.reasons.iter();
            let reasons = reasons.map(|(why, times)| format!("{why} {times}"));
            table.row([
                part.title().to_owned(),
                CLIENTS[*client].name.to_owned(),
                provider.to_owned(),
                served.calls.to_string(),
                median,
                reasons.chain(failures).collect::<Vec<_>>().join(", "),
            ]);
        }
        table
    }

    fn providers(&self) -> Table {
        use Align::{Left, Right};
        let mut table = Table::new([
            ("provider", Left),
            ("registered policy", Left),
            ("what it does", Left),
            ("answered", Right),
            ("failed", Right),
            ("at the end", Left),
        ]);
        for (cast, known) in PROVIDERS.iter().zip(&self.backends) {
            let security = cast.offer.security;
            let number = |field: &str| known[field].as_u64().unwrap_or_default().to_string();
            table.row([
                cast.offer.name.to_owned(),
                format!("{}, {}", security.mechanism, security.suite),
                cast.fate.to_owned(),
                number("answered"),
                number("failed"),
                known["state"].as_str().unwrap_or("unknown").to_owned(),
            ]);
        }
        table
    }

    fn conclusion(&self) -> String {
        let liar = self.lost_by_the_liar();
        let other = self.lost.len().saturating_sub(liar as usize);
        let (calls, met) = self.met();
        let share = f64::from(met) / f64::from(calls.max(1)) * 100.0;
        let took = self.took.as_secs_f64();
        let mut text = format!(
            "Calls served as their clients need: {met} of {calls} ({share:.1} %). The demo took {took:.1} s.\n\
             Calls lost by the slowed and the killed provider: {other}. Calls lost by the provider that lies, until it was ejected: {liar}.\n"
        );
        let broken = self.broken();
        text.push_str(&match broken.is_empty() {
            true => "No call was served below its needs.".to_owned(),
            false => format!("What must hold and did not: {}.", broken.join("; ")),
        });
        text
    }
}

/// Who takes part.
fn introduction(url: &str) -> String {
    let mut clients = Table::new([
        ("client", Align::Left),
        ("needs", Align::Left),
        ("said by", Align::Left),
    ]);
    for client in &CLIENTS {
        let cells = [client.name, client.needs, client.source()];
        clients.row(cells.map(str::to_owned));
    }
    format!(
        "Three clients call a broker at {url}. It finds four providers of one service in a registry and chooses\n\
         among those whose policy covers the needs of a call. {} is slow after a while, {} is killed, and {}\n\
         is known to encrypt and does not encrypt its answers.\n\n{clients}",
        PROVIDERS[SLOWED].offer.name, PROVIDERS[KILLED].offer.name, PROVIDERS[LIAR].offer.name,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A demo in which nothing was broken, but for what the liar came to.
    fn told(liar: Value) -> Told {
        let mut backends = vec![json!({ "failed": 0, "usable": true }); PROVIDERS.len()];
        backends[KILLED]["usable"] = false.into();
        backends[LIAR] = liar;
        let served = CLIENTS.iter().enumerate().map(|(index, client)| {
            let provider = PROVIDERS.iter().position(|it| client.is_served_by(it));
            let served = Served {
                calls: 1,
                ..Served::default()
            };
            ((Part::Killed, index, provider), served)
        });
        Told {
            names: Vec::new(),
            served: served.collect(),
            lost: Vec::new(),
            backends,
            took: Duration::ZERO,
        }
    }

    #[test]
    fn a_liar_that_was_never_called_or_is_in_use_proves_nothing() {
        let never = "the provider that lies was never called";
        let in_use = "the provider that lies is in use";
        for (failed, usable, broken) in [
            (1, false, Vec::new()),
            (0, false, vec![never]),
            (1, true, vec![in_use]),
            (0, true, vec![never, in_use]),
        ] {
            let told = told(json!({ "failed": failed, "usable": usable }));
            assert_eq!(told.broken(), broken);
        }
    }

    #[test]
    fn a_call_that_was_lost_or_served_below_its_needs_is_not_met() {
        let mut told = told(json!({ "failed": 1, "usable": false }));
        let clients = u32::try_from(CLIENTS.len()).expect("few");
        assert_eq!(told.met(), (clients, clients));
        let unfit = |client: usize| {
            let provider = PROVIDERS
                .iter()
                .position(|it| !CLIENTS[client].is_served_by(it));
            provider.map(|provider| (client, provider))
        };
        let (client, unfit) = (0..CLIENTS.len())
            .find_map(unfit)
            .expect("the cast has one");
        let served = Served {
            calls: 3,
            failed: 2,
            ..Served::default()
        };
        told.served
            .insert((Part::Well, client, Some(unfit)), served);
        assert_eq!(told.met(), (clients + 5, clients));
    }

    /// The demo promises that no call was served below its needs, and knows nothing of such calls.
    #[test]
    fn calls_that_were_served_by_an_unknown_provider_are_broken() {
        let mut told = told(json!({ "failed": 1, "usable": false }));
        let served = Served {
            calls: 2,
            ..Served::default()
        };
        told.served.insert((Part::Well, 0, None), served);
        let broken = "2 calls of reader were served by an unknown provider (all run)";
        assert_eq!(told.broken(), [broken]);
    }
}
