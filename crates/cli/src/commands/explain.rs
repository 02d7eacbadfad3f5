//! `soapstone explain`: why a message does or does not verify.
//!
//! The rule kept here: what is told is for people who have the message and the keys at hand. The
//! gateway does not depend on it, so that nothing of it reaches a peer.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::Timestamp;
use soapstone::config::{EndpointConfig, IdentityConfig, IdentitySource, LoadedFile};
use soapstone::crypto::{Certificate, Identity, KeyStore, SecretBytes, SymmetricKey};
use soapstone::endpoint::{Memory, Opener};
use soapstone::replay::ForgetfulReplayCache;
use soapstone_explain::{Explanation, Known, Options, Verdict, demands, explain};

use crate::failure::{FAILED, Failure, REFUSED, Refusal};
use crate::files::{self, Existing, Privacy};

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Explain why a message does or does not verify.

It tells what the message says of itself: the security header in order, tokens, each reference with its transforms, canonical bytes and \
digests, each signature with the key that checks it. Where a digest or a signature value differs, it tries what senders, proxies and \
libraries are known to do, alone and in twos, and names the cause whose bytes were signed. A cause is proven; whatever is only likely \
is called so.

Without --config nothing is needed but the message. With it, the message is opened as the endpoint file says, the demands that it does \
not meet are listed, and keys and passwords of the file are tried as well. Nothing is fetched, and nothing is remembered.

The exit code is 0 if nothing wrong was found, 2 if the message would be refused, and 1 for anything else. docs/debug-a-signature.md has \
examples and the fields of --json.";

const EXAMPLES: &str = "\
Examples:
  soapstone explain message.xml                          what it says of itself, and what is wrong
  soapstone explain --config server.toml message.xml     which demand of the endpoint file is not met
  soapstone explain --json message.xml                   the same for other programs
  soapstone explain --dump bytes message.xml             canonical bytes of all that is signed, as files
  soapstone explain --against good.xml message.xml       how it differs in form from a good message
  soapstone explain --response-to request.xml answer.xml confirmed signatures and wsa:RelatesTo, too";

/// Arguments of `soapstone explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The message; standard input if none is named
    #[arg(value_name = "IN")]
    input: Option<PathBuf>,
    /// The endpoint file that is to open it
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The request that the message answers
    #[arg(long, value_name = "REQUEST")]
    response_to: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Write the canonical bytes of all that is signed into this folder
    #[arg(long, value_name = "DIR")]
    dump: Option<PathBuf>,
    /// A good message of the same sender, to compare with
    #[arg(long, value_name = "GOOD")]
    against: Option<PathBuf>,
}

/// Largest message that is read, bytes: the parser's own limit, which tells of a larger one.
const LARGEST: usize = 8 << 20;

/// Explains one message.
///
/// # Errors
/// Every problem of the endpoint file, a message that is no XML, and files that cannot be read or
/// written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let read = |path: &Path| files::read_at_most(Some(path), LARGEST);
    let message = files::read_at_most(arguments.input.as_deref(), LARGEST)?;
    let against = arguments.against.as_deref().map(read).transpose()?;
    let request = arguments.response_to.as_deref().map(read).transpose()?;
    let mut options = Options {
        now: Some(whole_seconds(Timestamp::now())),
        against: against.as_deref(),
        request: request.as_deref(),
        ..Options::default()
    };
    let opener = match &arguments.config {
        None => None,
        Some(file) => {
            let config = EndpointConfig::load(file, &|name| std::env::var(name).ok())?;
            let opener = Opener::from_config(&config)?;
            options.now = Some(whole_seconds(opener.clock(Timestamp::now())));
            options.known = known(&config);
            Some(opener)
        }
    };
    let mut told = explain(message.clone(), &options).map_err(|error| Refusal {
        name: "not-xml".to_owned(),
        message: error.to_string(),
        hint: None,
        unsupported: None,
    })?;
    if let Some(opener) = &opener {
        told.verdict = Some(verdict(opener, message, &told));
    }
    if let Some(folder) = &arguments.dump {
        dump(folder, &told)?;
    }
    let name = arguments
        .input
        .as_deref()
        .filter(|input| *input != Path::new("-"))
        .map_or("stdin".into(), |input| input.display().to_string());
    let printed = if arguments.json {
        // Strings, numbers and lists always have a JSON form.
        let json = soapstone_explain::json(&name, &told);
        files::print(serde_json::to_string_pretty(&json).unwrap_or_default() + "\n")
    } else {
        files::print(soapstone_explain::text(&name, &told))
    };
    // Whether anybody reads it or not, the exit code tells.
    let code = match told.is_refused() {
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

/// What the endpoint file says of the message, and all of its demands.
fn verdict(opener: &Opener, message: Vec<u8>, told: &Explanation) -> Verdict {
    let verified = opener.verify(
        message,
        Memory::without_conversations(&ForgetfulReplayCache),
    );
    let demands = opener
        .inbound()
        .next()
        .map(|plan| demands(plan.policy(), told))
        .unwrap_or_default();
    match verified {
        Ok(_) => Verdict {
            accepted: true,
            reason: None,
            says: "the message proves what the endpoint file demands".to_owned(),
            hint: None,
            demands,
        },
        Err(rejected) => Verdict {
            accepted: false,
            reason: Some(rejected.cause().name().to_owned()),
            says: rejected.to_string(),
            hint: rejected.hint().map(str::to_owned),
            demands,
        },
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

/// Writes canonical bytes, which may be the plaintext of what was encrypted: for their owner alone.
fn dump(folder: &Path, told: &Explanation) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
    for (name, bytes) in &told.dumps {
        files::create(
            &folder.join(name),
            bytes,
            Privacy::Secret,
            Existing::Replace,
        )?;
    }
    Ok(())
}
