//! `soapstone policy`: what a policy or a WSDL demands, in words, as plans, and in normal form.
//!
//! The rule kept here: nothing is fetched. What a document imports is read from the folder that it
//! lies in, or is missed where it is needed.

use std::path::{Path, PathBuf};

use soapstone::config::{EndpointConfig, SecuritySource, read_beside};
use soapstone::endpoint::preset_exchange_policy;
use soapstone::policy::{
    CompileOptions, ExchangePolicy, ExchangePolicyError, IntersectionMode, MessageKind, Name,
    NormalPolicy, PolicyDocument, PolicyError, PolicyLimits, PolicyProblem, PolicySubject,
    Selection, SignatureReading,
};

use soapstone::wss::PasswordKind;
use soapstone_gateway::Config;

use crate::failure::{Failure, Refusal};
use crate::files;

mod report;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Explain a policy: what it demands of messages, and what of that is not supported.

FILE is a WSDL 1.1 with policies attached, or a wsp:Policy: WS-Policy 1.2 and 1.5, WS-SecurityPolicy 1.1, 1.2 and 1.3. Each port and \
operation is told in words, with the plans of request and response; operations that demand the same are told once. Nothing is fetched: \
imports are read from the folder of FILE.

FILE can be a gateway's file (NAME.toml): each route is told in words, with what requests and answers must do on either side.

FILE can be an endpoint file, too (NAME.toml): its mechanism is written as the policy that a gateway tells clients of, and its …Sha256 \
suites are read as they are meant. What no policy can say is named, with exit code 2.

The exit code is 0 if everything asked about is supported, and 2 if something is not; each assertion that is not supported is named \
with its line and column. A policy that is normalized, intersected or merged is not judged.";

const EXAMPLES: &str = "\
Examples:
  soapstone policy service.wsdl                       every port in words
  soapstone policy service.wsdl --port BooksPort --json
  soapstone policy gateway.toml                       every route in words
  soapstone policy policy.xml --normalize             the normal form: one wsp:All per alternative
  soapstone policy endpoint.toml --normalize          the policy that says what an endpoint file demands
  soapstone policy ours.xml --intersect theirs.xml    the alternatives that both sides can agree on
  soapstone policy ours.xml --merge more.xml          both policies in one";

/// Arguments of `soapstone policy`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A WSDL, a policy, or an endpoint file; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only this service of a WSDL
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Only this port of a WSDL (or a binding that no port uses)
    #[arg(long, value_name = "NAME")]
    port: Option<String>,
    /// Only this operation
    #[arg(long, value_name = "NAME")]
    operation: Option<String>,
    /// Read the …Sha256 suites with SHA-256 signatures, as WCF does; by the letter their
    /// signatures are SHA-1
    #[arg(long)]
    sha256_signatures: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the normal form of the policy (of requests, for a WSDL)
    #[arg(long, group = "form")]
    normalize: bool,
    /// Print the alternatives that this policy and OTHER have in common: an empty wsp:ExactlyOne
    /// if there are none
    #[arg(long, value_name = "OTHER", group = "form")]
    intersect: Option<PathBuf>,
    /// Print the policy that demands what this one and OTHER demand
    #[arg(long, value_name = "OTHER", group = "form")]
    merge: Option<PathBuf>,
    /// With --intersect: ignorable assertions do not count
    #[arg(long, requires = "intersect")]
    lax: bool,
    /// With --normalize, --intersect and --merge: the policy of responses
    #[arg(long, requires = "form")]
    responses: bool,
}

/// Explains a policy.
///
/// # Errors
/// What cannot be read, and every assertion that is not supported.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    if is_gateway_file(&arguments.file) {
        return tell_routes(&arguments.file);
    }
    let Source {
        document,
        signatures,
        ignored,
        unproven_users,
        meant,
    } = read(&arguments.file)?;
    let selection = Selection {
        service: arguments.service.clone().or(meant.service),
        port: arguments.port.clone().or(meant.port),
        operation: arguments.operation.clone().or(meant.operation),
    };
    if arguments.normalize || arguments.intersect.is_some() || arguments.merge.is_some() {
        return transform(&arguments, &document, &selection);
    }
    let options = CompileOptions {
        signatures: if arguments.sha256_signatures {
            SignatureReading::Sha256
        } else {
            signatures
        },
        ignored,
        unproven_users,
        ..CompileOptions::default()
    };
    let explained = explain(&document, &selection, &options)
        .map_err(|error| Failure::file(&arguments.file, error))?;
    let told = files::print(if arguments.json {
        report::json(&explained)
    } else {
        report::text(&explained, &document.unattached())
    });
    // Whether anybody reads the report or not, the exit code says what it comes to.
    match refusal(&explained) {
        Some(refusal) => Err(refusal.into()),
        None => told,
    }
}

