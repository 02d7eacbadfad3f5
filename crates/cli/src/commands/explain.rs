//! `soapstone explain`: why a message does or does not verify.
//!
//! The rule kept here: what is told is for people who have the message and the keys at hand. The
//! gateway does not depend on it, so that nothing of it reaches a peer. The program hands it to the
//! gateway's console (`refused`), without any key.

mod recorded;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::{SignedDuration, Timestamp};
use soapstone::config::{EndpointConfig, IdentityConfig, IdentitySource, LoadedFile, Problems};
use soapstone::crypto::{Certificate, Identity, KeyStore, SecretBytes, SymmetricKey};
use soapstone::endpoint::{Calling, Endpoint, Fixed, Memory, Opens, Serving};
use soapstone::mime::{Message, Package, PackageError};
use soapstone::replay::ForgetfulReplayCache;
use soapstone::wss::{InboundPlan, Policy, Rejected};
use soapstone::xml::{Limits, ParseOptions};
use soapstone_explain::{
    Arrived, EngineReport, Explanation, Known, Options, Verdict, algorithms, compare, explain,
    of_mtom,
};
use soapstone_gateway::RefusedMessage;

use crate::admin::{ADDRESS, AdminOptions};
use crate::dump::{self, TREE};
use crate::failure::{FAILED, Failure, REFUSED, Refusal};
use crate::files;
use recorded::fetch;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Explain why a message does or does not verify.

It tells what the message says of itself: the security header in order, tokens, each reference with its transforms, canonical bytes and \
digests, each signature with the key that checks it. Where a digest or a signature value differs, it tries what senders, proxies and \
libraries are known to do, alone and in twos, and names the cause whose bytes were signed. A cause is proven; whatever is only likely \
is called so.

IN may be a MIME package that begins with its header: attachments have digests, too. If it is of MTOM, the message that it stands for is explained; \
an endpoint refuses it.

Without --config nothing is needed but the message. With it, the message is opened as the endpoint file says, the demands that it does \
not meet are listed, and keys and passwords of the file are tried as well. --role says from which end: a service opens requests, a client \
opens answers. Nothing is remembered, and nothing is fetched but what --gateway names.

With --gateway the message is one that a gateway refused and recorded (record = { refused = 100 } in its file), and IN is the id in the \
line of its log. It is judged as of the moment at which it was refused.

The exit code is 0 if nothing wrong was found, 2 if the message would be refused or, with --sent, differs from what was sent, \
and 1 for anything else. docs/debug-a-signature.md has examples and the fields of --json.";

const EXAMPLES: &str = "\
Examples:
  soapstone explain message.xml                          what it says of itself, and what is wrong
  soapstone explain --config server.toml message.xml     which demand of the endpoint file is not met
  soapstone explain --json message.xml                   the same for other programs
  soapstone explain --dump bytes message.xml             canonical bytes of all that is signed, as files
  soapstone explain --against good.xml message.xml       how it differs in form from a good message
  soapstone explain --sent sent message.xml              what arrived of a message that we sent
  soapstone explain --response-to request.xml answer.xml confirmed signatures and wsa:RelatesTo, too
  soapstone explain --gateway http://127.0.0.1:9901 5f2a11c0-r7   a message that a gateway refused
  soapstone explain --gateway https://gw:9901 --ca ca.pem --cert me.cert.pem --key me.key.pem 5f2a11c0-r7
                                                         the same where its admin speaks TLS";

