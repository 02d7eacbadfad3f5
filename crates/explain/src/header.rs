//! The security headers: items in order, certificates, timestamps.
//!
//! The engine's [`SecurityHeader`] says which items there are. The rule kept here: this says what
//! the message says. Nothing of it is proven.

use std::borrow::Cow;

use jiff::Timestamp;
use soapstone_crypto::hexadecimal;
use soapstone_wss::names::{DS, SOAP11, SOAP12, ULTIMATE_RECEIVER, WSSE, WSSE_2002, WSU, XENC};
use soapstone_wss::{
    DATE_TIME_FORM, Envelope, EnvelopeError, ItemKind, SecurityHeader, parse_date_time,
};
use soapstone_xml::{Document, Element};

use crate::cause::Cause;
use crate::model::{CertificateFound, Explanation, Finding, ItemFound, Severity};
use crate::options::Options;

/// Most items that are listed.
const MOST: usize = 256;

pub(crate) fn tell(document: &Document, options: &Options<'_>, told: &mut Explanation) {
    let root = document.root();
    let soap = root.namespace();
    if root.local() == "Envelope" {
        told.soap = match soap {
            SOAP11 => "1.1",
            SOAP12 => "1.2",
            _ => "",
        };
    }
    if told.soap.is_empty() {
        told.findings.push(Finding::new(
            Severity::Warning,
            "not-soap",
            "the message",
            format!(
                "expected a SOAP envelope, found `{}`",
                root.qualified_name()
            ),
        ));
    }
    if let Some(duplicate) = document.duplicate_id() {
        told.findings.push(Finding::new(
            Severity::Error,
            "duplicate-id",
            "the message",
            duplicate.to_string(),
        ));
    }
    match Envelope::check(document) {
        Ok(()) | Err(EnvelopeError::NotAnEnvelope { .. } | EnvelopeError::DuplicateId(_)) => {}
        Err(error) => told.findings.push(Finding::new(
            Severity::Error,
            "not-soap",
            "the message",
            error.to_string(),
        )),
    }
    told.findings.extend(security_for_others(document, options));
    let headers = SecurityHeader::in_document(document);
    for found in headers.iter().flat_map(SecurityHeader::items).take(MOST) {
        let item = document.element(found.node);
        told.header.push(ItemFound {
            name: item.qualified_name().to_owned(),
            line: item.line_column().0,
            id: id_of(item),
            says: says_of(found.kind, item),
        });
        if found.kind == ItemKind::Timestamp {
            timestamp(item, options, &mut told.findings);
        }
    }
    for (place, says) in crate::keys::malformed(document) {
        let finding = Finding::new(Severity::Error, "token-malformed", place, says);
        told.findings.push(finding);
    }
    certificates(document, options, told);
}

/// What a receiver finds who looks for a `wsse:Security` header of his own, where each is of
/// another namespace or for somebody who is named.
fn security_for_others(document: &Document, options: &Options<'_>) -> Option<Finding> {
    // The endpoint file's header was found.
    if options
        .engine
        .is_some_and(|engine| !engine.demands.is_empty())
    {
        return None;
    }
    let root = document.root();
    let attribute = match root.namespace() {
        SOAP12 => "role",
        _ => "actor",
    };
    let header = root.child(root.namespace(), "Header")?;
    let blocks = header.children().filter(|it| it.local() == "Security");
    let blocks: Vec<Element<'_>> = blocks.collect();
    let first = *blocks.first()?;
    let place =
        |it: Element<'_>| format!("`{}` in line {}", it.qualified_name(), it.line_column().0);
    let mut of_namespace = blocks.iter().filter(|it| it.namespace() == WSSE);
    let Some(own) = of_namespace.next().copied() else {
        // Tokens of the draft of 2002 are read where an endpoint file accepts them.
        let severity = match first.namespace() {
            WSSE_2002 => Severity::Warning,
            _ => Severity::Error,
        };
        let says = format!(
            "expected the namespace `{WSSE}`, found `{}`: receivers find no wsse:Security header",
            first.namespace()
        );
        return Some(Finding::new(
            severity,
            "security-missing",
            place(first),
            says,
        ));
    };
    let actor_of = |it: Element<'_>| {
        let actor = it
            .attribute(root.namespace(), attribute)
            .map(Cow::into_owned);
        actor.filter(|actor| !actor.is_empty() && *actor != ULTIMATE_RECEIVER)
    };
    if actor_of(own).is_none() || of_namespace.any(|it| actor_of(*it).is_none()) {
        return None;
    }
    let says = format!(
        "it is for the {attribute} `{}` alone: an endpoint file that opens it says so with `actor`",
        actor_of(own).unwrap_or_default()
    );
    Some(Finding::new(
        Severity::Warning,
        "security-missing",
        place(own),
        says,
    ))
}

