//! What `soapstone policy` prints: words for people, JSON for programs.

use serde::Serialize;
use soapstone::policy::{
    ExchangePolicy, ExchangePolicyError, NormalPolicy, Place, PolicyProblem, PolicySubject,
    message_in_words,
};
use soapstone::wss::{
    ConversationVersion, DerivedKeyForm, DerivedKeyPolicy, Extent, KeyBinding, Layout, Part,
    PasswordKind, Policy, ProtectionOrder, Recipient,
};

use super::Explained;

/// Everything that is explained, in words.
///
/// `unattached` are policies that are defined and attached to nothing.
pub(super) fn text(explained: &[Explained], unattached: &[(String, Place)]) -> String {
    if explained.is_empty() {
        return "The document has neither a port nor a policy.\n".to_owned();
    }
    let mut out = String::new();
    for (place, explained) in explained.iter().enumerate() {
        if place > 0 {
            out.push('\n');
        }
        out.push_str(&title(&explained.subjects));
        out.push('\n');
        match &explained.outcome {
            Ok(agreement) => {
                for line in agreement_lines(agreement) {
                    out.push_str("  ");
                    out.push_str(&line);
                    out.push('\n');
                }
            }
            Err(ExchangePolicyError::NotSupported(problems)) => {
                out.push_str("  Not supported:\n");
                for problem in problems {
                    out.push_str(&format!("    {problem}\n"));
                }
            }
            Err(error) => out.push_str(&format!("  Not usable: {error}\n")),
        }
        for fault in &explained.faults {
            out.push_str(&format!(
                "  Not applied, faults are answers like others: {fault}\n"
            ));
        }
    }
    for (name, place) in unattached {
        out.push_str(&format!(
            "\nAttached to nothing, so that no message has it: {name} (at {place})\n"
        ));
    }
    out
}

/// Such as `port BooksPort: addBook, getBook (http://…)`.
fn title(subjects: &[PolicySubject]) -> String {
    let Some(first) = subjects.first() else {
        return String::new();
    };
    let mut title = match (&first.port, &first.binding) {
        (Some(port), _) => format!("port {port}"),
        (None, Some(binding)) => format!("binding {binding}"),
        (None, None) => "policy".to_owned(),
    };
    let operations: Vec<&str> = subjects
        .iter()
        .filter_map(|subject| subject.operation.as_deref())
        .collect();
    if !operations.is_empty() {
        title.push_str(": ");
        title.push_str(&operations.join(", "));
    }
    if let Some(address) = &first.address {
        title.push_str(&format!(" ({address})"));
    }
    title
}

/// An agreement in words, indented where something belongs to the line before.
pub(super) fn agreement_lines(agreement: &ExchangePolicy) -> Vec<String> {
    let mut lines = agreement.in_words();
    let indented = |lines: &mut Vec<String>, title: &str, inner: Vec<String>| {
        lines.push(title.to_owned());
        lines.extend(inner.into_iter().map(|line| format!("  {line}")));
    };
    if let Some(bootstrap) = agreement
        .conversation
        .as_ref()
        .and_then(|conversation| conversation.bootstrap.as_ref())
    {
        let inner = agreement_lines(bootstrap);
        indented(
            &mut lines,
            "To make, renew and cancel the conversation:",
            inner,
        );
    }
    if !agreement.demands_nothing() {
        indented(&mut lines, "Request:", message_in_words(&agreement.request));
        indented(
            &mut lines,
            "Response:",
            message_in_words(&agreement.response),
        );
    }
    let passed_over: Vec<String> = agreement
        .passed_over
        .iter()
        .map(|(name, place)| format!("{name} (at {place})"))
        .collect();
    if !passed_over.is_empty() {
        indented(&mut lines, "Says nothing about messages:", passed_over);
    }
    let notices: Vec<String> = agreement.notices.iter().map(ToString::to_string).collect();
    if !notices.is_empty() {
        indented(&mut lines, "To be known:", notices);
    }
    lines
}