/// Arguments of `soapstone explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The message; standard input if none is named. With --gateway, the id of a refused message
    #[arg(value_name = "IN")]
    input: Option<PathBuf>,
    /// The endpoint file that is to open it
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Which end of the endpoint file opens it: requests arrive at a service, answers at a client;
    /// without it, a client for --response-to, and a request as it is otherwise
    #[arg(long, value_name = "ROLE", requires = "config")]
    role: Option<Role>,
    /// The request that the message answers
    #[arg(long, value_name = "REQUEST")]
    response_to: Option<PathBuf>,
    /// The admin listener of a gateway that recorded the message
    #[arg(long = "gateway", id = ADDRESS, value_name = "ADMIN-URL", requires = "input")]
    gateway: Option<String>,
    /// File with the key of the gateway's `record.seal_key`
    #[arg(long, value_name = "FILE", requires = ADDRESS)]
    seal_key: Option<PathBuf>,
    #[command(flatten)]
    shown: AdminOptions,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write the canonical bytes of all that is signed into this folder
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
    /// A good message of the same sender, to compare with
    #[arg(long, value_name = "GOOD")]
    against: Option<PathBuf>,
    /// The folder of `soapstone secure --explain --dump`: compare what was signed with what
    /// arrived
    #[arg(long, value_name = "DIR")]
    sent: Option<PathBuf>,
}

/// Largest file that is read, bytes. The limit of the endpoint file or of the parser tells of a
/// larger message.
const LARGEST: usize = 64 << 20;

/// The end of an endpoint file that opens a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Role {
    Service,
    Client,
}

/// What an endpoint file says of the message, before it is explained.
struct Opened {
    verdict: Result<(), Rejected>,
    /// Why an endpoint takes no such package. The verdict is of the message that it stands for.
    unread: Option<PackageError>,
    /// The policy that it was opened by, if one was chosen.
    policy: Option<Policy>,
    limits: Limits,
    /// Attributes without a namespace that are ids there.
    ids: Vec<&'static str>,
    now: Timestamp,
    report: EngineReport,
    known: Known,
}

/// Explains one message.
///
/// # Errors
/// Every problem of the endpoint file, a message that is no XML, and files that cannot be read or
/// written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let config = match &arguments.config {
        None => None,
        Some(file) => Some(EndpointConfig::load(file, &|name| {
            std::env::var(name).ok()
        })?),
    };
    let read = |path: Option<&Path>| files::read_at_most(path, LARGEST);
    let recorded = match (&arguments.gateway, &arguments.input) {
        (Some(gateway), Some(id)) => {
            let id = id.to_string_lossy();
            let seal_key = arguments.seal_key.as_deref();
            Some(fetch(
                gateway,
                &id,
                seal_key,
                arguments.shown.credentials(),
            )?)
        }
        _ => None,
    };
    let is_answer = recorded.as_ref().is_some_and(|recorded| recorded.is_answer);
    let judge = match (arguments.role, is_answer || arguments.response_to.is_some()) {
        (Some(Role::Service), _) => opened_by::<Serving>,
        (Some(Role::Client), _) | (None, true) => opened_by::<Calling>,
        (None, false) => opened_by::<InboundPlan>,
    };
    let (message, now) = match recorded {
        Some(recorded) => (recorded.message, recorded.time),
        None => (read(arguments.input.as_deref())?, Timestamp::now()),
    };
    let mut opened = match &config {
        None => None,
        Some(config) => Some(judge(config, message.clone(), now)?),
    };
    let against = arguments.against.as_deref().map(|path| read(Some(path)));
    let against = against.transpose()?;
    let request = arguments
        .response_to
        .as_deref()
        .map(|path| read(Some(path)));
    let request = request.transpose()?;
    let mut options = Options {
        now: Some(whole_seconds(now)),
        against: against.as_deref(),
        request: request.as_deref(),
        dump: arguments.dump.is_some() || arguments.sent.is_some(),
        ..Options::default()
    };
    let ids = opened
        .as_ref()
        .map_or_else(Vec::new, |opened| opened.ids.clone());
    options.ids = &ids;
    if let Some(opened) = &mut opened {
        options.now = Some(whole_seconds(opened.now));
        options.limits = opened.limits.clone();
        options.known = std::mem::take(&mut opened.known);
        let timestamp = opened.policy.as_ref();
        let timestamp = timestamp.and_then(|policy| policy.header.timestamp);
        let skew = timestamp.and_then(|timestamp| SignedDuration::try_from(timestamp.skew).ok());
        options.skew = skew.unwrap_or(options.skew);
    }
    options.engine = opened.as_ref().map(|opened| &opened.report);
    let mut told = explain(message.clone(), &options);
    if told.is_err() && opened.is_some() {
        // The verdict names the limit of the endpoint file.
        options.limits = Limits::default();
        told = explain(message, &options);
    }
    let mut told = told.map_err(|error| {
        let rejected = Rejected::from(error.error.clone());
        Refusal {
            name: rejected.name().to_owned(),
            message: error.to_string(),
            hint: rejected.hint().map(str::to_owned),
            unsupported: None,
        }
    })?;
    told.verdict = opened.map(|opened| opened.in_words(&told));
    if let Some(folder) = &arguments.sent {
        told.arrived = compared(folder, &told)?;
    }
    if let Some(folder) = &arguments.dump {
        let dumps = told.dumps.iter();
        let dumps: Vec<_> = dumps
            .map(|(name, bytes)| (name.clone(), &bytes[..]))
            .collect();
        dump::write(folder, &dumps, None)?;
    }
    let name = arguments
        .input
        .as_deref()
        .filter(|input| *input != Path::new("-"))
        .map_or("stdin".into(), |input| input.display().to_string());
    print(&name, &told, arguments.json)
}