fn id_of(element: Element<'_>) -> Option<String> {
    let mut attributes = element.attributes();
    let is_id = |attribute: &soapstone_xml::Attribute<'_>| {
        matches!(attribute.local(), "Id" | "ID" | "id" | "AssertionID")
    };
    attributes
        .find(is_id)
        .map(|attribute| attribute.value().into_owned())
}

fn child_text(element: Element<'_>, namespace: &str, local: &str) -> Option<String> {
    let child = element.child(namespace, local)?;
    Some(child.text().trim().to_owned())
}

fn says_of(kind: ItemKind, item: Element<'_>) -> String {
    match kind {
        ItemKind::Timestamp => format!(
            "created {}, expires {}",
            child_text(item, WSU, "Created").unwrap_or_else(|| "never said".to_owned()),
            child_text(item, WSU, "Expires").unwrap_or_else(|| "never".to_owned())
        ),
        ItemKind::Signature => {
            let references = item
                .descendants()
                .filter(|inside| inside.is(DS, "Reference"));
            let uris: Vec<String> = references
                .filter_map(|reference| reference.attribute("", "URI"))
                .map(|uri| format!("`{uri}`"))
                .take(16)
                .collect();
            format!("signs {}", uris.join(", "))
        }
        ItemKind::EncryptedKey => {
            let method = item.child(XENC, "EncryptionMethod");
            let method = method.and_then(|method| method.attribute("", "Algorithm"));
            let uris = item
                .descendants()
                .filter(|inside| inside.is(XENC, "DataReference"));
            format!(
                "a session key ({}), cipher texts: {}",
                last_part(method),
                uris.count()
            )
        }
        ItemKind::ReferenceList => format!("cipher texts: {}", item.children().count()),
        ItemKind::Confirmation => match item.attribute("", "Value") {
            Some(_) => "confirms a signature of the request".to_owned(),
            None => "says that the request had no signature".to_owned(),
        },
        // A binary token of a type that the engine does not know is none of its tokens.
        ItemKind::Token(_) | ItemKind::Unknown => token_says(item),
        _ => String::new(),
    }
}

fn token_says(token: Element<'_>) -> String {
    match (token.namespace(), token.local()) {
        (WSSE, "BinarySecurityToken") => {
            let value_type = token.attribute("", "ValueType");
            format!("a token of type {}", last_part(value_type))
        }
        (WSSE, "UsernameToken") => {
            let password = token.child(WSSE, "Password");
            let kind = password.map(|password| last_part(password.attribute("", "Type")));
            format!(
                "user `{}`, {}",
                child_text(token, WSSE, "Username").unwrap_or_default(),
                match kind.as_deref() {
                    None => "no password",
                    Some("PasswordDigest") => "a digest of the password",
                    Some(_) => "the password itself",
                }
            )
        }
        _ => String::new(),
    }
}

/// What stands behind the last `#` or `/` of an identifier.
fn last_part(uri: Option<Cow<'_, str>>) -> String {
    let last = uri.map(|uri| uri.rsplit(['#', '/']).next().unwrap_or_default().to_owned());
    last.unwrap_or_default()
}

