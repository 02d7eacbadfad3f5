//! Conformance of traffic to one profile, rule by rule: what an auditor is given.
//!
//! The rule kept here: a rule that no document of the traffic could have broken is not called kept.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Value, json};
use soapstone_xml::{Document, Element};

use crate::exchange::{Exchange, Pairing, exchanges};
use crate::look::wsdl::bindings::{NOT_LOOKED_AT, RULES_OF_MESSAGES};
use crate::names::{ADDRESSING, ADDRESSING_DRAFTS, DS, EBMS, WSSE, WSU, XENC};
use crate::rule::{Area, Profile, Rule};
use crate::table::{NOT_LOOKED_FOR, exchange_rules, rules_table};
use crate::verdict::{Evidence, Verdict};

/// Most places of a breach that are listed.
const MOST_PLACES: usize = 5;

/// A document that was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub digest: String,
    /// How many bytes it has.
    pub bytes: usize,
    /// What it is.
    pub subject: &'static str,
    /// When it says that it was made, in its Timestamp.
    pub created: Option<String>,
    /// Its `wsa:MessageID`.
    pub message_id: Option<String>,
}

impl Judged {
    fn of(one: &Evidence) -> Self {
        let facts = one.report.exchange.as_ref();
        Self {
            name: one.name.clone(),
            digest: one.digest.clone(),
            bytes: one.bytes,
            subject: one.report.subject.name(),
            created: facts.and_then(|facts| facts.created()).map(str::to_owned),
            message_id: facts
                .and_then(|facts| facts.message_id())
                .map(crate::findings::shortened),
        }
    }
}

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Where it is, as `file:line:column`; of an exchange both files.
    pub place: String,
    /// The element; empty of an exchange.
    pub element: String,
    /// What was expected; empty of an exchange, where the rule says it.
    pub expected: String,
    /// What was found.
    pub found: String,
}