/// Whether a file has routes: it is a gateway's.
fn is_gateway_file(file: &Path) -> bool {
    let is_toml = file
        .extension()
        .is_some_and(|extension| extension == "toml");
    let text = is_toml
        .then(|| std::fs::read_to_string(file))
        .and_then(Result::ok);
    text.is_some_and(|text| {
        text.lines()
            .any(|line| line.trim_start().starts_with("[[routes]]"))
    })
}

/// Tells what each route of a gateway demands, in words.
fn tell_routes(file: &Path) -> Result<(), Failure> {
    let config = Config::load(file, &|name| std::env::var(name).ok())?;
    files::print(config.in_words())
}

/// Operations that demand the same.
struct Explained {
    subjects: Vec<PolicySubject>,
    outcome: Result<ExchangePolicy, ExchangePolicyError>,
    /// What is attached to faults, which are answers like others: fault and assertion.
    faults: Vec<String>,
}

/// What stands in the way of some of the plans.
fn refusal(explained: &[Explained]) -> Option<Refusal> {
    let errors = || {
        explained
            .iter()
            .filter_map(|explained| explained.outcome.as_ref().err())
    };
    let mut problems: Vec<&PolicyProblem> = errors()
        .filter_map(|error| match error {
            ExchangePolicyError::NotSupported(problems) => Some(problems),
            _ => None,
        })
        .flatten()
        .collect();
    problems.sort_by_key(|problem| (&problem.place, &problem.assertion));
    problems.dedup_by_key(|problem| (&problem.place, &problem.assertion));
    let Some(first) = problems.first() else {
        return errors().next().map(|error| Refusal {
            name: "policy-not-usable".to_owned(),
            message: error.to_string(),
            hint: None,
            unsupported: None,
        });
    };
    let message = match problems.len() {
        1 => first.to_string(),
        count => format!("{count} assertions are not supported, the first of them: {first}"),
    };
    Some(Refusal {
        name: "policy-not-supported".to_owned(),
        message,
        hint: None,
        unsupported: Some(first.assertion.to_string()),
    })
}

fn explain(
    document: &PolicyDocument,
    selection: &Selection,
    options: &CompileOptions,
) -> Result<Vec<Explained>, ExchangePolicyError> {
    let mut explained: Vec<(String, Explained)> = Vec::new();
    for subject in meant(document, selection)? {
        let outcome = document.agreement_of(&subject, options);
        // Faults whose policies cannot be read make the outcome an error.
        let faults = document.fault_assertions(&subject).unwrap_or_default();
        let faults = faults
            .iter()
            .flat_map(|fault| fault.assertions.iter().map(move |one| (fault, one)))
            .map(|(fault, one)| format!("{} of fault {}", one.name(), fault.fault))
            .collect();
        // Operations of one port that are told with the same words are told together.
        let words = match &outcome {
            Ok(agreement) => report::agreement_lines(agreement).join("\n"),
            Err(ExchangePolicyError::NotSupported(problems)) => {
                let places: Vec<_> = problems.iter().map(|problem| &problem.place).collect();
                format!("{places:?}")
            }
            Err(error) => error.to_string(),
        };
        let port = subject.port.as_ref().or(subject.binding.as_ref());
        let key = format!("{:?} {port:?} {words}", subject.service);
        match explained.last_mut().filter(|(known, _)| *known == key) {
            Some((_, known)) => known.subjects.push(subject),
            None => explained.push((
                key,
                Explained {
                    subjects: vec![subject],
                    outcome,
                    faults,
                },
            )),
        }
    }
    Ok(explained
        .into_iter()
        .map(|(_, explained)| explained)
        .collect())
}

fn meant(
    document: &PolicyDocument,
    selection: &Selection,
) -> Result<Vec<PolicySubject>, ExchangePolicyError> {
    let subjects = document.subjects()?;
    let meant: Vec<PolicySubject> = subjects
        .iter()
        .filter(|subject| selection.includes(subject))
        .cloned()
        .collect();
    let names_something = *selection != Selection::default();
    if meant.is_empty() && names_something {
        let mut known: Vec<String> = subjects.iter().map(ToString::to_string).collect();
        known.dedup();
        return Err(ExchangePolicyError::NotFound {
            wanted: selection.clone(),
            known,
        });
    }
    Ok(meant)
}