/// Everything that is explained, as JSON.
pub(super) fn json(explained: &[Explained]) -> String {
    let subjects: Vec<Subject<'_>> = explained
        .iter()
        .flat_map(|explained| {
            explained
                .subjects
                .iter()
                .map(move |subject| (explained, subject))
        })
        .map(|(explained, subject)| Subject {
            service: subject.service.as_deref(),
            port: subject.port.as_deref(),
            binding: subject.binding.as_deref(),
            operation: subject.operation.as_deref(),
            address: subject.address.as_deref(),
            outcome: match &explained.outcome {
                Ok(agreement) => Outcome::Supported(Box::new(agreement_found(agreement))),
                Err(ExchangePolicyError::NotSupported(problems)) => Outcome::NotSupported {
                    problems: problems.iter().map(problem_found).collect(),
                },
                Err(error) => Outcome::NotUsable {
                    message: error.to_string(),
                },
            },
        })
        .collect();
    written(&subjects)
}

/// A policy in normal form, as JSON.
pub(super) fn normal_json(policy: &NormalPolicy) -> String {
    #[derive(Serialize)]
    struct Normal {
        alternatives: Vec<Vec<String>>,
        xml: String,
    }
    let names = |alternative: &soapstone::policy::Alternative| {
        let assertions = alternative.assertions.iter();
        assertions
            .map(|assertion| assertion.name().to_string())
            .collect()
    };
    written(&Normal {
        alternatives: policy.alternatives.iter().map(names).collect(),
        xml: policy.to_xml(),
    })
}

fn written(value: &impl Serialize) -> String {
    // Strings, arrays and structures always have a JSON form.
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .unwrap_or_default()
}

/// One operation of one port. Absent fields say that there is nothing to say.
#[derive(Serialize)]
struct Subject<'e> {
    #[serde(skip_serializing_if = "Option::is_none")]
    service: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binding: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<&'e str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<&'e str>,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
enum Outcome {
    Supported(Box<ExchangePolicyFound>),
    NotSupported { problems: Vec<ProblemFound> },
    NotUsable { message: String },
}

#[derive(Serialize)]
struct ProblemFound {
    assertion: String,
    namespace: String,
    line: u32,
    column: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<String>,
    message: String,
}

#[derive(Serialize)]
struct ExchangePolicyFound {
    words: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<TransportFound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation: Option<ConversationFound>,
    addressing: bool,
    request: MessageFound,
    response: MessageFound,
    passed_over: Vec<String>,
    notices: Vec<String>,
}

#[derive(Serialize)]
struct TransportFound {
    client_certificate: bool,
}

#[derive(Serialize)]
struct ConversationFound {
    version: &'static str,
    may_renew: bool,
    may_amend: bool,
    may_cancel: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    bootstrap: Option<Box<ExchangePolicyFound>>,
}

#[derive(Serialize)]
struct MessageFound {
    suite: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp_seconds: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    passwords: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<ProtectionFound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encryption: Option<ProtectionFound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    derived_keys: Option<DerivedFound>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    endorsing: Vec<EndorsingFound>,
    signature_confirmation: bool,
    order: &'static str,
    layout: &'static str,
    only_entire_headers_and_body: bool,
    transport_protected: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    required: Vec<String>,
}

#[derive(Serialize)]
struct ProtectionFound {
    key: &'static str,
    reference: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    recipient: Option<&'static str>,
    parts: Vec<PartFound>,
}

#[derive(Serialize)]
struct PartFound {
    part: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    extent: Option<&'static str>,
}

#[derive(Serialize)]
struct DerivedFound {
    version: &'static str,
    form: &'static str,
    exclusive: bool,
    signature_octets: usize,
}

#[derive(Serialize)]
struct EndorsingFound {
    key: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    derived_keys: Option<DerivedFound>,
    reference: &'static str,
    token_signed: bool,
    token_encrypted: bool,
    covers_token: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartFound>,
}

fn problem_found(problem: &PolicyProblem) -> ProblemFound {
    ProblemFound {
        assertion: problem.assertion.local.to_string(),
        namespace: problem.assertion.namespace.to_string(),
        line: problem.place.line,
        column: problem.place.column,
        document: problem.place.document.as_deref().map(str::to_owned),
        message: problem.to_string(),
    }
}

