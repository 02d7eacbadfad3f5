//! Conformance of traffic to one profile, rule by rule: what an auditor is given.
//!
//! The rule kept here: a rule that no document of the traffic could have broken is not called kept.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Value, json};
use soapstone_xml::{Document, Element};

use crate::Report;
use crate::exchange::{Exchange, Pairing, exchanges};
use crate::names::{ADDRESSING, ADDRESSING_DRAFTS, DS, EBMS, WSSE, WSU, XENC};
use crate::rule::{Area, Level, Profile, Rule};
use crate::table::{exchange_rules, rules_table};

/// Most places of a breach that are listed.
const MOST_PLACES: usize = 5;

/// A document of the traffic, and what was found in it.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// Its name.
    pub name: String,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub digest: String,
    /// What was found.
    pub report: Report,
}

/// What the traffic says of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No document breaks it, and at least one has what it is about.
    Kept,
    /// A document breaks it.
    Broken,
    /// A document does otherwise, and no clause says that it may not.
    Remarked,
    /// No document has what it is about.
    NotApplicable,
}

impl Verdict {
    /// The verdict on a rule that is not kept.
    pub(crate) fn of_breach(rule: &Rule) -> Self {
        match rule.level {
            Level::Remark => Self::Remarked,
            Level::Must | Level::Should => Self::Broken,
        }
    }

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "pass",
            Self::Broken => "FAIL",
            Self::Remarked => "remark",
            Self::NotApplicable => "not applicable",
        }
    }
}

/// One rule, and what the traffic says of it.
#[derive(Clone, Debug)]
pub struct RuleVerdict {
    /// The rule.
    pub rule: &'static Rule,
    /// Whether it is kept.
    pub verdict: Verdict,
    /// The breaches that were kept in the reports, as `file:line:column`; of an exchange both
    /// files and what was found.
    pub places: Vec<String>,
}

/// The conformance of traffic to a profile.
#[derive(Clone, Debug)]
pub struct Conformance {
    /// The profile.
    pub profile: Profile,
    /// Its rules, in the order of the table, and those about exchanges behind them.
    pub rules: Vec<RuleVerdict>,
    /// Requests with their answers.
    pub exchanges: Vec<Exchange>,
    /// Names of messages whose other half is not in the traffic: answers, and a request at the end
    /// where the documents are in order.
    pub unpaired: Vec<String>,
    /// The documents: name, digest, and what each is.
    pub documents: Vec<(String, String, &'static str)>,
    /// Whether breaches were counted that are not listed, so that a rule may be broken unseen.
    pub is_cut: bool,
}

impl Conformance {
    /// What the traffic says of the rules of a profile. Its reports were made for this profile.
    pub fn of(profile: Profile, traffic: &[Evidence]) -> Self {
        let areas: BTreeSet<Area> = traffic
            .iter()
            .flat_map(|one| one.report.areas.iter().copied())
            .collect();
        let of_profile = rules_table()
            .iter()
            .filter(|rule| rule.profiles.has(profile));
        let rules = of_profile.map(|rule| {
            let places: Vec<String> = traffic
                .iter()
                .flat_map(|one| {
                    let found = one.report.findings.iter();
                    let found = found.filter(|finding| finding.rule.id == rule.id);
                    found.map(|it| format!("{}:{}:{}", one.name, it.line, it.column))
                })
                .collect();
            let verdict = match (places.is_empty(), areas.contains(&rule.area)) {
                (false, _) => Verdict::of_breach(rule),
                (true, true) => Verdict::Kept,
                (true, false) => Verdict::NotApplicable,
            };
            RuleVerdict {
                rule,
                verdict,
                places,
            }
        });
        let documents = traffic.iter();
        Self {
            profile,
            rules: rules.collect(),
            exchanges: Vec::new(),
            unpaired: Vec::new(),
            documents: documents
                .map(|one| {
                    let subject = one.report.subject.name();
                    (one.name.clone(), one.digest.clone(), subject)
                })
                .collect(),
            is_cut: traffic
                .iter()
                .any(|one| one.report.further_errors + one.report.further_warnings > 0),
        }
    }

