//! `soapstone learn`: endpoint files written from good messages.
//!
//! The rule kept here: a file that is there already is never written over, and a file that does not
//! open its own messages makes the exit code 2.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::Timestamp;
use soapstone::config::{EndpointConfig, read_beside};
use soapstone::policy::{PolicyDocument, PolicyLimits};
use soapstone::xml::Limits;
use soapstone::{ForgetfulReplayCache, Memory, Opener, Securer};
use soapstone_learn::{Described, KeyTables, LearnError, Learned, difference, learn, unsecured};

use crate::failure::{Failure, REFUSED};
use crate::files::{self, Existing};

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Write endpoint files from good messages of a partner.

SAMPLE is a secured message of the partner; several of one kind show what is always there. The receiver's file demands what the messages \
have: mechanism, algorithms, signed and encrypted parts, password, Timestamp, actor. --sender writes the file that makes such messages.

With --keys, the tables of an endpoint file that say which keys you have, cipher text is opened, and the file is tried on every sample at \
the moment it was made, or at the one of --at. Whom to trust is never learned: it stands in these tables.

--answer names answers to the samples: both files then say in [answers] what an answer proves. With --sender-keys, answers are opened \
with the client's tables. --wsdl names the description of the service: what agrees with the samples and what differs is told in words.

What was guessed and what is not known goes to standard error. The exit code is 0 if the files open the samples and the answers. It is 0 as \
well where they were not tried, 2 if they do not open them, and 1 if nothing was learned.";

const EXAMPLES: &str = "\
Examples:
  soapstone learn request.xml                                      the receiver's file, with places for keys
  soapstone learn --keys keys.toml -o server.toml request*.xml     tried on every sample
  soapstone learn --keys keys.toml --sender client.toml request.xml > server.toml
  soapstone learn --keys keys.toml --diff client.toml request.xml  how messages of client.toml would differ, in words
  soapstone learn --keys keys.toml --answer answer.xml --wsdl service.wsdl request.xml   answers and description, too

Tables of keys:
  [identity]
  key = \"server.key.pem\"
  certificate = \"server.cert.pem\"
  [trust]
  anchors = [\"ca.cert.pem\"]";

/// Arguments of `soapstone learn`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Secured messages of one kind; `-` is standard input
    #[arg(value_name = "SAMPLE", required = true)]
    samples: Vec<PathBuf>,
    /// The receiver's tables of keys: an endpoint file, whose [security] is not looked at
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// The same of the sender, for its file, and to open answers
    #[arg(long, value_name = "FILE")]
    sender_keys: Option<PathBuf>,
    /// An answer to such a sample; several times for several answers of one kind
    #[arg(long = "answer", value_name = "ANSWER", conflicts_with = "diff")]
    answers: Vec<PathBuf>,
    /// The description of the service that the samples call
    #[arg(long, value_name = "FILE", conflicts_with = "diff")]
    wsdl: Option<PathBuf>,
    /// Try the file at this moment, such as 2026-01-31T12:00:00Z, and not when a sample says it
    /// was made
    #[arg(long, value_name = "MOMENT", requires = "keys")]
    at: Option<Timestamp>,
    /// Where the receiver's file goes; standard output if not named
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Where the sender's file goes, if there is to be one
    #[arg(long, value_name = "FILE")]
    sender: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    /// Only try: tell whether the file opens the samples, and write nothing
    #[arg(long, requires = "keys", conflicts_with_all = ["output", "sender"])]
    check: bool,
    /// Tell how messages that this endpoint file makes would differ from the first sample
    #[arg(long, value_name = "FILE", requires = "keys", conflicts_with_all = ["output", "sender", "check"])]
    diff: Option<PathBuf>,
}

/// Learns endpoint files.
///
/// # Errors
/// Why nothing was learned, or what was learned cannot be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let samples = messages(&arguments.samples)?;
    let mut keys = arguments.keys.as_deref().map(tables).transpose()?;
    if let Some(moment) = arguments.at {
        keys = keys.map(|keys| keys.at(moment));
    }
    let mut learned = learn(&samples, keys.as_ref()).map_err(failure)?;
    let sender_keys = arguments.sender_keys.as_deref().map(tables).transpose()?;
    let answers = learn_answers(arguments, &mut learned, sender_keys.as_ref())?;
    let described = match &arguments.wsdl {
        Some(file) => {
            let document = description(file)?;
            describe(&learned.beside(file, &document, &samples, keys.as_ref()))
        }
        None => String::new(),
    };
    let mut notes = String::new();
    for note in &learned.notes {
        notes.push_str(&format!("soapstone: note: {note}\n"));
    }
    match (&learned.refused, learned.is_tried) {
        (Some(why), _) => notes.push_str(&format!(
            "soapstone: the file does not open the samples: {why}\n"
        )),
        (None, true) => notes.push_str(&format!(
            "soapstone: the file opens {}\n",
            match samples.len() {
                1 => "the sample".to_owned(),
                several => format!("all {several} samples"),
            }
        )),
        (None, false) => notes.push_str("soapstone: the file was not tried: no --keys\n"),
    }
    notes.push_str(&answers.told);
    notes.push_str(&described);
    // Nobody may be listening; the files are written all the same.
    let _ = std::io::stderr().write_all(notes.as_bytes());
    if let Some(ours) = &arguments.diff {
        return tell_difference(&learned, &samples[0], keys.as_ref(), ours);
    }
    if !arguments.check {
        write(arguments, &learned, keys.as_ref(), sender_keys.as_ref())?;
    }
    Ok(match learned.refused.is_some() || answers.are_refused {
        true => ExitCode::from(REFUSED),
        false => ExitCode::SUCCESS,
    })
}

