//! `soapstone init`: everything to put a gateway before a service, and to call it.
//!
//! Keys, a password where one is needed, the files of two gateways and of single messages, and a
//! request to try. The rule kept here: what gets into the folder was read first, by what will read
//! it there; and nothing that is there is touched.

mod assertion;
mod contract;
mod foreign;
mod keys;
mod place;
mod report;
mod template;
mod uses;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use http::Uri;
use soapstone::config::Problems;
use soapstone::crypto::KeyKind;
use soapstone::policy::SampleCall;
use soapstone::wss::Mechanism;
use soapstone::{Opener, Securer};
use soapstone_gateway::{OneLine, backend_url, share_a_port};

use self::contract::{AgreedPolicy, Contract, cannot_copy};
use self::foreign::{ASSERTION, Foreign, ISSUER, KEYTAB, Source};
use self::place::Staging;
use self::template::{PASSWORD, USER};
use self::uses::Uses;
use super::keys::new::{DAYS, VALID_DAYS};
use crate::arguments;
use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};
use crate::suites::{self, Keys};

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Begin here: write keys and configuration for a gateway before a service, and for its clients.

Into the folder go a certificate authority with keys and certificates for service and client, the files of two gateways (one before \
the service, one behind a client that knows nothing of security), the files of soapstone secure and open for single messages, and a request \
to try. They fit together, and run as they stand; the comments in them say what to change. Nothing that exists is overwritten: if \
one of the files is there already, none is written.

With --wsdl the files are for the service of a WSDL: its policy, if it has one, says what is done to messages, and both gateways read it. The request is made from its schema.

Without --backend and --wsdl the gateway stands before the books of the sample services (soapstone services).";

const EXAMPLES: &str = "\
Examples:
  soapstone init                                    before the sample services, in this folder
  soapstone init books --backend http://10.0.0.5:8080/books
  soapstone init --mechanism sign --suite Basic256Sha256+RsaSha256 signed
  soapstone init --mechanism username --listen 0.0.0.0:8443 users
  soapstone init --mechanism secure-conversation conversations
  soapstone init --wsdl partner.wsdl partner
  soapstone init --wsdl http://10.0.0.5:8080/books?wsdl --mechanism sign books

Then:
  soapstone services
  soapstone gateway --config gateway.toml
  soapstone gateway --config client-gateway.toml
  curl -H 'Content-Type: text/xml' --data-binary @request.xml http://127.0.0.1:8444/books";

/// The service that is protected unless another one is named: a sample service, where they listen
/// by default.
const DEFAULT_BACKEND: &str = "http://127.0.0.1:9000/books";

/// What endpoint files have where they say nothing.
const DEFAULT_SUITE: &str = "Basic256GCM";

/// Bits of RSA keys, as `soapstone keys new` makes them unless told otherwise.
const BITS: u32 = 2048;

/// How far behind its port a gateway tells of its health: 9901, the port of guides, for a gateway
/// at 8443.
const ADMIN_PORTS_BEHIND: u16 = 9901 - 8443;

/// Arguments of `soapstone init`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Where everything is written; made if it is not there
    #[arg(value_name = "FOLDER", default_value = ".")]
    folder: PathBuf,
    /// What is done to messages [default: sign-encrypt, or what the policy of --wsdl says]
    #[arg(long, value_name = "NAME", value_parser = mechanism_parser())]
    mechanism: Option<Mechanism>,
    /// The algorithm suite of what is signed or encrypted [default: Basic256GCM]
    #[arg(long, value_name = "NAME", value_parser = suites::name_in_files)]
    suite: Option<String>,
    /// The WSDL of the service
    #[arg(long, value_name = "FILE|URL")]
    wsdl: Option<String>,
    /// The port of the WSDL, where it has several [default: the first one over SOAP]
    #[arg(long, value_name = "NAME", requires = "wsdl")]
    wsdl_port: Option<String>,
    /// The service that the gateway stands before [default: the address that the WSDL says, or
    /// http://127.0.0.1:9000/books]
    #[arg(long, value_name = "URL", value_parser = backend_url)]
    backend: Option<Uri>,
    /// Where the gateway before the service listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8443", value_parser = address)]
    listen: SocketAddr,
    /// Where the gateway behind plain clients listens [default: this machine alone, at the port
    /// after that of --listen]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    client_listen: Option<SocketAddr>,
    /// How long the certificates are valid [default: 825; the authority's 3650, or as long, if
    /// that is longer]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(VALID_DAYS))]
    days: Option<u32>,
}

