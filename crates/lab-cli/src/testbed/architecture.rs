//! A registry, providers of one service, and gateways in front of them: each a process of its own,
//! as they are deployed.
//!
//! The rule kept here: everything is started from configuration files, and by the commands that
//! anybody starts it with.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use soapstone::crypto::{Curve, KeyKind};

use soapstone_services::Service;

use super::apart::LOOPBACK;
use super::child::Child;
use super::limits::{Limit, Limited};
use super::slow_way::SlowWay;
use super::{Client, Scratch};
use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};
use crate::suites::Keys;

/// The service that all providers offer.
pub(crate) const SERVICE: Service = Service::Echo;

/// The name under which providers offer it in conversations, and where.
pub(crate) const IN_CONVERSATIONS: (&str, &str) = ("EchoInConversations", "/conversations/echo");

/// How often providers report, and gateways ask the registry.
const PERIOD: &str = "500ms";

/// How long a gateway may take until it knows all providers.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a provider is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offer {
    /// Its name, and the subject of the certificate that it registers with: `CN=` and this.
    pub(crate) name: &'static str,
    /// The files of the key that its endpoint has.
    pub(crate) key: &'static str,
    /// How messages to it and from it are secured.
    pub(crate) security: Security,
    /// What its answers have instead, where it does not keep to that: a mechanism.
    pub(crate) lies: Option<&'static str>,
    /// Whether it has the service a second time, for callers that begin a conversation.
    pub(crate) converses: bool,
    /// It is called by a way that can be made slow and that its monitor does not see.
    pub(crate) is_called_by_a_way: bool,
    /// Percent of a processor that it gets; as many as it takes, if nothing is said.
    pub(crate) processor: Option<u32>,
}

/// A mechanism and a suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Security {
    pub(crate) mechanism: &'static str,
    pub(crate) suite: &'static str,
}

impl Security {
    /// The kind of keys that a suite takes.
    pub(crate) fn kind(suite: &str) -> KeyKind {
        Keys::of(suite, 2048).signing
    }

    /// As a value of a gateway's file.
    pub(crate) fn written(self) -> String {
        let Self { mechanism, suite } = self;
        format!("{{ mechanism = \"{mechanism}\", suite = \"{suite}\" }}")
    }
}

/// What reports, registrations and messages of clients are secured with: it takes little time.
pub(crate) const SIGNED: Security = Security {
    mechanism: "sign",
    suite: "Basic256GCMEcdhEs",
};

/// A provider that runs.
pub(crate) struct Provider {
    /// What it is like.
    pub(crate) offer: Offer,
    /// Where it is called: where its gateway is, or the way to that begins.
    pub(crate) address: SocketAddr,
    /// The way from its gateway to the service.
    pub(crate) way: SlowWay,
    /// The way from whoever calls it to its gateway, where there is one.
    pub(crate) unseen: Option<SlowWay>,
    gateway: Option<Child>,
    /// What its gateway is started from.
    file: PathBuf,
    limited: Option<Limited>,
}

impl Provider {
    /// Where it is called.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.address, SERVICE.path())
    }

    /// Its name in the audit trail of a broker that has a policy for it.
    pub(crate) fn backend(&self) -> String {
        format!("{} (CN={})", self.url(), self.offer.name)
    }

    /// Ends its gateway as a failure would: at once.
    pub(crate) fn kill(&mut self) {
        self.gateway = None;
    }

    /// Starts its gateway.
    pub(crate) fn run(&mut self) -> Result<(), Failure> {
        let words = self.limited.as_ref().map_or(&[][..], Limited::words);
        self.gateway = Some(gateway(&self.file, words)?);
        Ok(())
    }
}

/// Everything that runs. Fields are dropped in their order.
pub(crate) struct Architecture {
    pub(crate) providers: Vec<Provider>,
    registry: Child,
    inquiry: SocketAddr,
    /// The service that all providers lead to.
    services: Child,
}

/// A gateway in front of providers, and where it tells how it does.
pub(crate) struct Front {
    gateway: Child,
    admin: SocketAddr,
}

