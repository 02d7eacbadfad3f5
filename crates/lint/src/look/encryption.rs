//! Encrypted keys, encrypted data and reference lists (WSS 1.1.1, 9).

use std::collections::{HashMap, HashSet};

use soapstone_xml::NodeId;

use crate::element::Element;

use crate::findings::{Findings, quoted};
use crate::message::{IdKind, Message, Target};
use crate::names::{DS, RSA_OAEP_11, WSSE, WSSE11, WSU, XENC};

const CONTENT: &str = "http://www.w3.org/2001/04/xmlenc#Content";
const DATA_ALGORITHMS: [&str; 5] = [
    "http://www.w3.org/2001/04/xmlenc#tripledes-cbc",
    "http://www.w3.org/2001/04/xmlenc#aes128-cbc",
    "http://www.w3.org/2001/04/xmlenc#aes256-cbc",
    "http://www.w3.org/2009/xmlenc11#aes128-gcm",
    "http://www.w3.org/2009/xmlenc11#aes256-gcm",
];
const TRANSPORTS: [&str; 3] = [
    "http://www.w3.org/2001/04/xmlenc#rsa-1_5",
    "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p",
    RSA_OAEP_11,
];
const WRAPS: [&str; 3] = [
    "http://www.w3.org/2001/04/xmlenc#kw-tripledes",
    "http://www.w3.org/2001/04/xmlenc#kw-aes128",
    "http://www.w3.org/2001/04/xmlenc#kw-aes256",
];

pub(crate) fn look(message: &Message<'_>, findings: &mut Findings) {
    let mut lists = Lists::read(message, findings);
    look_at_places(message, findings);
    for key in &message.encrypted_keys {
        look_at_key(message, *key, findings);
    }
    for data in &message.encrypted_data {
        look_at_data(message, *data, &mut lists, findings);
    }
}

/// Which lists name which encrypted data.
#[derive(Default)]
struct Lists {
    /// Data that a list of an encrypted key names.
    of_keys: HashSet<NodeId>,
    /// Data that any list names.
    of_any: HashSet<NodeId>,
    /// Encrypted keys with lists.
    keys: HashSet<NodeId>,
    /// Keys of the lists in headers, by their numbers.
    known: HashSet<usize>,
    keys_of_data: Keys,
}

/// The keys that encrypted data name, numbered. A text may be as large as the message, so that each
/// is read once.
#[derive(Default)]
struct Keys {
    numbers: HashMap<String, usize>,
    of_data: HashMap<NodeId, Option<usize>>,
}

impl Keys {
    /// The number of the key that encrypted data name.
    fn of(&mut self, data: Element<'_>) -> Option<usize> {
        let numbers = &mut self.numbers;
        let number = self.of_data.entry(data.id()).or_insert_with(|| {
            let next = numbers.len();
            key_of(data).map(|key| *numbers.entry(key).or_insert(next))
        });
        *number
    }
}

impl Lists {
    fn read(message: &Message<'_>, findings: &mut Findings) -> Self {
        let mut lists = Self::default();
        let mut inside = HashMap::new();
        for key in &message.encrypted_keys {
            if let Some(list) = key.child(XENC, "ReferenceList") {
                lists.keys.insert(key.id());
                let rules = ["R3006", "R3007"];
                for data in named_data(message, list, rules, &mut inside, findings) {
                    lists.of_keys.insert(data.id());
                    lists.of_any.insert(data.id());
                    let together = data.parent() == key.parent();
                    if together && data.range().start < key.range().start {
                        let expected = "the xenc:EncryptedKey in front of its data";
                        findings.add("R3208", *key, expected, "data in front of it");
                    }
                }
            }
        }
        for list in &message.lists {
            let mut keys = HashSet::new();
            let rules = ["R5608", "R5613"];
            for data in named_data(message, *list, rules, &mut inside, findings) {
                lists.of_any.insert(data.id());
                keys.extend(lists.keys_of_data.of(data));
            }
            if keys.len() > 1 {
                let found = format!("{} keys", keys.len());
                findings.add("R3205", *list, "data of one key", found);
            }
            lists.known.extend(keys);
        }
        lists
    }
}