/// Every mechanism that protects something.
fn mechanism_parser() -> impl TypedValueParser<Value = Mechanism> {
    let values = Mechanism::ALL.into_iter().filter_map(|mechanism| {
        let what = match mechanism {
            Mechanism::None => return None,
            Mechanism::Username => "a user and the digest of a password, over TLS",
            Mechanism::Sign => "Body and Timestamp signed",
            Mechanism::Encrypt => "the content of the Body encrypted; proves nobody",
            Mechanism::SignEncrypt => "signed, then encrypted",
            Mechanism::EncryptSign => "encrypted, then signed",
            Mechanism::SecureConversation => {
                "signed and encrypted, with keys that the first message agrees on; gateways only"
            }
        };
        Some(PossibleValue::new(mechanism.name()).help(what))
    });
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Mechanism>())
}

/// An address that others can be told of beforehand.
fn address(text: &str) -> Result<SocketAddr, String> {
    let address = arguments::address(text)?;
    if address.port() == 0 {
        return Err("expected a port, found 0: the other files name it".to_owned());
    }
    Ok(address)
}

/// What says how messages are protected.
enum Protection {
    /// A mechanism, with a suite.
    Mechanism { mechanism: Mechanism, suite: String },
    /// The policy of a WSDL, of this port.
    Policy { port: Option<String> },
}

/// What is to be written.
struct Plan {
    protection: Protection,
    uses: Uses,
    contract: Option<Contract>,
    backend: Uri,
    listen: SocketAddr,
    client_listen: SocketAddr,
    days: u32,
}

