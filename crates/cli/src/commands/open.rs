//! `soapstone open`: one secured message in, a verdict and the plain message out.
//!
//! The rule kept here: a message that is refused leaves nothing behind but the reason.

use std::io::Write as _;
use std::path::PathBuf;

use serde::Serialize;
use soapstone::crypto::{Certificate, hexadecimal};
use soapstone::wss::{
    AssertionAttribute, AssertionEvidence, AttachmentEvidence, Coverage, Envelope, Evidence,
    Extent, FaultCode, InnerCipherEvidence, InnerEvidence, KeyEvidence, Rejected, Signer,
};
use soapstone::xml::{Buffers, NodeId};
use soapstone::xmlsec::dsig::SignatureError;
use soapstone::xmlsec::enc::EncryptionError;
use soapstone::{Memory, Opener, PassedMessage, ReceiveError};
use soapstone_store::Replay;

use crate::failure::{Failure, Refusal};
use crate::files;
use crate::package::{self, Given};

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Open one message: secured SOAP in, a verdict and plain SOAP out.

The endpoint file says what a message must prove. A message that proves it is decrypted and written without its security \
header, rebuilt from what was proven; one that does not is refused, with the reason on standard error and exit code 2.

A file that begins with Content-Type: or MIME-Version: is a MIME package. Its attachments have to be signed and encrypted as the \
endpoint file says, and what is written is a package of the opened message.

With `role` in the endpoint file this is a node on the way: the message is written for the next node, byte for byte, without \
what was for this one.";

const EXAMPLES: &str = "\
Examples:
  soapstone open --config server.toml secured.xml -o plain.xml
  soapstone open --config server.toml --json secured.xml
  soapstone secure --config client.toml in.xml | soapstone open --config server.toml

With --json the verdict is on standard output, and the plain message only where -o says.

An endpoint file:
  [identity]
  key = \"server.key.pem\"
  certificate = \"server.cert.pem\"
  [trust]
  anchors = [\"ca.cert.pem\"]
  [security]
  mechanism = \"sign-encrypt\"
  replay = { store = \"file\", path = \"replay.marks\" }   # remembers between calls";

/// What is said where an endpoint file demands what a single message does not show.
const NO_HTTP: &str = "note: `soap_action` compares what HTTP says with `wsa:Action`; a single message has no HTTP, and nothing is compared";

/// Arguments of `soapstone open`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The endpoint file
    #[arg(long, short, value_name = "FILE")]
    config: PathBuf,
    /// The secured message; standard input if none is named
    #[arg(value_name = "IN")]
    input: Option<PathBuf>,
    /// Where the plain message goes; standard output if not named
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// Print the verdict and everything that was proven as JSON
    #[arg(long)]
    json: bool,
}

/// Opens one message.
///
/// # Errors
/// Every problem of the endpoint file, or why the message is refused.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let opener = Opener::from_file(&arguments.config, &|name| std::env::var(name).ok())?;
    let replay = Replay::open(opener.replay()).map_err(Failure::new)?;
    if opener.compares_actions() {
        // Nobody may be reading it; the message is opened all the same.
        let _ = writeln!(std::io::stderr(), "{NO_HTTP}");
    }
    let (message, package) = (opener.limits().message, opener.largest_package());
    let source = package::source(arguments.input.as_deref(), message, package)?;
    let mut given = Given::of(source).map_err(|error| {
        let (code, message) = (FaultCode::Sender, error.to_string());
        unread("package-malformed", code, message, arguments.json)
    })?;
    let message = std::mem::take(&mut given.message);
    let memory = Memory::without_conversations(&replay);
    let (mut plain, mut parts) = (Vec::new(), Vec::new());
    let told = if opener.is_intermediary() {
        if !message.parts.is_empty() {
            let code = FaultCode::InvalidSecurity;
            let message =
                "expected a message without attachments: a node on the way takes no packages";
            let message = message.to_owned();
            return Err(unread(
                "attachment-unexpected",
                code,
                message,
                arguments.json,
            ));
        }
        let passed = match opener.pass_on(message.root, memory) {
            Ok(PassedMessage { bytes, passed }) => {
                plain = bytes;
                Ok(passed)
            }
            Err(ReceiveError::Rejected(rejected)) => Err(rejected),
            Err(error) => {
                return Err(Failure::new(format_args!(
                    "the message cannot be passed on: {error}"
                )));
            }
        };
        let found = passed.as_ref().map(|it| (it.envelope(), it.evidence()));
        let told = tell(&opener, found, arguments.json);
        passed.map_err(|rejected| refusal(&rejected))?;
        told
    } else {
        let verified = opener.verify(message, memory).and_then(|mut verified| {
            verified.forward(&mut plain, &mut Buffers::default())?;
            parts = verified.take_attachments();
            Ok(verified)
        });
        let found = verified.as_ref().map(|it| (it.envelope(), it.evidence()));
        let told = tell(&opener, found, arguments.json);
        verified.map_err(|rejected| refusal(&rejected))?;
        told
    };
    // Whether anybody reads the verdict or not, it is the exit code.
    told?;
    if !arguments.json || arguments.output.is_some() {
        files::write(arguments.output.as_deref(), &given.file(plain, parts))?;
    }
    Ok(())
}