/// The messages of files.
fn messages(paths: &[PathBuf]) -> Result<Vec<Vec<u8>>, Failure> {
    let largest = Limits::default().message;
    let mut messages = Vec::new();
    for path in paths {
        let path = Some(path.as_path()).filter(|path| *path != Path::new("-"));
        messages.push(files::read_at_most(path, largest)?);
    }
    Ok(messages)
}

fn failure(error: LearnError) -> Failure {
    match error {
        LearnError::Keys(problems) => Failure::from(problems),
        other => Failure::new(other),
    }
}

/// What became of the answers.
#[derive(Default)]
struct Answered {
    told: String,
    are_refused: bool,
}

fn learn_answers(
    arguments: &Arguments,
    learned: &mut Learned,
    keys: Option<&KeyTables>,
) -> Result<Answered, Failure> {
    if arguments.answers.is_empty() {
        return Ok(Answered::default());
    }
    let answers = messages(&arguments.answers)?;
    let keys = keys.map(|keys| match arguments.at {
        Some(moment) => keys.clone().at(moment),
        None => keys.clone(),
    });
    let refused = learned
        .also_answers(&answers, keys.as_ref())
        .map_err(failure)?;
    let told = match (&refused, keys.is_some()) {
        (Some(why), _) => {
            format!("soapstone: the sender's file does not open the answers: {why}\n")
        }
        (None, true) => "soapstone: the sender's file opens the answers\n".to_owned(),
        (None, false) => {
            "soapstone: the sender's file was not tried on the answers: no --sender-keys\n"
                .to_owned()
        }
    };
    Ok(Answered {
        told,
        are_refused: refused.is_some(),
    })
}

fn description(file: &Path) -> Result<PolicyDocument, Failure> {
    let limits = PolicyLimits::default();
    let source = files::read_at_most(Some(file), limits.document)?;
    let beside = |uri: &str| read_beside(file, uri, limits.document);
    PolicyDocument::parse_with(source, &limits, &beside).map_err(|error| Failure::file(file, error))
}

/// What a description and the samples say, a line for each.
fn describe(described: &Described) -> String {
    let kinds = [
        ("agrees", &described.agrees),
        ("differs", &described.differs),
        ("not compared", &described.unknown),
    ];
    let lines = kinds.into_iter().flat_map(|(kind, lines)| {
        lines
            .iter()
            .map(move |line| format!("soapstone: description: {kind}: {line}\n"))
    });
    lines.collect()
}

/// The tables of keys of a file.
fn tables(path: &Path) -> Result<KeyTables, Failure> {
    let bytes = files::read(Some(path))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::file(path, "expected text in UTF-8, found other bytes"))?;
    Ok(KeyTables::of(path, &text))
}

fn write(
    arguments: &Arguments,
    learned: &Learned,
    keys: Option<&KeyTables>,
    sender_keys: Option<&KeyTables>,
) -> Result<(), Failure> {
    let mut outputs = Vec::new();
    if let Some(path) = &arguments.output {
        outputs.push((path, learned.receiver(keys), keys));
    }
    if let Some(path) = &arguments.sender {
        outputs.push((path, learned.sender(sender_keys), sender_keys));
    }
    let existing = match arguments.force {
        true => Existing::Replace,
        false => Existing::Keep,
    };
    files::must_be_new(outputs.iter().map(|(path, ..)| path.as_path()), existing)?;
    for (path, text, tables) in &outputs {
        let beside = |path: &Path| path.parent().map(Path::to_owned).unwrap_or_default();
        if let Some(tables) = tables
            && beside(path) != beside(tables.file())
        {
            return Err(Failure::file(
                path,
                "the file has paths that are relative to its tables of keys",
            )
            .with_hint(format!("write it beside {}", tables.file().display())));
        }
        files::write(Some(path), text.as_bytes())?;
    }
    if arguments.output.is_none() {
        files::print(learned.receiver(keys))?;
    }
    Ok(())
}

/// Secures the plain form of the sample with our own file, and compares.
fn tell_difference(
    learned: &Learned,
    sample: &[u8],
    keys: Option<&KeyTables>,
    ours: &Path,
) -> Result<ExitCode, Failure> {
    let environment = |name: &str| std::env::var(name).ok();
    if let Some(why) = &learned.refused {
        return Err(Failure::new(format_args!(
            "the sample cannot be opened, so there is nothing to secure anew: {why}"
        )));
    }
    let Some(keys) = keys else {
        return Err(Failure::new("the tables of keys are needed: --keys"));
    };
    let at = learned.at.unwrap_or_else(Timestamp::now);
    let text = learned.receiver_at(Some(keys), at);
    let config = EndpointConfig::from_text(&text, keys.file(), &environment)?;
    let opener = Opener::from_config(&config)?;
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let opened = opener.open(sample.to_vec(), memory).map_err(|rejected| {
        Failure::new(format_args!("the sample cannot be opened: {rejected}"))
    })?;
    let plain = unsecured(sample).map_err(Failure::new)?;
    let securer = Securer::from_file(ours, &environment)?;
    let secured = securer
        .secure(plain.unwrap_or(opened.bytes))
        .map_err(|error| {
            Failure::file(ours, format_args!("the message cannot be secured: {error}"))
        })?;
    let told = difference(sample, &secured.bytes).map_err(Failure::new)?;
    if told.is_empty() {
        files::print("no difference but in values\n")?;
        return Ok(ExitCode::SUCCESS);
    }
    files::print(
        told.iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    )?;
    Ok(ExitCode::from(REFUSED))
}