impl Plan {
    fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let wsdl = arguments.wsdl.as_deref();
        let port = arguments.wsdl_port.as_deref();
        let contract = wsdl.map(|wsdl| Contract::read(wsdl, port)).transpose()?;
        let (protection, uses) = protection(arguments, contract.as_ref())?;
        let said = contract.as_ref().map(|it| it.address.clone());
        let unsaid = |problem: String| {
            Failure::new(problem).with_hint("say where the service is, with --backend")
        };
        let backend = match (arguments.backend.clone(), said) {
            (Some(backend), _) | (None, Some(Some(Ok(backend)))) => backend,
            (None, Some(Some(Err(error)))) => {
                return Err(unsaid(format!(
                    "the address of the port of the WSDL {error}"
                )));
            }
            (None, Some(None)) => {
                return Err(unsaid("the WSDL does not say where its port is".to_owned()));
            }
            (None, None) => Uri::from_static(DEFAULT_BACKEND),
        };
        let listen = arguments.listen;
        let next = || {
            let port = listen.port().checked_add(1)?;
            Some(SocketAddr::new(loopback(listen), port))
        };
        let client_listen = arguments.client_listen.or_else(next).ok_or_else(|| {
            Failure::new(format_args!("there is no port after {}", listen.port()))
                .with_hint("say where the other gateway listens, with --client-listen")
        })?;
        if share_a_port(listen, client_listen) {
            return Err(Failure::new(format_args!(
                "--listen and --client-listen must be different addresses, found {listen} and {client_listen}"
            )));
        }
        let plan = Self {
            protection,
            uses,
            contract,
            backend,
            listen,
            client_listen,
            days: arguments.days.unwrap_or(DAYS),
        };
        plan.has_names_of_their_own(wsdl.unwrap_or_default())?;
        Ok(plan)
    }

    /// Refuses a document of the WSDL that is called like another file of the folder; some systems
    /// take no difference between small and capital letters.
    fn has_names_of_their_own(&self, wsdl: &str) -> Result<(), Failure> {
        let copies = self.policy().map(|policy| policy.files.as_slice());
        let files = self.files();
        for (copy, _) in copies.unwrap_or_default() {
            let same = files
                .iter()
                .filter(|(file, _)| file.eq_ignore_ascii_case(copy));
            if same.count() > 1 {
                return Err(cannot_copy(wsdl, copy));
            }
        }
        Ok(())
    }

    /// Where a gateway that listens there tells of its health: on this machine alone, at a port
    /// that none of the gateways listens at.
    fn admin(&self, listen: SocketAddr) -> SocketAddr {
        let at = |port| SocketAddr::new(loopback(listen), port);
        let below = |port: u16| port.checked_sub(ADMIN_PORTS_BEHIND).map(at);
        let port = listen.port();
        let behind = port.checked_add(ADMIN_PORTS_BEHIND).map(at);
        let is_free = |admin: &SocketAddr| {
            !share_a_port(self.listen, *admin) && !share_a_port(self.client_listen, *admin)
        };
        let found = behind.into_iter().chain(below(port)).find(is_free);
        // The other gateway is where this one was looked for, and there is nothing on the other
        // side: any free port will do.
        found.unwrap_or_else(|| at(ADMIN_PORTS_BEHIND))
    }

    /// Bits and curves of a suite that has a say; a policy has RSA keys.
    fn keys(&self) -> Keys {
        match &self.protection {
            Protection::Mechanism { suite, .. } => Keys::of(suite, BITS),
            Protection::Policy { .. } => Keys::of(DEFAULT_SUITE, BITS),
        }
    }

    /// The kind of the keys that are there in any case.
    fn first_key(&self) -> KeyKind {
        let keys = self.keys();
        if self.uses.client_signs || self.uses.service_signs {
            keys.signing
        } else if self.uses.service_decrypts {
            keys.decrypting
        } else {
            // It is for the connection.
            KeyKind::Rsa { bits: BITS }
        }
    }

    /// The kind of the keys that messages are encrypted to, where those that sign cannot be it.
    fn second_key(&self) -> Option<KeyKind> {
        let both = self.uses.client_signs && self.uses.service_decrypts;
        self.keys().apart().filter(|_| both)
    }

    /// Whether a message can be secured and opened alone.
    fn has_single_messages(&self) -> bool {
        match self.protection {
            Protection::Mechanism { mechanism, .. } => Mechanism::SINGLE.contains(&mechanism),
            Protection::Policy { .. } => false,
        }
    }

    /// The policy of the WSDL.
    fn policy(&self) -> Option<&AgreedPolicy> {
        self.contract.as_ref()?.policy.as_ref()
    }

    /// The call that is made from the WSDL.
    fn made(&self) -> Option<&SampleCall> {
        self.contract.as_ref()?.made()
    }

    fn calls_sample_services(&self) -> bool {
        self.contract.is_none() && self.backend == DEFAULT_BACKEND
    }

    /// Of the routes of both gateways: that of the service.
    fn path(&self) -> &str {
        match self.backend.path().trim_end_matches('/') {
            "" => "/",
            path => path,
        }
    }

    /// Where secured messages go.
    fn service_url(&self) -> String {
        let scheme = if self.uses.tls { "https" } else { "http" };
        format!("{scheme}://{}{}", reachable(self.listen), self.path())
    }

    /// Where plain messages go.
    fn client_url(&self) -> String {
        format!("http://{}{}", reachable(self.client_listen), self.path())
    }

    /// The files, in the order in which they are told, each with what it is for.
    fn files(&self) -> Vec<(&str, String)> {
        let mut files = vec![
            (
                "ca.key.pem",
                "the authority's key: signs further certificates; no gateway needs it".to_owned(),
            ),
            (
                "ca.cert.pem",
                "the authority, which both sides trust".to_owned(),
            ),
        ];
        let key_of = |whose| match self.second_key() {
            Some(_) => format!("{whose} key, which signs"),
            None => format!("{whose} key"),
        };
        let reads = |whose| format!("{whose} other key: messages are encrypted to it");
        let certificate = "and its certificate".to_owned();
        files.push(("service.key.pem", key_of("the service's")));
        files.push(("service.cert.pem", certificate.clone()));
        if self.second_key().is_some() {
            files.push(("service-reads.key.pem", reads("the service's")));
            files.push(("service-reads.cert.pem", certificate.clone()));
        }
        if self.uses.client_key() {
            files.push(("client.key.pem", key_of("the client's")));
            files.push(("client.cert.pem", certificate.clone()));
        }
        if self.second_key().is_some() {
            files.push(("client-reads.key.pem", reads("the client's")));
            files.push(("client-reads.cert.pem", certificate));
        }
        if self.uses.users {
            files.push((PASSWORD, format!("the password of the user {USER}")));
        }
        match self.uses.foreign {
            None => {}
            Some(Foreign::Assertion { .. }) => {
                let stands_in = "stands in for the key of the issuer of assertions".to_owned();
                files.push(("issuer.key.pem", stands_in));
                files.push((
                    "issuer.cert.pem",
                    "put the issuer's in its place".to_owned(),
                ));
                if self.uses.source() == Some(Source::File) {
                    let stands_in = "stands in for an assertion of the issuer's".to_owned();
                    files.push((ASSERTION, stands_in));
                }
            }
            Some(Foreign::Ticket(_)) => {
                let stands_in = "empty: put the keytab of the service in its place".to_owned();
                files.push((KEYTAB, stands_in));
            }
        }
        files.push((
            "gateway.toml",
            format!("the gateway before the service, at {}", self.service_url()),
        ));
        files.push((
            "client-gateway.toml",
            format!("the gateway behind plain clients, at {}", self.client_url()),
        ));
        if self.has_single_messages() {
            files.push(("client.toml", "secures single requests".to_owned()));
            files.push(("answers.toml", "opens single answers".to_owned()));
        }
        let copies = self.policy().map(|policy| policy.files.as_slice());
        for (name, _) in copies.unwrap_or_default() {
            let what = if name == contract::WSDL {
                "the WSDL, whose policy both gateways read"
            } else {
                "what the WSDL refers to"
            };
            files.push((name, what.to_owned()));
        }
        let request = match self.contract.as_ref().and_then(|it| it.call.as_ref()) {
            _ if self.calls_sample_services() => {
                "a call of the sample services: getBooks".to_owned()
            }
            Some(call) if call.request.is_ok() => {
                format!("a call of {}, made from the schema", OneLine(&call.name))
            }
            _ => "an envelope for a call of your service".to_owned(),
        };
        let request = match self.uses.source() {
            Some(Source::Request) => format!("{request}, with an assertion of {ISSUER}.key.pem"),
            _ => request,
        };
        files.push(("request.xml", request));
        files
    }
}