/// The message that was opened, and what was proven of it.
type Found<'m> = (&'m Envelope, &'m Evidence);

/// Prints the verdict, where it is asked for.
fn tell(opener: &Opener, found: Result<Found<'_>, &Rejected>, wanted: bool) -> Result<(), Failure> {
    match wanted {
        true => files::print(json(&verdict(opener, found))),
        false => Ok(()),
    }
}

/// A fault code as it stands in a SOAP 1.1 fault.
fn qualified(code: FaultCode) -> String {
    let prefix = match code {
        FaultCode::MessageExpired => "wsu",
        FaultCode::Sender | FaultCode::MustUnderstand | FaultCode::VersionMismatch => "soap",
        FaultCode::BadContextToken(_) | FaultCode::RenewNeeded(_) => "wsc",
        _ => "wsse",
    };
    format!("{prefix}:{}", code.local())
}

/// A refused message as the end of a command.
fn refusal(rejected: &Rejected) -> Refusal {
    Refusal {
        name: rejected.cause().name().to_owned(),
        message: rejected.to_string(),
        hint: rejected.hint().map(str::to_owned),
        unsupported: unsupported(rejected).map(str::to_owned),
    }
}

/// A package that is refused before the engine sees its message, as the end of a command.
fn unread(reason: &'static str, code: FaultCode, message: String, wanted: bool) -> Failure {
    if wanted {
        let verdict = Verdict::Refused {
            reason,
            message: message.clone(),
            hint: None,
            unsupported: None,
            fault: qualified(code),
        };
        if let Err(failure) = files::print(json(&verdict)) {
            return failure;
        }
    }
    let refusal = Refusal {
        name: reason.to_owned(),
        message,
        hint: None,
        unsupported: None,
    };
    refusal.into()
}

/// The algorithm or feature that we do not have, where that is the reason.
fn unsupported(rejected: &Rejected) -> Option<&str> {
    match rejected.cause() {
        Rejected::TokenUnsupported { found } => Some(found),
        Rejected::Signature(
            SignatureError::UnknownAlgorithm { uri, .. }
            | SignatureError::TransformRefused { uri, .. },
        )
        | Rejected::Encryption(EncryptionError::UnknownAlgorithm { uri, .. }) => Some(uri),
        _ => None,
    }
}

/// The verdict, as `--json` prints it. Absent fields say that there is nothing to say.
#[derive(Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
enum Verdict {
    Accepted(Box<Accepted>),
    Refused {
        /// Stable name of the reason.
        reason: &'static str,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        hint: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        unsupported: Option<String>,
        /// What the peer is told.
        fault: String,
    },
}

#[derive(Serialize)]
struct Accepted {
    mechanism: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    suite: String,
    signatures: Vec<SignatureFound>,
    encrypted: Vec<EncryptionFound>,
    /// What was proven of each attachment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<AttachmentFound>,
    /// How session keys came with the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    keys: Vec<KeyFound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    /// Whom a token without a password names.
    #[serde(skip_serializing_if = "Option::is_none")]
    named_user: Option<String>,
    /// The client of the message's Kerberos token.
    #[serde(skip_serializing_if = "Option::is_none")]
    kerberos: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assertion: Option<AssertionFound>,
    /// Who signed an element of the Body by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    inner: Option<InnerFound>,
    /// Which element of the Body was encrypted by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    inner_encryption: Option<InnerCipherFound>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<TimestampFound>,
    /// Weak algorithms that the message used and the endpoint file allows.
    weak: Vec<&'static str>,
    /// Header blocks that nothing proves and that are passed on, since the endpoint file names
    /// them; at an intermediary everything that is for others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unproven: Vec<String>,
    /// Header blocks that were for this node, where it passes the message on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    taken_out: Vec<String>,
    /// Header blocks that no signature covers: they are not passed on.
    dropped: Vec<String>,
}