fn agreement_found(agreement: &ExchangePolicy) -> ExchangePolicyFound {
    ExchangePolicyFound {
        words: agreement_lines(agreement),
        transport: agreement.transport.map(|transport| TransportFound {
            client_certificate: transport.client_certificate,
        }),
        conversation: agreement
            .conversation
            .as_ref()
            .map(|conversation| ConversationFound {
                version: version(conversation.version),
                may_renew: conversation.may_renew,
                may_amend: conversation.may_amend,
                may_cancel: conversation.may_cancel,
                bootstrap: conversation
                    .bootstrap
                    .as_ref()
                    .map(|bootstrap| Box::new(agreement_found(bootstrap))),
            }),
        addressing: agreement.addressing,
        request: message_found(&agreement.request),
        response: message_found(&agreement.response),
        passed_over: agreement
            .passed_over
            .iter()
            .map(|(name, _)| name.to_string())
            .collect(),
        notices: agreement.notices.iter().map(ToString::to_string).collect(),
    }
}

fn message_found(policy: &Policy) -> MessageFound {
    let plain = |part: &Part| PartFound {
        part: part.to_string(),
        extent: None,
    };
    MessageFound {
        suite: policy.suite.name.clone(),
        timestamp_seconds: policy
            .header
            .timestamp
            .map(|timestamp| timestamp.ttl.as_secs()),
        passwords: policy.username().map_or_else(Vec::new, |username| {
            let kinds = username.passwords.iter();
            kinds
                .map(|kind| match kind {
                    PasswordKind::Text => "text",
                    PasswordKind::Digest => "digest",
                    PasswordKind::Absent => "none",
                })
                .collect()
        }),
        signature: policy.signature().map(|signature| ProtectionFound {
            key: key(signature.key),
            reference: signature.reference.name(),
            recipient: None,
            parts: signature.parts.iter().map(plain).collect(),
        }),
        encryption: policy.encryption().map(|encryption| ProtectionFound {
            key: key(encryption.key),
            reference: encryption.reference.name(),
            recipient: (encryption.key == KeyBinding::Certificate).then_some(
                match encryption.recipient {
                    Recipient::Peer => "peer",
                    Recipient::Requester => "requester",
                    Recipient::Holder => "holder",
                },
            ),
            parts: encryption
                .parts
                .iter()
                .map(|wanted| PartFound {
                    part: wanted.part.to_string(),
                    extent: Some(match wanted.extent {
                        Extent::Content => "content",
                        Extent::Element => "element",
                    }),
                })
                .collect(),
        }),
        derived_keys: policy.derived_keys().map(derived_found),
        endorsing: policy
            .endorsing_beside()
            .map(|endorsing| EndorsingFound {
                key: key(endorsing.key.kind()),
                derived_keys: endorsing.key.derived_keys().map(derived_found),
                reference: endorsing.key.reference().name(),
                token_signed: endorsing.signed,
                token_encrypted: endorsing.encrypted,
                covers_token: endorsing.covers_token,
                parts: endorsing.parts.iter().map(plain).collect(),
            })
            .collect(),
        signature_confirmation: policy.header.signature_confirmation,
        order: match policy.order() {
            ProtectionOrder::SignBeforeEncrypting => "sign-encrypt",
            ProtectionOrder::EncryptBeforeSigning => "encrypt-sign",
        },
        layout: match policy.header.layout {
            Layout::Strict => "strict",
            Layout::Lax => "lax",
            Layout::LaxTimestampFirst => "lax-timestamp-first",
            Layout::LaxTimestampLast => "lax-timestamp-last",
        },
        only_entire_headers_and_body: policy.parts.only_entire_headers_and_body,
        transport_protected: policy.is_by_connection(),
        required: policy
            .parts
            .required
            .iter()
            .map(ToString::to_string)
            .collect(),
    }
}

fn derived_found(derived: DerivedKeyPolicy) -> DerivedFound {
    DerivedFound {
        version: version(derived.version),
        form: match derived.form {
            DerivedKeyForm::Explicit => "explicit",
            DerivedKeyForm::Implied => "implied",
        },
        exclusive: derived.exclusive,
        signature_octets: derived.signature_length,
    }
}

fn key(key: KeyBinding) -> &'static str {
    match key {
        KeyBinding::Certificate => "certificate",
        KeyBinding::Shared => "shared",
        KeyBinding::RequestKey => "request-key",
        KeyBinding::SessionKey => "session-key",
        KeyBinding::Context => "context",
        KeyBinding::Kerberos => "kerberos",
        KeyBinding::Assertion => "assertion",
        KeyBinding::Password => "password",
    }
}

fn version(version: ConversationVersion) -> &'static str {
    version.namespace()
}
