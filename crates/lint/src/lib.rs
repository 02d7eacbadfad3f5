//! Lint: the rules of the WS-I profiles, of AS4 and of good policies, looked for in messages and
//! descriptions.
//!
//! ```text
//! bytes ─ Package::read ───▶ message and attachments  strict: one reading, or none
//!       ─ Document::parse ─▶ Document                 strict: no DTD, everything bounded
//!       ─ look ────────────▶ Findings                 one file for each area (look/)
//!       ─ Report ──────────▶ text, JSON, SARIF        what people and other programs read
//! ```
//!
//! The table ([`rules_table`]) says what is looked for: number, profiles, level, severity, clause,
//! and what to do. No key is needed and no signature is verified: a message can keep every rule
//! and still be forged.
//!
//! ```
//! use soapstone_lint::{Choice, lint};
//!
//! let message = br#"<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/">
//!   <s:Body><a/></s:Body></s:Envelope>"#;
//! let report = lint(message.to_vec(), &Choice::Fitting, &|_| None)?;
//! assert_eq!(report.findings[0].rule.id, "R1014");
//! # Ok::<(), soapstone_lint::LintError>(())
//! ```
//!
//! The rule of this crate: work and findings are bounded by the size of the document, whatever it
//! holds.
#![forbid(unsafe_code)]

mod conform;
mod date_time;
mod element;
mod exchange;
mod facts;
mod findings;
mod found;
mod look;
mod message;
mod names;
mod received;
mod report;
mod resolver;
mod rule;
mod table;
mod verdict;

use std::fmt;

use soapstone_mime::Package;
use soapstone_policy::PolicyVersion;
use soapstone_xml::{Buffers, Document, Element, ParseError, ParseOptions};

pub use conform::{Breach, Conformance, Judged, RuleVerdict};
pub use exchange::{Exchange, PairedBy, Pairing};
pub use facts::ExchangeFacts;
pub use findings::{Finding, MOST_FINDINGS};
pub use found::{Report, Subject};
pub use received::broken_rules;
pub use report::{json, rules_in_markdown, sarif, text};
pub use resolver::Resolver;
pub use rule::{Area, Level, Profile, ProfileError, Profiles, Rule, Severity};
pub use soapstone_mime::{LARGEST_PACKAGE, PackageError};
pub use table::{NOT_LOOKED_FOR, exchange_rules, rule, rules_table};
pub use verdict::{Evidence, Verdict};

use element::Work;
use findings::Findings;
use message::Message;
use names::{EBMS, SOAP11, SOAP12, WSDL};

/// Which profiles a document is held against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Those that fit: of an envelope the Basic Security Profile and the Basic Profile of its SOAP
    /// version, AS4 if it has an ebMS header, and the rules of packages if it came in one; of a
    /// description the Basic Profiles and the use
    /// of policies.
    #[default]
    Fitting,
    /// These.
    Of(Profiles),
}

/// A document that no rule can be looked for in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LintError {
    /// It is no XML, or passes a limit of the parser.
    NotXml(ParseError),
    /// It begins with a header of MIME or of HTTP, and cannot be taken apart.
    Package(PackageError),
    /// Its root element is of no kind that rules are about.
    OtherRoot {
        /// The root element as it is written.
        found: String,
        /// Its namespace; empty for none.
        namespace: String,
    },
    /// It is an envelope that takes more work than its size allows: its parts refer to each other
    /// so often that judging it would not be linear.
    TooMuchWork,
}

impl fmt::Display for LintError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotXml(error) => error.fmt(out),
            Self::Package(error) => error.fmt(out),
            Self::TooMuchWork => out.write_str(
                "expected an envelope whose rules take work in proportion to its size, found one whose parts refer to each other without end",
            ),
            Self::OtherRoot { found, namespace } => {
                out.write_str("expected a SOAP envelope, a WSDL 1.1 or a policy, found ")?;
                match namespace.as_str() {
                    "" => write!(out, "`{found}` without a namespace"),
                    namespace => write!(out, "`{found}` of namespace `{namespace}`"),
                }
            }
        }
    }
}

impl std::error::Error for LintError {}

/// Looks for breaches of the chosen profiles. Documents that a description imports are asked for
/// where a rule is about them.
///
/// A file that begins with a header of MIME or of HTTP is taken apart ([`PackageError`]). Its
/// message is looked at as a document, and its parts are held against what the message says of
/// them. All places are those of the file.
///
/// # Errors
/// A [`LintError`] if the document is no XML within the parser's limits, or neither an envelope
/// nor a description nor a policy, if a package cannot be taken apart, and if an envelope takes
/// more work than its size allows.
pub fn lint(source: Vec<u8>, choice: &Choice, resolver: Resolver<'_>) -> Result<Report, LintError> {
    match Package::read(&source).map_err(LintError::Package)? {
        Some(package) => {
            let message = package.root.content.to_vec();
            let looked_at = lint_document(message, Some(&package), choice, resolver);
            looked_at.map_err(|error| in_file(error, &package))
        }
        None => lint_document(source, None, choice, resolver),
    }
}