/// What a refused message says of itself, for the console of a gateway. No key is tried on it.
pub(crate) fn refused(message: RefusedMessage) -> String {
    let options = Options {
        now: Some(whole_seconds(message.time)),
        ..Options::default()
    };
    match explain(message.bytes, &options) {
        Ok(told) => soapstone_explain::text(&message.id, &told),
        Err(error) => format!("the message cannot be read: {error}\n"),
    }
}

/// Prints what was found out. Whether anybody reads it or not, the exit code tells.
fn print(name: &str, told: &Explanation, as_json: bool) -> Result<ExitCode, Failure> {
    let printed = if as_json {
        // Strings, numbers and lists always have a JSON form.
        let json = soapstone_explain::json(name, told);
        files::print(serde_json::to_string_pretty(&json).unwrap_or_default() + "\n")
    } else {
        files::print(soapstone_explain::text(name, told))
    };
    let code = match told.is_refused() || told.differs_from_sent() {
        true => REFUSED,
        false => 0,
    };
    match printed {
        Ok(()) | Err(Failure::Unread) => Ok(ExitCode::from(code)),
        Err(failure) => {
            failure.report(&mut std::io::stderr());
            Ok(ExitCode::from(FAILED))
        }
    }
}

/// The moment as it is told.
fn whole_seconds(moment: Timestamp) -> Timestamp {
    Timestamp::from_second(moment.as_second()).unwrap_or(moment)
}

/// The message of a package with its attachments, and that which a package of MTOM stands for, with
/// the reason why an endpoint refuses it; anything else is an envelope.
fn in_parts(message: Vec<u8>) -> (Message, Option<PackageError>) {
    let package = Package::read(&message).ok().flatten();
    match package.map(Package::into_message) {
        Some(Ok(parts)) => (parts, None),
        Some(Err(refused)) => match of_mtom(&message, &ParseOptions::default()) {
            Some(meant) => (meant, Some(refused)),
            None => (message.into(), None),
        },
        None => (message.into(), None),
    }
}

/// Opens the message with one end of an endpoint file.
fn opened_by<P: Fixed + Opens>(
    config: &EndpointConfig,
    message: Vec<u8>,
    now: Timestamp,
) -> Result<Opened, Problems> {
    let endpoint = Endpoint::<P>::from_config(config)?;
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let mut report = EngineReport::default();
    let (message, unread) = in_parts(message);
    let explained = endpoint.explain(message, None, memory, now, &mut report);
    Ok(Opened {
        unread,
        policy: explained.plan.map(|plan| plan.policy().clone()),
        verdict: explained.verdict,
        limits: endpoint.limits().clone(),
        ids: endpoint.ids().to_vec(),
        now: endpoint.clock(now),
        report,
        known: known(config),
    })
}

