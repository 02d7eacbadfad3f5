//! The scratch folder: keys, certificates, a password, and the configuration files of both gateways.
//!
//! The rule kept here: whatever is in it is made anew each time, and gone when it is dropped.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::crypto::{Identity, KeyKind, SecretBytes, base64};
use soapstone::wss::Mechanism;
use tempfile::TempDir;

use super::{Layout, Route};
use crate::commands::keys::convert::write_pair;
use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};

/// The user of the `username` mechanism.
const USER: &str = "alice";

/// The folder. Its contents are removed with it.
pub(crate) struct Scratch {
    folder: TempDir,
}

impl Scratch {
    /// Makes a folder named after its purpose, and in it a certificate authority, a client and a server with keys of 2048 bits, and a password.
    pub(crate) fn make(purpose: &str) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix(&format!("soapstone-{purpose}-"))
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
            issue::authority("CN=Soapstone scratch CA", rsa, validity).map_err(Failure::new)?;
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
        Ok(Self { folder })
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the file of the gateway before the services, whose instances are at `services`.
    pub(super) fn write_inbound(
        &self,
        layout: &Layout,
        services: &[SocketAddr],
    ) -> Result<PathBuf, Failure> {
        let purpose = "The gateway before the services: opens requests, secures responses.";
        let mut text = heading(purpose, layout);
        for route in &layout.routes {
            let address = services
                .get(route.instance)
                .ok_or_else(|| Failure::new("a route leads to services that are not there"))?;
            let backend = format!("http://{address}{}", route.service.path());
            append(&mut text, layout, route, &route.path(), &backend, "inbound");
        }
        self.write(&format!("{}-inbound.toml", layout.name), &text)
    }

    /// Writes the file of the gateway for clients; each route twice, the second time by way of the tap.
    pub(super) fn write_outbound(
        &self,
        layout: &Layout,
        inbound: SocketAddr,
        tap: SocketAddr,
    ) -> Result<PathBuf, Failure> {
        let purpose = "The gateway for clients: secures requests, opens responses.";
        let mut text = heading(purpose, layout);
        for route in &layout.routes {
            let path = route.path();
            for (before, target) in [("", inbound), ("/tapped", tap)] {
                let backend = format!("http://{target}{path}");
                let path = format!("{before}{path}");
                append(&mut text, layout, route, &path, &backend, "outbound");
            }
        }
        self.write(&format!("{}-outbound.toml", layout.name), &text)
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.folder.path().join(name);
        files::create(&path, text.as_bytes(), Privacy::Public, Existing::Replace)?;
        Ok(path)
    }
}

fn heading(purpose: &str, layout: &Layout) -> String {
    format!(
        "# {purpose}\nlisten = \"127.0.0.1:0\"\n[limits]\nbody = \"{}MiB\"\n",
        layout.largest_message
    )
}

/// Writes a route at the end of a gateway's file.
fn append(
    text: &mut String,
    layout: &Layout,
    route: &Route,
    path: &str,
    backend: &str,
    side: &str,
) {
    let mechanism = route.mechanism;
    let (own, peer) = if side == "inbound" {
        ("server", "client")
    } else {
        ("client", "server")
    };
    // Writing to a String does not fail.
    let _ = writeln!(
        text,
        "\n[[routes]]\npath = \"{path}\"\nbackend = \"{backend}\"\n[routes.{side}]\nlimits = {{ message = \"{}MiB\" }}",
        layout.largest_message
    );
    if mechanism.signs() || mechanism.encrypts() {
        let _ = writeln!(
            text,
            "identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}\n\
             peer = {{ certificate = \"{peer}.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN={peer}\"] }}\n\
             security = {{ mechanism = \"{mechanism}\", suite = \"{}\" }}",
            route.suite
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