/// Prints a policy that is made of others.
fn transform(
    arguments: &Arguments,
    document: &PolicyDocument,
    selection: &Selection,
) -> Result<(), Failure> {
    let failed = |error: PolicyError| Failure::file(&arguments.file, error);
    let message = if arguments.responses {
        MessageKind::Response
    } else {
        MessageKind::Request
    };
    let policy = one_policy(&arguments.file, document, selection, message)?;
    let other =
        |path: &Path| one_policy(path, &read(path)?.document, &Selection::default(), message);
    let limits = PolicyLimits::default();
    let result = if let Some(path) = &arguments.intersect {
        let mode = if arguments.lax {
            IntersectionMode::Lax
        } else {
            IntersectionMode::Strict
        };
        policy
            .intersect(&other(path)?, mode, &limits)
            .map_err(failed)?
    } else if let Some(path) = &arguments.merge {
        policy.merge(&other(path)?, &limits).map_err(failed)?
    } else {
        policy
    };
    files::print(if arguments.json {
        report::normal_json(&result)
    } else {
        result.to_xml()
    })?;
    Ok(())
}

/// The policy of everything that is meant, which must be one and the same.
fn one_policy(
    path: &Path,
    document: &PolicyDocument,
    selection: &Selection,
    message: MessageKind,
) -> Result<NormalPolicy, Failure> {
    let failed = |error: ExchangePolicyError| Failure::file(path, error);
    let subjects = meant(document, selection).map_err(failed)?;
    let mut found: Option<(NormalPolicy, &PolicySubject)> = None;
    for subject in &subjects {
        let policy = document
            .message_policy(subject, message)
            .map_err(|error| failed(error.into()))?;
        match &found {
            Some((known, first)) if !known.is_equivalent(&policy) => {
                let error = ExchangePolicyError::Ambiguous {
                    first: first.to_string(),
                    second: subject.to_string(),
                };
                return Err(failed(error).with_hint("say --port and --operation"));
            }
            Some(_) => {}
            None => found = Some((policy, subject)),
        }
    }
    found
        .map(|(policy, _)| policy)
        .ok_or_else(|| Failure::file(path, "has neither a port nor a policy"))
}

/// A policy, and what is said of it beside it.
struct Source {
    document: PolicyDocument,
    /// How its `…Sha256` suites are read.
    signatures: SignatureReading,
    /// Assertions that the endpoint file leaves out.
    ignored: Vec<Name>,
    /// Whether the endpoint file accepts users who prove nothing.
    unproven_users: bool,
    /// What of it is meant.
    meant: Selection,
}

fn read(path: &Path) -> Result<Source, Failure> {
    if path
        .extension()
        .is_some_and(|extension| extension == "toml")
    {
        return written(path);
    }
    let limits = PolicyLimits::default();
    let source = files::read_at_most(Some(path), limits.document)?;
    let beside = |uri: &str| read_beside(path, uri, limits.document);
    let document = PolicyDocument::parse_with(source, &limits, &beside)
        .map_err(|error| Failure::file(path, error))?;
    Ok(Source {
        document,
        signatures: SignatureReading::Letter,
        ignored: Vec::new(),
        unproven_users: false,
        meant: Selection::default(),
    })
}

/// The policy of an endpoint file: its mechanism as a policy, or the policy file that it names.
fn written(path: &Path) -> Result<Source, Failure> {
    let config = EndpointConfig::load(path, &|name| std::env::var(name).ok())?;
    let limits = PolicyLimits::default();
    let named = match &config.security.source.value {
        SecuritySource::Policy(file) => file.path.as_path(),
        _ => path,
    };
    let (source, signatures) = match (
        &config.security.source.value,
        preset_exchange_policy(&config)?,
    ) {
        (_, Some(agreement)) => {
            let written = agreement.write().map_err(|problems| {
                let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
                Failure::from(Refusal {
                    name: "policy-not-sayable".to_owned(),
                    message: problems.join("; "),
                    hint: None,
                    unsupported: None,
                })
            })?;
            (written.to_xml().into_bytes(), written.signatures())
        }
        (SecuritySource::Policy(file), None) => {
            let signatures = if config.security.policy_choice.sha256_signatures {
                SignatureReading::Sha256
            } else {
                SignatureReading::Letter
            };
            (file.bytes.expose().clone(), signatures)
        }
        (_, None) => {
            return Err(Failure::file(
                path,
                "names neither a mechanism nor a policy",
            ));
        }
    };
    let beside = |uri: &str| read_beside(named, uri, limits.document);
    let document = PolicyDocument::parse_with(source, &limits, &beside)
        .map_err(|error| Failure::file(named, error))?;
    let choice = config.security.policy_choice;
    let password = config.security.password.map(|given| given.value);
    let ignored = choice.ignored.into_iter().map(|name| name.value);
    Ok(Source {
        document,
        signatures,
        ignored: ignored
            .map(|(namespace, local)| Name {
                namespace: namespace.into(),
                local: local.into(),
            })
            .collect(),
        unproven_users: password == Some(PasswordKind::Absent),
        meant: Selection {
            service: choice.service,
            port: choice.port,
            operation: choice.operation,
        },
    })
}
