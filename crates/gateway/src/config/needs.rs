//! `needs` and `classes` of a route with several backends: what its requests need of the backend
//! that serves them.
//!
//! The rule kept here: a class adds to what the route needs, and takes nothing away.

use soapstone::config::{Certifiers, Located, OTHER_TEXT, Place, Problem, Table, Warning};
use soapstone::crypto::{Certificate, HolderName};
use soapstone::endpoint::Serving;
use soapstone_broker::{Level, Needs, Property, SecurityIndex};

use super::endpoint::EndpointSpec;
use super::party::{READS_AS_TWO, WORD_IN_A_NAME};
use super::security_index::{assured_algorithm, weak_among};

/// The namespace of the header block by which messages say what they need
/// (`docs/qos-requirements.xsd`).
pub(crate) const NAMESPACE: &str = "urn:soapstone:qos:1";

/// Its name.
pub(crate) const REQUIREMENTS: &str = "Requirements";

/// The needs of some senders.
#[derive(Clone, Debug)]
pub(crate) struct ClassSpec {
    pub(crate) members: Vec<ClassMember>,
    pub(crate) needs: Needs,
}

/// A user, as the audit trail names it, or the holder of a certificate.
#[derive(Clone, Debug)]
pub(crate) struct ClassMember {
    text: String,
    place: Place,
    holder: Option<HolderName>,
}

impl ClassMember {
    fn new(given: Located<String>) -> Self {
        Self {
            holder: HolderName::parse(&given.value).ok(),
            text: given.value,
            place: given.place,
        }
    }

    /// Whether it is the user, or whoever else is known by that name alone.
    pub(crate) fn is_named(&self, name: &str) -> bool {
        self.text == name
    }

    /// Whether the certificate is one of its.
    pub(crate) fn has(&self, certificate: &Certificate) -> bool {
        let holder = self.holder.as_ref();
        holder.is_some_and(|holder| holder.has(certificate))
    }

    /// Whether a text names it, as that of a user or of the holder of a certificate.
    pub(crate) fn is_meant_by(&self, text: &str) -> bool {
        let is_holder = |own: &HolderName| {
            HolderName::parse(text).is_ok_and(|it| own.is(it.subject(), it.issuer()))
        };
        self.is_named(text) || self.holder.as_ref().is_some_and(is_holder)
    }

    /// What is wrong with it where these may have issued certificates that are believed, and where.
    pub(super) fn ambiguity(&self, certifiers: &Certifiers) -> Option<(Place, String)> {
        let of_several = certifiers.ambiguity(self.holder.as_ref()?)?;
        Some((self.place, format!("`members` has {of_several}")))
    }
}

/// Reads `needs`.
pub(super) fn read_needs(mut table: Table<'_>) -> Needs {
    let security = read_security(&mut table);
    let time = table.duration("time").map(|time| time.value);
    let availability = table.integer("availability", 0, 100);
    table.finish();
    Needs {
        time,
        availability: availability
            .and_then(|share| u8::try_from(share.value).ok())
            .unwrap_or(0),
        ..security
    }
}

/// Reads what is needed of security.
pub(super) fn read_security(table: &mut Table<'_>) -> Needs {
    let names = Property::ALL.map(|property| (property.name(), property));
    let mut properties = table.choices("properties", &names).unwrap_or_default();
    properties.sort_unstable();
    properties.dedup();
    let bits = table.integer("bits", 0, 512).map(|bits| bits.value);
    let refused = table.strings("refused").unwrap_or_default();
    let refused_algorithms = read_algorithms(table, "refused", refused, assured_algorithm);
    let parts = table.strings("encrypted").unwrap_or_default();
    for part in parts.iter().filter(|part| !names_part(&part.value)) {
        let message = format!("`encrypted` holds names of parts, found {OTHER_TEXT}");
        let hint = "\"Body\", or \"{urn:example}name\" of a header block";
        table.report_with_hint(part.place, message, hint);
    }
    Needs {
        properties,
        bits: bits.and_then(|bits| u16::try_from(bits).ok()).unwrap_or(0),
        refused_algorithms,
        encrypted: parts.into_iter().map(|part| part.value).collect(),
        ..Needs::nothing()
    }
}