/// What says how messages are protected, and what that takes.
fn protection(
    arguments: &Arguments,
    contract: Option<&Contract>,
) -> Result<(Protection, Uses), Failure> {
    if let Some(policy) = contract.and_then(|contract| contract.policy.as_ref()) {
        if arguments.mechanism.is_some() || arguments.suite.is_some() {
            return Err(Failure::new(
                "the WSDL has a policy, which says what --mechanism and --suite would",
            )
            .with_hint("leave them out; or name a WSDL without a policy"));
        }
        let port = policy.port.clone();
        return Ok((Protection::Policy { port }, policy.uses));
    }
    let mechanism = arguments.mechanism.unwrap_or(Mechanism::SignEncrypt);
    if arguments.suite.is_some() && mechanism == Mechanism::Username {
        return Err(Failure::new(
            "--suite is for what is signed or encrypted, and --mechanism username does neither",
        )
        .with_hint("leave out --suite, or choose another mechanism"));
    }
    let suite = arguments.suite.as_deref().unwrap_or(DEFAULT_SUITE);
    let suite = suite.to_owned();
    Ok((
        Protection::Mechanism { mechanism, suite },
        Uses::of(mechanism),
    ))
}

/// This machine's own address, of the same version of IP.
fn loopback(address: SocketAddr) -> IpAddr {
    if address.is_ipv4() {
        Ipv4Addr::LOCALHOST.into()
    } else {
        Ipv6Addr::LOCALHOST.into()
    }
}