/// Holds a timestamp against the clock.
fn timestamp(element: Element<'_>, options: &Options<'_>, findings: &mut Vec<Finding>) {
    let place = format!("wsu:Timestamp in line {}", element.line_column().0);
    let mut read = |local: &str| -> Option<Timestamp> {
        let text = child_text(element, WSU, local)?;
        let moment = parse_date_time(&text);
        if moment.is_none() {
            findings.push(Finding::new(
                Severity::Error,
                "timestamp-malformed",
                place.as_str(),
                format!("`{text}` in wsu:{local} is no {DATE_TIME_FORM}"),
            ));
        }
        moment
    };
    let (created, expires) = (read("Created"), read("Expires"));
    if let (Some(created), Some(expires)) = (created, expires)
        && expires <= created
    {
        // An endpoint takes it while it is not expired: the schema lets both be in any order.
        findings.push(Finding::new(
            Severity::Warning,
            "timestamp-malformed",
            place.as_str(),
            "wsu:Expires is not later than wsu:Created",
        ));
    }
    let Some(now) = options.now else {
        return;
    };
    let skew = options.skew;
    let seconds = |from: Timestamp, to: Timestamp| to.as_second().saturating_sub(from.as_second());
    if let Some(expires) = expires
        && now
            .saturating_sub(skew)
            .is_ok_and(|earliest| earliest >= expires)
    {
        let late = seconds(expires, now);
        findings.push(
            Finding::new(
                Severity::Warning,
                "timestamp-expired",
                place.as_str(),
                format!("it expired at {expires}, and it is {now}"),
            )
            .because([Cause::likely(
                "clock",
                format!("the message is old ({}), or the sender's clock is as much slow: with `time = \"{}\"` in the endpoint file it is judged as it was then",
                    duration(late), created.unwrap_or(expires)),
            )]),
        );
    }
    if let Some(created) = created
        && now
            .saturating_add(skew)
            .is_ok_and(|latest| latest < created)
    {
        let early = seconds(now, created);
        findings.push(
            Finding::new(
                Severity::Warning,
                "timestamp-in-future",
                place.as_str(),
                format!("it was created at {created}, and it is {now}"),
            )
            .because([Cause::likely(
                "clock",
                format!(
                    "the sender's clock is {} fast, or ours as much slow{}",
                    duration(early),
                    whole_hours(early)
                ),
            )]),
        );
    }
}

fn whole_hours(seconds: i64) -> &'static str {
    // A network and a queue take up to some minutes.
    match seconds % 3600 {
        0..=120 | 3480.. if seconds > 3000 => "; whole hours are mostly local time written as UTC",
        _ => "",
    }
}

fn duration(seconds: i64) -> String {
    match seconds {
        0..120 => format!("{seconds} seconds"),
        120..7200 => format!("{} minutes", seconds / 60),
        7200..172_800 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

fn certificates(document: &Document, options: &Options<'_>, told: &mut Explanation) {
    let known = crate::keys::Known::default();
    for found in crate::keys::certificates(document, &known) {
        let certificate = &found.certificate;
        if let Some(now) = options.now {
            let outside = if now > certificate.not_after() {
                Some((
                    "certificate-expired",
                    "it ended at",
                    certificate.not_after(),
                ))
            } else if now < certificate.not_before() {
                Some((
                    "certificate-not-yet-valid",
                    "it begins at",
                    certificate.not_before(),
                ))
            } else {
                None
            };
            if let Some((kind, says, moment)) = outside {
                told.findings.push(Finding::new(
                    Severity::Warning,
                    kind,
                    found.name(),
                    format!("{says} {moment}, and it is {now}"),
                ));
            }
        }
        told.certificates.push(CertificateFound {
            place: found.place.clone(),
            subject: certificate.subject().to_owned(),
            issuer: certificate.issuer().to_owned(),
            serial: certificate.serial_decimal().to_owned(),
            not_before: certificate.not_before().to_string(),
            not_after: certificate.not_after().to_string(),
            key: certificate.public_key().kind().to_string(),
            thumbprint: hexadecimal::encode(&certificate.thumbprint_sha256()),
        });
    }
}