impl Front {
    /// Where clients call.
    pub(crate) fn address(&self) -> SocketAddr {
        self.gateway.address()
    }

    /// What it knows of the backends of its routes, as `/backends` tells it.
    pub(crate) async fn backends(&self, client: &Client) -> Result<Value, Failure> {
        self.told(client, "backends").await
    }

    /// What it knows of its agreements, as `/agreements` tells it.
    pub(crate) async fn agreements(&self, client: &Client) -> Result<Value, Failure> {
        self.told(client, "agreements").await
    }

    async fn told(&self, client: &Client, what: &str) -> Result<Value, Failure> {
        let url = format!("http://{}/{what}", self.admin);
        let told = client.json(&url).await?;
        serde_json::from_slice(&told).map_err(Failure::new)
    }

    /// Waits until it knows so many providers on each route that has some.
    pub(crate) async fn knows(&self, client: &Client, providers: usize) -> Result<(), Failure> {
        let given_up = Instant::now() + PATIENCE;
        loop {
            let told = self.backends(client).await?;
            let routes = told["routes"].as_array().into_iter().flatten();
            let mut known = routes.map(|route| route["backends"].as_array().map_or(0, Vec::len));
            if known.all(|known| known == providers) {
                return Ok(());
            }
            if Instant::now() > given_up {
                return Err(Failure::new(format_args!(
                    "the broker does not know {providers} providers: {told}"
                )));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Architecture {
    /// Starts the service, the registry and the providers. To be called on a runtime.
    ///
    /// # Errors
    /// Why something does not start.
    pub(crate) async fn start(scratch: &Scratch, offers: &[Offer]) -> Result<Self, Failure> {
        scratch.issue_as("registry", EC)?;
        scratch.issue_as("broker", EC)?;
        let arguments = ["services", "--listen", "127.0.0.1:0"].map(OsStr::new);
        let services = Child::start(&[], &arguments, None).map_err(Failure::new)?;
        let inquiry = free_address()?;
        let file = write(scratch, "registry", &registry_file(inquiry))?;
        let arguments = ["registry", "serve", "--config"].map(OsStr::new);
        let arguments = [&arguments[..], &[file.as_os_str()]].concat();
        let registry = Child::start(&[], &arguments, None)
            .map_err(|why| Failure::new(format_args!("the registry: {why}")))?;
        let mut architecture = Self {
            providers: Vec::new(),
            registry,
            inquiry,
            services,
        };
        for offer in offers {
            let provider = architecture.provider(scratch, *offer).await?;
            architecture.providers.push(provider);
        }
        Ok(architecture)
    }

    async fn provider(&self, scratch: &Scratch, offer: Offer) -> Result<Provider, Failure> {
        let name = offer.name;
        scratch.issue_as(name, EC)?;
        scratch.issue_as(offer.key, Security::kind(offer.security.suite))?;
        let way = SlowWay::to(self.services.address()).await?;
        let listen = free_address()?;
        let unseen = match offer.is_called_by_a_way {
            true => Some(SlowWay::to(listen).await?),
            false => None,
        };
        let address = unseen.as_ref().map_or(listen, SlowWay::address);
        let mut text = format!(
            "listen = \"{listen}\"\npublic_url = \"http://{address}\"\n{}[[routes]]\npath = \"{path}\"\n\
             backend = \"http://{}{path}\"\nprovides = {{ service = \"{}\" }}\n",
            self.registry_table(name),
            way.address(),
            SERVICE.operation(),
            path = SERVICE.path(),
        );
        if offer.security.mechanism != "none" {
            text.push_str(&demands(&offer));
        }
        if offer.converses {
            let (service, path) = IN_CONVERSATIONS;
            let conversation = Security {
                mechanism: "secure-conversation",
                ..offer.security
            };
            // Writing to a String does not fail.
            let _ = write!(
                text,
                "[[routes]]\npath = \"{path}\"\nbackend = \"http://{}{}\"\nprovides = {{ service = \"{service}\" }}\n{}",
                way.address(),
                SERVICE.path(),
                demands(&Offer {
                    security: conversation,
                    ..offer
                })
            );
        }
        let limit = offer.processor.map(Limit::Processor).map(Limited::new);
        let limited = limit.transpose().map_err(Failure::new)?;
        let mut provider = Provider {
            offer,
            address,
            way,
            unseen,
            gateway: None,
            file: write(scratch, name, &text)?,
            limited,
        };
        provider.run()?;
        Ok(provider)
    }

    /// `[registry]` of a gateway that signs with the key of that name.
    pub(crate) fn registry_table(&self, name: &str) -> String {
        format!(
            "[registry]\nurl = \"http://{}/uddi\"\nbusiness = \"{name}\"\nperiod = \"{PERIOD}\"\n[registry.client]\n\
             identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n\
             peer = {{ certificate = \"registry.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN=registry\"] }}\nsecurity = {}\n",
            self.registry.address(),
            SIGNED.written()
        )
    }

    /// Where the registry answers without a signature.
    pub(crate) fn inquiry(&self) -> SocketAddr {
        self.inquiry
    }

    /// Starts a gateway in front of the providers, whose routes are in this text.
    pub(crate) fn front(
        &self,
        scratch: &Scratch,
        name: &str,
        routes: &str,
    ) -> Result<Front, Failure> {
        let admin = free_address()?;
        let text = format!("listen = \"127.0.0.1:0\"\nadmin = \"{admin}\"\n{routes}");
        let gateway = gateway(&write(scratch, name, &text)?, &[])?;
        Ok(Front { gateway, admin })
    }
}

/// What a provider demands of calls, and how its answers are secured.
fn demands(offer: &Offer) -> String {
    let mut text = format!(
        "[routes.inbound]\nidentity = {{ key = \"{key}.key.pem\", certificate = \"{key}.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN=broker\", \"CN=broker-rsa\", \"CN=client\"] }}\nsecurity = {}\n",
        offer.security.written(),
        key = offer.key,
    );
    if let Some(mechanism) = offer.lies {
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "answers = {{ mechanism = \"{mechanism}\", without_tls = true }}"
        );
    }
    text
}

/// Keys that take little time.
pub(crate) const EC: KeyKind = KeyKind::Ec(Curve::P256);

/// The file of the registry: everybody whom the authority has certified may publish the service.
fn registry_file(inquiry: SocketAddr) -> String {
    format!(
        "listen = \"127.0.0.1:0\"\ninquiry = \"{inquiry}\"\ndatabase = \"sqlite:registry-{}.db\"\n[inbound]\n\
         identity = {{ key = \"registry.key.pem\", certificate = \"registry.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"] }}\nsecurity = {}\n[[publishers]]\nsubject = \"*\"\nservices = [\"{}\", \"{}\"]\n",
        // Each registry knows nothing of the one before.
        inquiry.port(),
        SIGNED.written(),
        SERVICE.operation(),
        IN_CONVERSATIONS.0
    )
}

/// Starts a gateway from a file, by way of these words.
fn gateway(file: &Path, words: &[String]) -> Result<Child, Failure> {
    let arguments = ["gateway".as_ref(), "--config".as_ref(), file.as_os_str()];
    Child::start(words, &arguments, None)
        .map_err(|why| Failure::new(format_args!("the gateway of {}: {why}", file.display())))
}

/// Writes a file of that name in the scratch folder.
pub(crate) fn write(scratch: &Scratch, name: &str, text: &str) -> Result<PathBuf, Failure> {
    let path = scratch.folder().join(format!("{name}.toml"));
    files::create(&path, text.as_bytes(), Privacy::Public, Existing::Replace)?;
    Ok(path)
}

/// An address of localhost where nothing listens: a provider has to know its own before it starts.
pub(crate) fn free_address() -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind((LOOPBACK, 0)).map_err(Failure::new)?;
    listener.local_addr().map_err(Failure::new)
}