/// The encrypted data that a list names; breaches of `[rule]` of data and keys are noted. `inside`
/// keeps what stands in encrypted headers, which many references may name.
fn named_data<'d>(
    message: &Message<'d>,
    list: Element<'d>,
    [of_data, of_key]: [&str; 2],
    inside: &mut HashMap<NodeId, Option<Element<'d>>>,
    findings: &mut Findings,
) -> Vec<Element<'d>> {
    let mut named = Vec::new();
    for reference in list.children() {
        let uri = reference.attribute("", "URI");
        let id = uri.as_deref().and_then(|uri| uri.strip_prefix('#'));
        let target = id.and_then(|id| message.with_id(id));
        if reference.is(XENC, "DataReference") {
            let well = target.is_some_and(|(target, kind)| {
                !target.is(XENC, "EncryptedData") || kind == IdKind::Own
            });
            if !well {
                let expected = "# and the Id of an xenc:EncryptedData";
                findings.add(of_data, reference, expected, quoted(uri.as_deref()));
            }
            match target {
                Some((data, _)) if data.is(XENC, "EncryptedData") => named.push(data),
                Some((header, _)) if header.is(WSSE11, "EncryptedHeader") => {
                    let inside = inside.entry(header.id());
                    named.extend(*inside.or_insert_with(|| header.child(XENC, "EncryptedData")));
                }
                Some((other, _)) => {
                    let expected = "an xenc:EncryptedData or a wsse11:EncryptedHeader";
                    let found = quoted(Some(other.qualified_name()));
                    findings.add("R5606", reference, expected, found);
                }
                None => {}
            }
        } else if reference.is(XENC, "KeyReference") {
            let well = target.is_some_and(|(target, kind)| {
                target.is(XENC, "EncryptedKey") && kind == IdKind::Own
            });
            if !well {
                let expected = "# and the Id of an xenc:EncryptedKey";
                findings.add(of_key, reference, expected, quoted(uri.as_deref()));
            }
        }
    }
    named
}

/// The key that encrypted data names, as text that two share if they name the same in the same way.
fn key_of(data: Element<'_>) -> Option<String> {
    let reference = data
        .child(DS, "KeyInfo")?
        .child(WSSE, "SecurityTokenReference")?;
    let way = reference.first_child()?;
    let value = way.attribute("", "URI").unwrap_or_else(|| way.text());
    Some(format!("{} {}", way.local(), value.trim()))
}

/// Encrypted data in the places of envelope, header blocks and Body.
fn look_at_places(message: &Message<'_>, findings: &mut Findings) {
    let of_envelope = message.envelope.child(XENC, "EncryptedData");
    if let Some(data) = of_envelope {
        let expected = "a Header and a Body that are not encrypted";
        findings.add(
            "R5607",
            data,
            expected,
            "an xenc:EncryptedData in the Envelope",
        );
    }
    let blocks = message
        .header
        .into_iter()
        .flat_map(|header| header.children());
    for data in blocks.filter(|child| child.is(XENC, "EncryptedData")) {
        let found = "a bare xenc:EncryptedData";
        findings.add("R3228", data, "header blocks", found);
        if data.attribute("", "Type").as_deref() != Some(CONTENT) {
            findings.add("R5614", data, "a wsse11:EncryptedHeader", found);
        }
    }
    for header in &message.encrypted_headers {
        let count = header.children().count();
        let data = header.child(XENC, "EncryptedData");
        if count != 1 || data.is_none() {
            let found = format!("{count} children");
            findings.add("R3230", *header, "one xenc:EncryptedData", found);
        }
        let has_id = header.attribute(WSU, "Id").is_some();
        if let Some(data) = data
            && !has_id
            && data.attribute("", "Id").is_none()
        {
            let expected = "an Id of the data or a wsu:Id of the header";
            findings.add("R5624", data, expected, "neither");
            findings.add("R5627", *header, expected, "neither");
        }
    }
}