/// An error of the message of a package, with its place in the file.
fn in_file(error: LintError, package: &Package<'_>) -> LintError {
    match error {
        LintError::NotXml(mut error) => {
            error.position.offset += package.root.offset;
            error.position.line += package.root.line - 1;
            LintError::NotXml(error)
        }
        error => error,
    }
}

fn lint_document(
    source: Vec<u8>,
    package: Option<&Package<'_>>,
    choice: &Choice,
    resolver: Resolver<'_>,
) -> Result<Report, LintError> {
    let options = ParseOptions::default();
    let encoding = look::envelope::declared_encoding(&source);
    let encoding = encoding.as_deref();
    let document =
        Document::parse(source, &options, &mut Buffers::new()).map_err(LintError::NotXml)?;
    let root = document.root();
    let of_policy = PolicyVersion::from_namespace(root.namespace()).is_some();
    let related = package.filter(|package| package.related.is_some());
    let subject = match (root.namespace(), root.local()) {
        (SOAP11 | SOAP12, "Envelope") if related.is_some() => Subject::Package,
        (SOAP11 | SOAP12, "Envelope") => Subject::Envelope,
        (WSDL, "definitions") => Subject::Description,
        (_, "Policy" | "PolicyAttachment") if of_policy => Subject::Policy,
        (namespace, _) => {
            return Err(LintError::OtherRoot {
                found: findings::shortened(root.qualified_name()),
                namespace: findings::shortened(namespace),
            });
        }
    };
    let profiles = match choice {
        Choice::Of(profiles) => *profiles,
        Choice::Fitting => fitting(subject, root),
    };
    let mut findings = Findings::new(profiles);
    let mut of_parts = Findings::new(profiles);
    let work = Work::on(document.total_bytes());
    let mut exchange = None;
    match subject {
        Subject::Envelope | Subject::Package => {
            let message = look_at_envelope(&document, encoding, &work, &mut findings);
            if let Some(package) = related {
                look::package::look(&message, package, &mut findings, &mut of_parts);
            }
            exchange = Some(ExchangeFacts::read(&message));
        }
        Subject::Description => {
            look::wsdl::look(&document, encoding, resolver, &mut findings);
            look::policy::look(&document, resolver, &mut findings);
        }
        Subject::Policy => look::policy::look(&document, resolver, &mut findings),
    }
    if !work.is_done() {
        return Err(LintError::TooMuchWork);
    }
    let mut placed = findings.placed(document.bytes());
    if let Some(package) = package {
        let begins = (package.root.offset, package.root.line);
        placed = findings::in_package(placed, of_parts.placed(&[]), begins);
    }
    let (findings, [further_warnings, further_errors]) = placed;
    let of_envelope = matches!(subject, Subject::Envelope | Subject::Package);
    Ok(Report {
        subject,
        profiles,
        findings,
        further_warnings,
        further_errors,
        areas: conform::areas_of(&document, of_envelope, related.is_some()),
        exchange,
    })
}

fn fitting(subject: Subject, root: Element<'_>) -> Profiles {
    match subject {
        Subject::Envelope | Subject::Package => {
            let soap = root.namespace();
            let header = root.child(soap, "Header");
            let mut profiles = Profiles::of(Profile::Bsp).with(match soap {
                SOAP12 => Profile::Bp20,
                _ => Profile::Bp12,
            });
            if subject == Subject::Package {
                profiles = profiles.with(Profile::Swa);
            }
            match header.and_then(|header| header.child(EBMS, "Messaging")) {
                Some(_) => profiles.with(Profile::As4),
                None => profiles,
            }
        }
        Subject::Description => Profiles::BASIC.with(Profile::Policy),
        Subject::Policy => Profiles::of(Profile::Policy),
    }
}

fn look_at_envelope<'d>(
    document: &'d Document,
    encoding: Option<&str>,
    work: &'d Work,
    findings: &mut Findings,
) -> Message<'d> {
    let message = Message::read(element::Element::new(document.root(), work));
    look::timestamp::look(&message, findings);
    look::reference::look(&message, findings);
    look::signature::look(&message, findings);
    look::encryption::look(&message, findings);
    look::binary_token::look(&message, findings);
    look::username::look(&message, findings);
    look::x509::look(&message, findings);
    look::rel::look(&message, findings);
    look::kerberos::look(&message, findings);
    look::saml::look(&message, findings);
    look::header::look(&message, findings);
    if findings.profiles().meets(Profiles::BASIC) {
        look::envelope::look(document, encoding, &message, findings);
        look::addressing::look(&message, findings);
    }
    if findings.profiles().has(Profile::Digikoppeling) {
        look::digikoppeling::look(&message, findings);
    }
    if findings.profiles().meets(Profiles::AS4) {
        look::ebms::look(&message, findings);
        look::as4::look(&message, findings);
        look::edelivery::look(&message, findings);
    }
    message
}