    /// With the verdicts on the exchanges of the same traffic.
    #[must_use]
    pub fn with_exchanges(mut self, traffic: &[Evidence], pairing: Pairing) -> Self {
        (self.exchanges, self.unpaired) = exchanges(traffic, pairing);
        if self.exchanges.is_empty() {
            return self;
        }
        for (at, rule) in exchange_rules().iter().enumerate() {
            let verdicts = self.exchanges.iter().map(|one| (one, &one.rules[at]));
            let (mut is_kept, mut places) = (false, Vec::new());
            for (exchange, (_, verdict, found)) in verdicts {
                is_kept |= *verdict == Verdict::Kept;
                if matches!(verdict, Verdict::Broken | Verdict::Remarked) {
                    let Exchange {
                        request, answer, ..
                    } = exchange;
                    places.push(format!("{answer} to {request}: {found}"));
                }
            }
            let verdict = match (places.is_empty(), is_kept) {
                (false, _) => Verdict::of_breach(rule),
                (true, true) => Verdict::Kept,
                (true, false) => Verdict::NotApplicable,
            };
            self.rules.push(RuleVerdict {
                rule,
                verdict,
                places,
            });
        }
        self
    }

    /// How many rules have a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        let rules = self.rules.iter();
        rules.filter(|one| one.verdict == verdict).count()
    }

    /// Whether no rule is broken. Remarks break none.
    pub fn holds(&self) -> bool {
        self.count(Verdict::Broken) == 0 && !self.is_cut
    }

    /// The report, as Markdown. `made` says when and by what.
    pub fn markdown(&self, made: &str) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# Conformance to {}\n", self.profile.title());
        let _ = writeln!(text, "{made}\n");
        let verdict = match (self.holds(), self.documents.is_empty()) {
            (true, _) => "**No rule is broken.**",
            (false, _) => "**The traffic does not conform.**",
        };
        let _ = writeln!(
            text,
            "{verdict} {} rules are kept, {} are broken, {} are remarked on, {} are about what the traffic does not have.\n",
            self.count(Verdict::Kept),
            self.count(Verdict::Broken),
            self.count(Verdict::Remarked),
            self.count(Verdict::NotApplicable)
        );
        if self.is_cut {
            text.push_str("A document has more breaches than are listed: a rule that is called kept may be broken there.\n\n");
        }
        text.push_str("No signature was verified and nothing was deciphered: the form of messages is judged.\n\n");
        text.push_str("## Documents\n\n| document | SHA-256 | is |\n|---|---|---|\n");
        for (name, digest, subject) in &self.documents {
            let _ = writeln!(text, "| {} | `{digest}` | {subject} |", cell(name));
        }
        self.write_exchanges(&mut text);
        text.push_str("\n## Rules\n\n| rule | level | clause | demands | verdict | where |\n|---|---|---|---|---|---|\n");
        for one in &self.rules {
            let rule = one.rule;
            let mut places: Vec<String> = one
                .places
                .iter()
                .take(MOST_PLACES)
                .map(|place| cell(place))
                .collect();
            if one.places.len() > MOST_PLACES {
                places.push(format!("and {} more", one.places.len() - MOST_PLACES));
            }
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} |",
                rule.id,
                rule.level,
                cell(rule.clause),
                cell(rule.explanation),
                one.verdict.name(),
                places.join(", ")
            );
        }
        text
    }

    fn write_exchanges(&self, text: &mut String) {
        if !self.exchanges.is_empty() {
            text.push_str(
                "\n## Exchanges\n\n| request | answer | paired by | broken | remarks |\n|---|---|---|---|---|\n",
            );
        }
        for one in &self.exchanges {
            let of = |wanted: Verdict| {
                let rules = one.rules.iter();
                let found = rules.filter(|(_, verdict, _)| *verdict == wanted);
                found
                    .map(|(rule, ..)| rule.id)
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} |",
                cell(&one.request),
                cell(&one.answer),
                one.by.name(),
                of(Verdict::Broken),
                of(Verdict::Remarked)
            );
        }
        if !self.unpaired.is_empty() {
            let names: Vec<String> = self.unpaired.iter().map(|name| cell(name)).collect();
            let _ = writeln!(
                text,
                "\nWithout their other half in the traffic: {}.",
                names.join(", ")
            );
        }
    }

    /// The report, as JSON.
    pub fn json(&self) -> Value {
        let rules = self.rules.iter().map(|one| {
            json!({
                "rule": one.rule.id,
                "level": one.rule.level.to_string(),
                "clause": one.rule.clause,
                "demands": one.rule.explanation,
                "verdict": one.verdict.name(),
                "places": one.places,
            })
        });
        let documents = self.documents.iter().map(
            |(name, digest, subject)| json!({ "name": name, "sha256": digest, "is": subject }),
        );
        let exchanges = self.exchanges.iter().map(|one| {
            let rules = one.rules.iter().map(
                |(rule, verdict, found)| json!({ "rule": rule.id, "verdict": verdict.name(), "found": found }),
            );
            json!({
                "request": one.request,
                "answer": one.answer,
                "paired_by": one.by.name(),
                "rules": rules.collect::<Vec<_>>(),
            })
        });
        json!({
            "profile": self.profile.name(),
            "holds": self.holds(),
            "is_cut": self.is_cut,
            "documents": documents.collect::<Vec<_>>(),
            "exchanges": exchanges.collect::<Vec<_>>(),
            "unpaired": self.unpaired,
            "rules": rules.collect::<Vec<_>>(),
        })
    }
}