fn look_at_key(message: &Message<'_>, key: Element<'_>, findings: &mut Findings) {
    for (attribute, rule) in [
        ("Type", "R3209"),
        ("MimeType", "R5622"),
        ("Encoding", "R5623"),
        ("Recipient", "R5602"),
    ] {
        if let Some(value) = key.attribute("", attribute) {
            findings.add(rule, key, format!("no {attribute}"), quoted(Some(&value)));
        }
    }
    look_at_key_info(message, key, findings);
    let Some(method) = key.child(XENC, "EncryptionMethod") else {
        findings.add("R5603", key, "an xenc:EncryptionMethod", "none");
        return;
    };
    let algorithm = method.attribute("", "Algorithm").unwrap_or_default();
    let is_known = |known: &[&str]| known.contains(&&*algorithm);
    let found = || quoted(Some(&algorithm));
    if !is_known(&TRANSPORTS) && !is_known(&WRAPS) {
        findings.add(
            "R5626",
            method,
            "RSA 1.5, RSA-OAEP or a key wrap of the profile",
            found(),
        );
    }
    if algorithm.contains("#rsa") && !is_known(&TRANSPORTS) {
        findings.add("R5621", method, "RSA 1.5 or RSA-OAEP", found());
    }
    if algorithm.contains("#kw-") && !is_known(&WRAPS) {
        findings.add(
            "R5625",
            method,
            "a wrap with Triple DES, AES-128 or AES-256",
            found(),
        );
    }
}

/// The `ds:KeyInfo` of an encrypted key or encrypted data.
fn look_at_key_info(message: &Message<'_>, encrypted: Element<'_>, findings: &mut Findings) {
    let Some(key_info) = encrypted.child(DS, "KeyInfo") else {
        return;
    };
    // Outside of the envelope's security nothing is known of what applications encrypt.
    if message.security.is_empty() {
        return;
    }
    let count = key_info.children().count();
    if count != 1 {
        findings.add("R5424", key_info, "one child", count.to_string());
    }
    if key_info.child(WSSE, "SecurityTokenReference").is_none() {
        let found = key_info.first_child().map(|child| child.qualified_name());
        findings.add(
            "R5426",
            key_info,
            "a wsse:SecurityTokenReference",
            quoted(found),
        );
    }
}

fn look_at_data(
    message: &Message<'_>,
    data: Element<'_>,
    lists: &mut Lists,
    findings: &mut Findings,
) {
    look_at_key_info(message, data, findings);
    match data.child(XENC, "EncryptionMethod") {
        None => findings.add("R5601", data, "an xenc:EncryptionMethod", "none"),
        Some(method) => {
            let algorithm = method.attribute("", "Algorithm").unwrap_or_default();
            if !DATA_ALGORITHMS.contains(&&*algorithm) {
                let expected = "Triple DES, AES-128 or AES-256";
                findings.add("R5620", method, expected, quoted(Some(&algorithm)));
            }
        }
    }
    let has_key = data.child(DS, "KeyInfo").is_some();
    if !has_key && !lists.of_keys.contains(&data.id()) {
        let expected = "a ds:KeyInfo, or an xenc:EncryptedKey that lists the data";
        findings.add("R5629", data, expected, "neither");
    }
    if lists.of_any.contains(&data.id()) {
        return;
    }
    let reference = data
        .child(DS, "KeyInfo")
        .and_then(|key_info| key_info.child(WSSE, "SecurityTokenReference"));
    let direct = reference.and_then(|reference| reference.child(WSSE, "Reference"));
    let uri = direct.and_then(|direct| direct.attribute("", "URI"));
    if let Target::Inside(key) = message.target(uri.as_deref())
        && lists.keys.contains(&key.id())
    {
        let expected = "data that the list of its xenc:EncryptedKey names";
        findings.add("R3214", data, expected, "data that no list names");
    }
    let key = lists.keys_of_data.of(data);
    if key.is_some_and(|key| lists.known.contains(&key)) {
        let expected = "data that the list of its key names";
        findings.add("R3231", data, expected, "data that no list names");
    }
}

/// Encrypted keys by the ids of their data, for profiles that look at the order of steps.
pub(crate) fn listed_by_keys(message: &Message<'_>) -> HashMap<NodeId, NodeId> {
    let mut listed = HashMap::new();
    for key in &message.encrypted_keys {
        let list = key.child(XENC, "ReferenceList").into_iter();
        for reference in list.flat_map(|list| list.children()) {
            let uri = reference.attribute("", "URI");
            if let Target::Inside(data) = message.target(uri.as_deref()) {
                listed.insert(data.id(), key.id());
            }
        }
    }
    listed
}
