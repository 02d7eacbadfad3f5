//! The demo's scratch folder: keys, certificates, a password, and the configuration files of both gateways.
//!
//! The rule kept here: whatever is in it is made anew each time, and gone when the demo ends.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::crypto::{Identity, KeyKind, SecretBytes, base64};
use soapstone::wss::Mechanism;
use soapstone_services::Service;
use tempfile::TempDir;

use crate::commands::keys::convert::write_pair;
use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};

/// The services that the demo calls.
const SERVICES: [Service; 2] = [Service::Echo, Service::Books];
/// The user of the `username` mechanism.
const USER: &str = "alice";

/// The folder. Its contents are removed with it.
pub(super) struct Scratch {
    folder: TempDir,
    suite: String,
}

impl Scratch {
    /// Makes a certificate authority, a client and a server with keys of 2048 bits, and a password.
    pub(super) fn make(suite: &str) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix("soapstone-demo-")
            .tempdir()
            .map_err(|error| {
                Failure::new(format_args!("no scratch folder can be made: {error}"))
            })?;
        let rsa = KeyKind::Rsa { bits: 2048 };
        let validity = Validity::days(Timestamp::now(), 1);
        let write = |name: &str, identity: &Identity| {
            write_pair(&folder.path().join(name), identity, None, Existing::Keep)
        };
        let authority =
            issue::authority("CN=Soapstone demo CA", rsa, validity).map_err(Failure::new)?;
        write("ca", &authority)?;
        for name in ["client", "server"] {
            let template = Template::new(&format!("CN={name}"), validity).map_err(Failure::new)?;
            write(
                name,
                &issue::identity(&authority, rsa, &template).map_err(Failure::new)?,
            )?;
        }
        let mut password = Vec::new();
        base64::encode_into(SecretBytes::random(24).expose(), &mut password);
        files::create(
            &folder.path().join("password"),
            &password,
            Privacy::Secret,
            Existing::Keep,
        )?;
        Ok(Self {
            folder,
            suite: suite.to_owned(),
        })
    }

    /// Where it is.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the file of the gateway before the services.
    pub(super) fn write_inbound(&self, services: SocketAddr) -> Result<PathBuf, Failure> {
        let mut text =
            heading("The gateway before the services: opens requests, secures responses.");
        for mechanism in Mechanism::ALL {
            for service in SERVICES {
                let path = format!("/{mechanism}{}", service.path());
                let backend = format!("http://{services}{}", service.path());
                self.route(&mut text, &path, &backend, "inbound", mechanism);
            }
        }
        self.write("inbound.toml", &text)
    }

    /// Writes the file of the gateway for clients; each route twice, the second time by way of the tap.
    pub(super) fn write_outbound(
        &self,
        inbound: SocketAddr,
        tap: SocketAddr,
    ) -> Result<PathBuf, Failure> {
        let mut text = heading("The gateway for clients: secures requests, opens responses.");
        for mechanism in Mechanism::ALL {
            for service in SERVICES {
                let path = format!("/{mechanism}{}", service.path());
                for (before, target) in [("", inbound), ("/tapped", tap)] {
                    self.route(
                        &mut text,
                        &format!("{before}{path}"),
                        &format!("http://{target}{path}"),
                        "outbound",
                        mechanism,
                    );
                }
            }
        }
        self.write("outbound.toml", &text)
    }

    fn route(
        &self,
        text: &mut String,
        path: &str,
        backend: &str,
        side: &str,
        mechanism: Mechanism,
    ) {
        let (own, peer) = if side == "inbound" {
            ("server", "client")
        } else {
            ("client", "server")
        };
        // Writing to a String does not fail.
        let _ = writeln!(
            text,
            "\n[[routes]]\npath = \"{path}\"\nbackend = \"{backend}\"\n[routes.{side}]"
        );
        if mechanism.signs() || mechanism.encrypts() {
            let _ = writeln!(
                text,
                "identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}"
            );
            let _ = writeln!(text, "peer = {{ certificate = \"{peer}.cert.pem\" }}");
            let _ = writeln!(
                text,
                "trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN={peer}\"] }}"
            );
            let _ = writeln!(
                text,
                "security = {{ mechanism = \"{mechanism}\", suite = \"{}\" }}",
                self.suite
            );
        } else {
            let _ = writeln!(text, "security = {{ mechanism = \"{mechanism}\" }}");
        }
        if mechanism == Mechanism::Username {
            let _ = writeln!(
                text,
                "users = [{{ name = \"{USER}\", password_file = \"password\" }}]"
            );
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.folder.path().join(name);
        files::create(&path, text.as_bytes(), Privacy::Public, Existing::Replace)?;
        Ok(path)
    }
}

fn heading(purpose: &str) -> String {
    format!("# {purpose}\nlisten = \"127.0.0.1:0\"\n")
}