/// The address to call a server that listens there.
fn reachable(listen: SocketAddr) -> SocketAddr {
    if listen.ip().is_unspecified() {
        SocketAddr::new(loopback(listen), listen.port())
    } else {
        listen
    }
}

/// Writes everything, or nothing.
///
/// # Errors
/// [`Failure`] naming all files that are in the way, or what cannot be made.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let plan = Plan::new(arguments)?;
    let files = plan.files();
    let names: Vec<&str> = files.iter().map(|(name, _)| *name).collect();
    let staging = Staging::begin(&arguments.folder, &names)?;
    let brought = keys::write(staging.folder(), &plan)?;
    write_files(staging.folder(), &plan, brought.as_deref())?;
    check(staging.folder(), &plan, arguments.wsdl.as_deref())?;
    staging.place(&names)?;
    files::print(report::text(&arguments.folder, &plan, &files))
}

/// Writes everything else; the request brings the assertion, if there is one.
fn write_files(folder: &Path, plan: &Plan, brought: Option<&str>) -> Result<(), Failure> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        files::create(&path, text.as_bytes(), Privacy::Public, Existing::Keep)
    };
    write("gateway.toml", &template::gateway(plan))?;
    write("client-gateway.toml", &template::client_gateway(plan))?;
    if plan.has_single_messages() {
        write("client.toml", &template::client(plan))?;
        write("answers.toml", &template::answers(plan))?;
    }
    for (name, bytes) in plan
        .policy()
        .map(|it| it.files.as_slice())
        .unwrap_or_default()
    {
        files::create(&folder.join(name), bytes, Privacy::Public, Existing::Keep)?;
    }
    let request = template::request(plan);
    let Some(assertion) = brought else {
        return write("request.xml", &request);
    };
    let with_assertion = format!("<soap:Header>{assertion}</soap:Header><soap:Body>");
    let request = request.replacen("<soap:Body>", &with_assertion, 1);
    let path = folder.join("request.xml");
    files::create(&path, request.as_bytes(), Privacy::Secret, Existing::Keep)
}

/// Reads what was written, as the commands will that it is for.
fn check(folder: &Path, plan: &Plan, wsdl: Option<&str>) -> Result<(), Failure> {
    let environment = |_: &str| None;
    for name in ["gateway.toml", "client-gateway.toml"] {
        let read = soapstone_gateway::Config::load(&folder.join(name), &environment);
        read.map_err(|problems| match (wsdl, plan.policy()) {
            (Some(wsdl), Some(_)) => unusable(wsdl, name, problems),
            _ => by_name(problems).into(),
        })?;
    }
    if plan.has_single_messages() {
        Securer::from_file(&folder.join("client.toml"), &environment).map_err(by_name)?;
        Opener::from_file(&folder.join("answers.toml"), &environment).map_err(by_name)?;
    }
    Ok(())
}

/// That a policy gives a file that cannot be used. The file is never written: its places say
/// nothing, and the problem has that of the WSDL where there is one.
fn unusable(wsdl: &str, name: &str, problems: Problems) -> Failure {
    let told: Vec<&str> = problems.0.iter().map(|it| it.message.as_str()).collect();
    let failure = Failure::new(format_args!(
        "{wsdl}: nothing is written, as {name} would have this problem: {}",
        told.join("; ")
    ));
    match problems.0.into_iter().find_map(|problem| problem.hint) {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// Problems of files that have not come to their places.
fn by_name(mut problems: Problems) -> Problems {
    for problem in &mut problems.0 {
        if let Some(name) = problem.file.file_name() {
            problem.file = name.into();
        }
    }
    problems
}