/// One rule, and what the traffic says of it.
#[derive(Clone, Debug)]
pub struct RuleVerdict {
    /// The rule.
    pub rule: &'static Rule,
    /// Whether it is kept.
    pub verdict: Verdict,
    /// The breaches that were kept in the reports.
    pub breaches: Vec<Breach>,
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
    /// How they were looked for.
    pub pairing: Pairing,
    /// The documents.
    pub documents: Vec<Judged>,
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
        let findings = || traffic.iter().flat_map(|one| &one.report.findings);
        let is_bounded = findings().any(|finding| finding.rule.id == NOT_LOOKED_AT);
        let rules = of_profile.map(|rule| {
            let is_not_looked_at = is_bounded && RULES_OF_MESSAGES.contains(&rule.id);
            let breaches: Vec<Breach> = traffic
                .iter()
                .flat_map(|one| {
                    let found = one.report.findings.iter();
                    let found = found.filter(|finding| finding.rule.id == rule.id);
                    found.map(|it| Breach {
                        place: format!("{}:{}:{}", one.name, it.line, it.column),
                        element: it.element.clone(),
                        expected: it.expected.clone(),
                        found: it.found.clone(),
                    })
                })
                .collect();
            let verdict = match (breaches.is_empty(), areas.contains(&rule.area)) {
                (false, _) => Verdict::of_breach(rule),
                (true, true) if is_not_looked_at => Verdict::NotLookedAt,
                (true, true) => Verdict::Kept,
                (true, false) => Verdict::NotApplicable,
            };
            RuleVerdict {
                rule,
                verdict,
                breaches,
            }
        });
        Self {
            profile,
            rules: rules.collect(),
            exchanges: Vec::new(),
            unpaired: Vec::new(),
            pairing: Pairing::default(),
            documents: traffic.iter().map(Judged::of).collect(),
            is_cut: traffic
                .iter()
                .any(|one| one.report.further_errors + one.report.further_warnings > 0),
        }
    }

    /// With the verdicts on the exchanges of the same traffic.
    #[must_use]
    pub fn with_exchanges(mut self, traffic: &[Evidence], pairing: Pairing) -> Self {
        self.pairing = pairing;
        (self.exchanges, self.unpaired) = exchanges(traffic, pairing);
        if self.exchanges.is_empty() {
            return self;
        }
        for (at, rule) in exchange_rules().iter().enumerate() {
            let verdicts = self.exchanges.iter().map(|one| (one, &one.rules[at]));
            let (mut is_kept, mut breaches) = (false, Vec::new());
            for (exchange, (_, verdict, found)) in verdicts {
                is_kept |= *verdict == Verdict::Kept;
                if matches!(verdict, Verdict::Broken | Verdict::Remarked) {
                    let Exchange {
                        request, answer, ..
                    } = exchange;
                    breaches.push(Breach {
                        place: format!("{answer} to {request}"),
                        element: String::new(),
                        expected: String::new(),
                        found: found.clone(),
                    });
                }
            }
            let verdict = match (breaches.is_empty(), is_kept) {
                (false, _) => Verdict::of_breach(rule),
                (true, true) => Verdict::Kept,
                (true, false) => Verdict::NotApplicable,
            };
            self.rules.push(RuleVerdict {
                rule,
                verdict,
                breaches,
            });
        }
        self
    }

    /// How many rules have a verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        let rules = self.rules.iter();
        rules.filter(|one| one.verdict == verdict).count()
    }

    /// Whether no rule is broken, and all was looked at. Remarks break none.
    pub fn holds(&self) -> bool {
        let is_whole = !self.is_cut && self.count(Verdict::NotLookedAt) == 0;
        self.count(Verdict::Broken) == 0 && is_whole
    }

    /// The report, as Markdown. `made` says when and by what.
    pub fn markdown(&self, made: &str) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# Conformance to {}\n", self.profile.title());
        let _ = writeln!(text, "{made}\n");
        let not_looked_at = self.count(Verdict::NotLookedAt);
        let is_bounded = not_looked_at > 0 && self.count(Verdict::Broken) == 0 && !self.is_cut;
        let verdict = match (self.holds(), is_bounded) {
            (true, _) => "**No rule is broken.**",
            (false, true) => "**No rule is known to be broken, and not all was looked at.**",
            (false, false) => "**The traffic does not conform.**",
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
        if not_looked_at > 0 {
            let _ = writeln!(
                text,
                "A document has more than is looked at ({NOT_LOOKED_AT}): {not_looked_at} rules may be broken there.\n"
            );
        }
        text.push_str("No signature was verified and nothing was deciphered: the form of messages is judged.\n\n");
        self.write_documents(&mut text);
        self.write_exchanges(&mut text);
        text.push_str("\n## Rules\n\n| rule | level | clause | demands | verdict | where |\n|---|---|---|---|---|---|\n");
        for one in &self.rules {
            let rule = one.rule;
            let breaches = one.breaches.iter().take(MOST_PLACES);
            let mut places: Vec<String> = breaches.map(|breach| cell(&breach.line())).collect();
            if one.breaches.len() > MOST_PLACES {
                places.push(format!("and {} more", one.breaches.len() - MOST_PLACES));
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
        self.write_breaches(&mut text);
        self.write_not_judged(&mut text);
        text
    }

    fn write_documents(&self, text: &mut String) {
        text.push_str("## Documents\n\nThe moment is that which a message says of itself in its Timestamp.\n\n| document | SHA-256 | bytes | is | made at | message id |\n|---|---|---:|---|---|---|\n");
        for one in &self.documents {
            // A stranger wrote it: nothing of it is markup.
            let said = |text: &Option<String>| match text {
                Some(text) => format!("`{}`", cell(text).replace('`', "'")),
                None => String::new(),
            };
            let _ = writeln!(
                text,
                "| {} | `{}` | {} | {} | {} | {} |",
                cell(&one.name),
                one.digest,
                one.bytes,
                one.subject,
                said(&one.created),
                said(&one.message_id)
            );
        }
    }

    /// Every breach with what was found: what an auditor asks the sender about.
    fn write_breaches(&self, text: &mut String) {
        let broken = self.rules.iter().filter(|one| !one.breaches.is_empty());
        let mut broken = broken.peekable();
        if broken.peek().is_none() {
            return;
        }
        text.push_str("\n## Breaches\n\n| rule | clause | where | element | expected | found | to do |\n|---|---|---|---|---|---|---|\n");
        for one in broken {
            for breach in &one.breaches {
                let _ = writeln!(
                    text,
                    "| {} | {} | {} | {} | {} | {} | {} |",
                    one.rule.id,
                    cell(one.rule.clause),
                    cell(&breach.place),
                    cell(&breach.element),
                    cell(&breach.expected),
                    cell(&breach.found),
                    cell(one.rule.remedy)
                );
            }
        }
    }

    /// The rules of the profile that messages alone do not show.
    fn write_not_judged(&self, text: &mut String) {
        let not_judged = self.not_judged();
        if not_judged.is_empty() {
            return;
        }
        text.push_str("\n## Rules without a verdict\n\n| rule | why |\n|---|---|\n");
        for (id, why) in not_judged {
            let _ = writeln!(text, "| {id} | {} |", cell(why));
        }
    }

    /// The rules of the profile that are not looked for, and why.
    fn not_judged(&self) -> &'static [(&'static str, &'static str)] {
        match self.profile {
            Profile::Bsp => NOT_LOOKED_FOR,
            _ => &[],
        }
    }

    fn write_exchanges(&self, text: &mut String) {
        if !self.exchanges.is_empty() {
            let by = match self.pairing.in_order {
                true => "the order of the documents",
                false => "message ids and confirmed signatures",
            };
            let demanded = match self.pairing.confirmed {
                true => "Confirmations are demanded.",
                false => "Confirmations are judged where there are some.",
            };
            let _ = writeln!(
                text,
                "\n## Exchanges\n\nRequests and answers are paired by {by}. {demanded}"
            );
            text.push_str(
                "\n| request | answer | paired by | broken | remarks |\n|---|---|---|---|---|\n",
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
                "places": one.breaches.iter().map(Breach::line).collect::<Vec<_>>(),
                "to_do": one.rule.remedy,
                "breaches": one.breaches.iter().map(Breach::json).collect::<Vec<_>>(),
            })
        });
        let documents = self.documents.iter().map(|one| {
            json!({
                "name": one.name,
                "sha256": one.digest,
                "bytes": one.bytes,
                "is": one.subject,
                "created": one.created,
                "message_id": one.message_id,
            })
        });
        let not_judged = self.not_judged().iter();
        let not_judged = not_judged.map(|(id, why)| json!({ "rule": id, "why": why }));
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
            "title": self.profile.title(),
            "pairing": { "in_order": self.pairing.in_order, "confirmed": self.pairing.confirmed },
            "not_judged": not_judged.collect::<Vec<_>>(),
            "holds": self.holds(),
            "is_cut": self.is_cut,
            "documents": documents.collect::<Vec<_>>(),
            "exchanges": exchanges.collect::<Vec<_>>(),
            "unpaired": self.unpaired,
            "rules": rules.collect::<Vec<_>>(),
        })
    }
}

impl Breach {
    /// The place in one line; of an exchange with what was found.
    fn line(&self) -> String {
        match self.element.as_str() {
            "" => format!("{}: {}", self.place, self.found),
            _ => self.place.clone(),
        }
    }

    fn json(&self) -> Value {
        json!({
            "place": self.place,
            "element": self.element,
            "expected": self.expected,
            "found": self.found,
        })
    }
}

/// A text in a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ")
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