/// A text in a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// The areas that a document has something of.
pub(crate) fn areas_of(document: &Document, of_envelope: bool, is_package: bool) -> Vec<Area> {
    let mut areas = BTreeSet::new();
    if !of_envelope {
        areas.extend([Area::Description, Area::Policy]);
    } else {
        areas.insert(Area::Envelope);
        if is_package {
            areas.insert(Area::Package);
        }
        let root = document.root();
        root.descendants()
            .for_each(|element| read(element, &mut areas));
    }
    areas.into_iter().collect()
}

fn read(element: Element<'_>, areas: &mut BTreeSet<Area>) {
    let value_type = || element.attribute("", "ValueType").unwrap_or_default();
    if element.namespace() == ADDRESSING || ADDRESSING_DRAFTS.contains(&element.namespace()) {
        areas.insert(Area::Addressing);
    }
    match (element.namespace(), element.local()) {
        (WSSE, "Security") => areas.extend([
            Area::Header,
            Area::Digikoppeling,
            Area::As4Security,
            Area::EDelivery,
        ]),
        (EBMS, "Messaging") => areas.extend([Area::Messaging]),
        (EBMS, "UserMessage") => areas.extend([Area::UserMessage]),
        (EBMS, "SignalMessage") => areas.extend([Area::SignalMessage]),
        (WSU, "Timestamp") => areas.extend([Area::Timestamp]),
        (WSSE, "SecurityTokenReference") => areas.extend([Area::Reference]),
        (DS, "Signature") => areas.extend([Area::Signature]),
        (DS, "X509Data") => areas.extend([Area::X509]),
        (XENC, "EncryptedKey" | "EncryptedData" | "ReferenceList") => {
            areas.extend([Area::Encryption]);
        }
        (WSSE, "UsernameToken") => areas.extend([Area::Username]),
        (WSSE, "BinarySecurityToken") => {
            areas.extend([Area::BinaryToken]);
            areas.extend(named_by(&value_type()));
        }
        (WSSE, "KeyIdentifier" | "Reference") => areas.extend(named_by(&value_type())),
        (_, "Assertion") => areas.extend([Area::Saml]),
        (_, "license") => areas.extend([Area::Rel]),
        _ => {}
    }
}

/// The area of a token, by its type.
fn named_by(value_type: &str) -> Option<Area> {
    let has = |word: &str| value_type.contains(word);
    match () {
        () if has("x509") || has("X509") => Some(Area::X509),
        () if has("erberos") => Some(Area::Kerberos),
        () if has("saml") => Some(Area::Saml),
        () if has("rel-token") => Some(Area::Rel),
        () => None,
    }
}