#[derive(Serialize)]
struct SignatureFound {
    signer: SignerFound,
    algorithm: &'static str,
    parts: Vec<String>,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum SignerFound {
    Certificate {
        subject: String,
        issuer: String,
        serial: String,
        thumbprint: String,
    },
    SharedKey {
        name: String,
    },
    RequestKey,
    SessionKey,
    /// The holder of a key that the issuer of an assertion vouches for.
    Holder {
        issuer: String,
        subject: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        certificate: Option<String>,
    },
    /// The user whose password the key is derived from.
    User {
        name: String,
    },
    SecurityContext {
        identifier: String,
        owner: String,
    },
    /// The client of a Kerberos token, or the service that it is for.
    Kerberos {
        client: String,
    },
}

/// Who signed an element of the Body by itself.
#[derive(Serialize)]
struct InnerFound {
    element: String,
    subject: String,
    issuer: String,
    serial: String,
}

impl From<&InnerEvidence> for InnerFound {
    fn from(inner: &InnerEvidence) -> Self {
        Self {
            element: inner.element.clone(),
            subject: inner.subject.clone(),
            issuer: inner.issuer.clone(),
            serial: inner.serial.clone(),
        }
    }
}

/// Which element of the Body was encrypted by itself.
#[derive(Serialize)]
struct InnerCipherFound {
    element: String,
    /// Whether its content alone was.
    content: bool,
    algorithm: &'static str,
    /// What encrypted the key.
    key: &'static str,
    /// The subject of our certificate.
    recipient: String,
}

impl From<&InnerCipherEvidence> for InnerCipherFound {
    fn from(inner: &InnerCipherEvidence) -> Self {
        Self {
            element: inner.element.clone(),
            content: inner.extent == Extent::Content,
            algorithm: inner.algorithm.short_name(),
            key: inner.key,
            recipient: inner.recipient.clone(),
        }
    }
}

/// The assertion about the sender.
#[derive(Serialize)]
struct AssertionFound {
    version: &'static str,
    id: String,
    issuer: String,
    subject: SubjectFound,
    /// How it was confirmed that the message is of the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed: Option<&'static str>,
    attributes: Vec<AttributeFound>,
}

#[derive(Serialize)]
struct SubjectFound {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    qualifier: Option<String>,
}

#[derive(Serialize)]
struct AttributeFound {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    values: Vec<String>,
}

impl From<&AssertionEvidence> for AssertionFound {
    fn from(evidence: &AssertionEvidence) -> Self {
        let assertion = &evidence.assertion;
        let attribute = |one: &AssertionAttribute| AttributeFound {
            name: one.name.clone(),
            format: one.format.clone(),
            values: one.values.clone(),
        };
        Self {
            version: assertion.version.name(),
            id: assertion.id.clone(),
            issuer: assertion.issuer.clone(),
            subject: SubjectFound {
                name: assertion.subject.value.clone(),
                format: assertion.subject.format.clone(),
                qualifier: assertion.subject.qualifier.clone(),
            },
            confirmed: evidence.confirmed.map(|method| method.name()),
            attributes: assertion.attributes.iter().map(attribute).collect(),
        }
    }
}

#[derive(Serialize)]
struct EncryptionFound {
    part: String,
    extent: &'static str,
    algorithm: &'static str,
}

/// What was proven of an attachment. What is absent was not done.
#[derive(Serialize)]
struct AttachmentFound {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    signed: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    algorithm: Option<&'static str>,
}

impl From<&AttachmentEvidence> for AttachmentFound {
    fn from(evidence: &AttachmentEvidence) -> Self {
        let encrypted = evidence.encrypted;
        Self {
            id: evidence.id.clone(),
            signed: evidence.signed.map(Coverage::name),
            encrypted: encrypted.map(|(coverage, _)| coverage.name()),
            algorithm: encrypted.map(|(_, algorithm)| algorithm.short_name()),
        }
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum KeyFound {
    Transport {
        transport: &'static str,
    },
    Agreement {
        agreement: &'static str,
        derivation: &'static str,
        digest: &'static str,
        wrap: &'static str,
    },
}

impl From<&KeyEvidence> for KeyFound {
    fn from(evidence: &KeyEvidence) -> Self {
        match evidence {
            KeyEvidence::Transport(method) => Self::Transport {
                transport: method.algorithm.short_name(),
            },
            KeyEvidence::Agreement(method) => Self::Agreement {
                agreement: method.algorithm.short_name(),
                derivation: method.derivation.short_name(),
                digest: method.digest.short_name(),
                wrap: method.wrap.short_name(),
            },
        }
    }
}

#[derive(Serialize)]
struct TimestampFound {
    created: String,
    expires: String,
}

fn verdict(opener: &Opener, outcome: Result<Found<'_>, &Rejected>) -> Verdict {
    let (envelope, evidence) = match outcome {
        Ok(found) => found,
        Err(rejected) => {
            return Verdict::Refused {
                reason: rejected.cause().name(),
                message: rejected.to_string(),
                hint: rejected.hint(),
                unsupported: unsupported(rejected).map(str::to_owned),
                fault: qualified(rejected.fault()),
            };
        }
    };
    let name = |node: NodeId| expanded_name(envelope, node);
    let signatures = evidence.signatures.iter().map(|signature| SignatureFound {
        signer: match &signature.signer {
            Signer::Certificate(certificate) => certificate_found(certificate),
            Signer::SharedKey(name) => SignerFound::SharedKey { name: name.clone() },
            Signer::RequestKey(_) => SignerFound::RequestKey,
            Signer::SessionKey(_) => SignerFound::SessionKey,
            Signer::Holder {
                issuer,
                subject,
                certificate,
            } => SignerFound::Holder {
                issuer: issuer.clone(),
                subject: subject.clone(),
                certificate: certificate.as_ref().map(|found| found.subject().to_owned()),
            },
            Signer::User(name) => SignerFound::User { name: name.clone() },
            Signer::Context { name, owner } => SignerFound::SecurityContext {
                identifier: name.identifier.clone(),
                owner: owner.to_string(),
            },
            Signer::Kerberos(client) => SignerFound::Kerberos {
                client: client.clone(),
            },
        },
        algorithm: signature.algorithm.short_name(),
        parts: signature.nodes.iter().map(|node| name(*node)).collect(),
    });
    let encrypted = evidence.encrypted.iter().map(|encryption| EncryptionFound {
        part: name(encryption.node),
        extent: match encryption.extent {
            Extent::Content => "content",
            Extent::Element => "element",
        },
        algorithm: encryption.algorithm.short_name(),
    });
    Verdict::Accepted(Box::new(Accepted {
        mechanism: opener.mechanism(),
        suite: opener.suite().to_owned(),
        signatures: signatures.collect(),
        encrypted: encrypted.collect(),
        attachments: evidence
            .attachments
            .iter()
            .map(AttachmentFound::from)
            .collect(),
        keys: evidence.keys.iter().map(KeyFound::from).collect(),
        user: evidence.user.clone(),
        kerberos: evidence.kerberos.as_ref().map(|it| it.client.clone()),
        assertion: evidence.assertion.as_ref().map(AssertionFound::from),
        inner: evidence.inner.as_ref().map(InnerFound::from),
        inner_encryption: evidence
            .inner_encryption
            .as_ref()
            .map(InnerCipherFound::from),
        named_user: evidence.named_user.clone(),
        timestamp: evidence.freshness.map(|freshness| TimestampFound {
            created: freshness.created.to_string(),
            expires: freshness.expires.to_string(),
        }),
        weak: evidence.weak.clone(),
        unproven: evidence.unproven.clone(),
        taken_out: evidence.taken_out.clone(),
        dropped: evidence.dropped.clone(),
    }))
}

fn certificate_found(certificate: &Certificate) -> SignerFound {
    SignerFound::Certificate {
        subject: certificate.subject().to_string(),
        issuer: certificate.issuer().to_string(),
        serial: certificate.serial_decimal().to_string(),
        thumbprint: hexadecimal::encode(&certificate.thumbprint_sha256()),
    }
}

fn expanded_name(envelope: &Envelope, node: NodeId) -> String {
    let element = envelope.document().element(node);
    match element.namespace() {
        "" => element.local().to_owned(),
        namespace => format!("{{{namespace}}}{}", element.local()),
    }
}

fn json(verdict: &Verdict) -> String {
    // Strings, arrays and structures always have a JSON form.
    serde_json::to_string_pretty(verdict)
        .map(|text| text + "\n")
        .unwrap_or_default()
}