/// Reads `assures`: what a backend and its clients assure each other from end to end, past a
/// gateway on the way that sees nothing of it.
pub(super) fn read_assured(mut table: Table<'_>) -> SecurityIndex {
    let place = table.place();
    let names = Property::ALL.map(|property| (property.name(), property));
    let properties = table.choices("properties", &names).unwrap_or_default();
    let bits = table.integer("bits", 1, 512);
    let algorithms = table.strings("algorithms").unwrap_or_default();
    // Nothing is assured without an algorithm.
    let names_none = algorithms.is_empty() && !properties.is_empty();
    let parts = table.strings("encrypted").unwrap_or_default();
    for (key, is_missing, hint) in [
        (
            "properties",
            !table.has("properties"),
            "for example properties = [\"integrity\"]",
        ),
        (
            "bits",
            !table.has("bits"),
            "the strength of the weakest of them: bits = 112",
        ),
        // A need that refuses an algorithm would be covered by silence.
        (
            "algorithms",
            !table.has("algorithms") || names_none,
            "every algorithm that is used: algorithms = [\"rsa-sha256\"]",
        ),
    ] {
        if is_missing {
            table.missing(key, hint);
        }
    }
    let is_confidential = properties.contains(&Property::Confidentiality);
    if !parts.is_empty() && !is_confidential {
        let message = "`encrypted` is given, and `properties` has no \"confidentiality\"";
        table.report(place, message);
    }
    for part in parts.iter().filter(|part| !names_part(&part.value)) {
        let message = format!("`encrypted` holds names of parts, found {OTHER_TEXT}");
        let hint = "\"Body\", or \"{urn:example}name\" of a header block";
        table.report_with_hint(part.place, message, hint);
    }
    let at = algorithms.first().map(|it| it.place);
    let algorithms = read_algorithms(&table, "algorithms", algorithms, assured_algorithm);
    warn_of_weak(&table, at.unwrap_or(place), &algorithms);
    table.finish();
    let mut index = SecurityIndex::default();
    let bits = bits.and_then(|bits| u16::try_from(bits.value).ok());
    for property in properties {
        index.give(property, Level::Message, bits.unwrap_or(0));
    }
    let texts = |texts: Vec<Located<String>>| texts.into_iter().map(|text| text.value).collect();
    index.algorithms = algorithms;
    index.encrypted = texts(parts);
    index
}

/// Warns of weak algorithms that are assured.
fn warn_of_weak(table: &Table<'_>, place: Place, algorithms: &[String]) {
    let weak = weak_among(algorithms);
    if weak.is_empty() {
        return;
    }
    let document = table.document();
    let message = format!("`assures` permits weak algorithms: {}", weak.join(", "));
    let hint = "take them out when client and provider use others";
    document.warn(Warning {
        name: "weak-algorithm",
        problem: Problem::new(document.file(), place, message).with_hint(hint),
    });
}

/// The short names of algorithms. A name that is not known would be compared with nothing.
fn read_algorithms(
    table: &Table<'_>,
    key: &str,
    names: Vec<Located<String>>,
    known: fn(&str) -> Option<&'static str>,
) -> Vec<String> {
    let read = |name: Located<String>| {
        let known = known(&name.value);
        if known.is_none() {
            let message = format!(
                "`{key}` names algorithms of signatures, digests and the encryption of data, or rsa-1_5, found {OTHER_TEXT}"
            );
            let hint =
                "by their short names, for example \"rsa-sha256\", \"sha256\", \"aes256-gcm\"";
            table.report_with_hint(name.place, message, hint);
        }
        known.map(str::to_owned)
    };
    let mut known: Vec<String> = names.into_iter().filter_map(read).collect();
    known.sort_unstable();
    known.dedup();
    known
}

fn names_part(text: &str) -> bool {
    text == "Body" || text.starts_with('{') && text.contains('}') && !text.ends_with('}')
}

/// Reports members of classes who may be several people on their route.
pub(super) fn refuse_ambiguous(
    table: &Table<'_>,
    classes: &[ClassSpec],
    inbound: Option<&EndpointSpec<Serving>>,
) {
    let Some(inbound) = inbound else {
        return;
    };
    for member in classes.iter().flat_map(|class| &class.members) {
        if let Some((place, message)) = member.ambiguity(&inbound.certifiers) {
            let hint = "say whose it is: members = [\"CN=client of CN=authority\"]";
            table.report_with_hint(place, message, hint);
        }
    }
}

/// Reads `classes`.
pub(super) fn read_classes(tables: Vec<Table<'_>>) -> Vec<ClassSpec> {
    let read = |mut table: Table<'_>| {
        let place = table.place();
        let members = table.strings("members");
        if members.as_ref().is_none_or(Vec::is_empty) {
            let hint = "users and subjects of certificates: members = [\"alice\", \"CN=client\"]";
            table.report_with_hint(place, "a class without `members` is of nobody", hint);
        }
        for member in members.iter().flatten() {
            if HolderName::parse(&member.value).is_ok()
                && HolderName::has_half_a_name(&member.value)
            {
                let message = format!("`members` must hold whole names, found {READS_AS_TWO}");
                let hint =
                    format!("name an issuer, \"CN=client of CN=authority\"; {WORD_IN_A_NAME}");
                table.report_with_hint(member.place, message, &hint);
            }
        }
        let needs = table.table("needs").map(read_needs);
        table.finish();
        Some(ClassSpec {
            members: members?.into_iter().map(ClassMember::new).collect(),
            needs: needs.unwrap_or_default(),
        })
    };
    tables.into_iter().filter_map(read).collect()
}