impl Opened {
    /// The verdict, and all demands of the endpoint file.
    fn in_words(self, told: &Explanation) -> Verdict {
        let EngineReport {
            mut demands,
            keys,
            trust,
            ..
        } = self.report;
        if let Some(policy) = &self.policy {
            demands.extend(algorithms(policy, told));
        }
        let rejected = self.verdict.err();
        let rejected = rejected.as_ref();
        let says = rejected.map_or_else(
            || "the message proves what the endpoint file demands".to_owned(),
            ToString::to_string,
        );
        let (reason, says) = match self.unread {
            // As `soapstone open` says it.
            Some(unread) => (
                Some("package-malformed"),
                format!("{unread}; of the message that it stands for: {says}"),
            ),
            None => (rejected.map(|rejected| rejected.cause().name()), says),
        };
        Verdict {
            accepted: reason.is_none(),
            reason: reason.map(str::to_owned),
            says,
            hint: rejected.and_then(Rejected::hint).map(str::to_owned),
            demands,
            keys,
            trust,
        }
    }
}

/// Keys, certificates and passwords of an endpoint file. What cannot be read was told when the file
/// was compiled.
fn known(config: &EndpointConfig) -> Known {
    let mut known = Known::default();
    if let Some(identity) = &config.identity {
        let all = std::iter::once(identity)
            .chain(&identity.decryption)
            .chain(&identity.endorsing);
        for identity in all.filter_map(loaded) {
            let name = format!("our key for {}", identity.certificate().subject());
            known.private_keys.push((name, identity.key().clone()));
            known.certificates.push((
                "`identity` of the endpoint file".to_owned(),
                identity.certificate().clone(),
            ));
        }
    }
    let mut add = |place: &str, file: &LoadedFile| {
        let certificates = Certificate::from_file_contents(file.bytes.expose());
        for certificate in certificates.unwrap_or_default() {
            let place = format!("`{place}` of the endpoint file");
            known.certificates.push((place, certificate));
        }
    };
    if let Some(peer) = &config.peer {
        add("peer", &peer.certificate);
    }
    if let Some(trust) = &config.trust {
        trust
            .pinned
            .iter()
            .for_each(|file| add("trust.pinned", file));
        trust
            .anchors
            .iter()
            .for_each(|file| add("trust.anchors", file));
    }
    if let Some(shared) = &config.shared_key
        && let Ok(key) = SymmetricKey::new(shared.key.expose().clone())
    {
        known.secrets.push(("the shared key".to_owned(), key));
    }
    for user in &config.users {
        let Some(password) = &user.password else {
            continue;
        };
        let password = SecretBytes::copy_of(password.value.expose().as_bytes());
        known.passwords.push((user.name.value.clone(), password));
    }
    known
}

fn loaded(config: &IdentityConfig) -> Option<Identity> {
    let password = config
        .password
        .as_ref()
        .map(|password| password.value.expose().as_str());
    match &config.source {
        IdentitySource::KeyAndCertificate { key, certificate } => {
            Identity::from_file_contents(key.bytes.expose(), certificate.bytes.expose(), password)
                .ok()
        }
        IdentitySource::Keystore {
            keystore,
            alias,
            key_password,
        } => {
            let password = password.unwrap_or_default();
            let store = KeyStore::from_file_contents(keystore.bytes.expose(), password).ok()?;
            let alias = alias.as_ref().map(|alias| alias.value.as_str());
            let key_password = key_password
                .as_ref()
                .map_or(password, |password| password.value.expose().as_str());
            store.identity(alias, key_password).ok()
        }
        // A key that stays in its token deciphers nothing here.
        IdentitySource::Token { .. } => None,
    }
}

/// What arrived of a message whose folder `soapstone secure --dump` wrote.
fn compared(folder: &Path, told: &Explanation) -> Result<Vec<Arrived>, Failure> {
    let tree = folder.join(TREE);
    let hint = "`soapstone secure … --explain --dump FOLDER` writes the folder that `--sent` reads";
    let text = files::read_at_most(Some(&tree), LARGEST).map_err(|it| it.with_hint(hint))?;
    let sent = serde_json::from_slice(&text)
        .map_err(|error| Failure::file(&tree, error).with_hint(hint))?;
    let file = |name: &str| files::read_at_most(Some(&folder.join(name)), LARGEST).ok();
    Ok(compare(&sent, &file, told))
}
