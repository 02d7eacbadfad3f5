//! The scratch folder: keys, certificates, a password, and the configuration files of both
//! gateways.
//!
//! The rule kept here: whatever is in it is made anew each time, and gone when it is dropped.

use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::crypto::{Curve, Identity, KeyKind, SecretBytes, base64};
use soapstone::wss::{Mechanism, Suite};
use soapstone_lab::study::{Form, Proof};
use tempfile::TempDir;

use super::apart::LOOPBACK;
use super::{Layout, Route, Target, thumbprints, tokens};
use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};
use crate::suites::Keys;
use soapstone_cli::commands::keys::convert::write_pair;

/// The user of the `username` mechanism, and of keys from passwords.
pub(super) const USER: &str = "alice";

/// The folder. Its contents are removed with it.
pub(crate) struct Scratch {
    folder: TempDir,
    authority: Identity,
}

/// Where the gateway for clients finds what is behind it, on localhost.
#[derive(Clone, Copy)]
pub(super) struct Ports {
    pub(super) inbound: u16,
    /// Behind TLS.
    pub(super) inbound_tls: Option<u16>,
    pub(super) tap: u16,
    /// The authority of assertions, where requests name one.
    pub(super) authority: Option<u16>,
}

/// What the gateway before the services finds behind it.
#[derive(Clone, Copy)]
pub(super) struct Behind<'a> {
    /// The instances of the services.
    pub(super) services: &'a [SocketAddr],
    /// The port of localhost of the authority of assertions, where requests name one.
    pub(super) authority: Option<u16>,
}

/// Bytes of a key that both sides hold, and that enciphers nothing.
const SIGNING_KEY: usize = 32;

/// Bits of keys for DSA-SHA-1, which goes with no others.
const DSA_BITS: u32 = 1024;

/// Bits of the authority's key, and of the parties', unless a route asks for others.
const BITS: u32 = 2048;

impl Scratch {
    /// Makes a folder named after its purpose, and in it a certificate authority, a client and a
    /// server with keys of 2048 bits, and a password.
    pub(crate) fn make(purpose: &str) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new()
            .prefix(&format!("soapstone-{purpose}-"))
            .tempdir()
            .map_err(|error| {
                Failure::new(format_args!("no scratch folder can be made: {error}"))
            })?;
        let rsa = KeyKind::Rsa { bits: BITS };
        let validity = Validity::days(Timestamp::now(), 1);
        let authority =
            issue::authority("CN=Soapstone scratch CA", rsa, validity).map_err(Failure::new)?;
        let scratch = Self { folder, authority };
        scratch.write_identity("ca", &scratch.authority)?;
        scratch.issue(rsa)?;
        let mut password = Vec::new();
        base64::encode_into(SecretBytes::random(24).expose(), &mut password);
        files::create(
            &scratch.folder().join("password"),
            &password,
            Privacy::Secret,
            Existing::Keep,
        )?;
        Ok(scratch)
    }

    /// Makes the keys of a layout's routes that are not there yet, their policies and their
    /// assertions.
    pub(super) fn make_keys(&self, layout: &Layout) -> Result<(), Failure> {
        self.write_policies(layout)?;
        tokens::make(self, layout)?;
        for route in &layout.routes {
            let there = |name: &str| self.folder().join(name).exists();
            if route.has_shared_key() {
                let name = route.shared_key_file();
                if !there(&name) {
                    let key = SecretBytes::random(route.shared_key_length());
                    let path = self.folder().join(name);
                    files::create(&path, key.expose(), Privacy::Secret, Existing::Keep)?;
                }
                continue;
            }
            let keys = route.keys();
            for kind in [keys.signing, keys.decrypting] {
                if !there(&(party("server", kind) + ".key.pem")) {
                    self.issue(kind)?;
                }
            }
        }
        Ok(())
    }

    /// Makes keys of a kind and their certificates for both parties.
    fn issue(&self, kind: KeyKind) -> Result<(), Failure> {
        for name in ["client", "server"] {
            let validity = Validity::days(Timestamp::now(), 1);
            let template = Template::new(&format!("CN={name}"), validity)
                .map_err(Failure::new)?
                .with_alternative_names(["localhost"]);
            let identity = issue::identity(&self.authority, kind, &template);
            self.write_identity(&party(name, kind), &identity.map_err(Failure::new)?)?;
        }
        Ok(())
    }

    /// Makes a key of a kind and its certificate for somebody of that name, if there is none yet.
    pub(crate) fn issue_as(&self, name: &str, kind: KeyKind) -> Result<(), Failure> {
        if self.folder().join(format!("{name}.key.pem")).exists() {
            return Ok(());
        }
        let validity = Validity::days(Timestamp::now(), 1);
        let template = Template::new(&format!("CN={name}"), validity).map_err(Failure::new)?;
        let identity = issue::identity(&self.authority, kind, &template);
        self.write_identity(name, &identity.map_err(Failure::new)?)
    }

    /// The key and the certificate of somebody of that name.
    pub(super) fn identity(&self, name: &str) -> Result<Identity, Failure> {
        let read = |suffix| files::read(Some(&self.folder().join(format!("{name}{suffix}"))));
        let (key, certificate) = (read(".key.pem")?, read(".cert.pem")?);
        Identity::from_file_contents(&key, &certificate, None).map_err(Failure::new)
    }

    fn write_identity(&self, name: &str, identity: &Identity) -> Result<(), Failure> {
        write_pair(&self.folder().join(name), identity, None, Existing::Keep)
    }

    /// The certificate of the authority that everybody trusts.
    pub(crate) fn authority(&self) -> PathBuf {
        self.folder().join("ca.cert.pem")
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Writes the file of the gateway before the services, which listens at this address; with TLS
    /// or without.
    pub(super) fn write_inbound(
        &self,
        layout: &Layout,
        listen: IpAddr,
        behind: Behind<'_>,
        tls: bool,
    ) -> Result<PathBuf, Failure> {
        let purpose = "The gateway before the services: opens requests, secures responses.";
        let mut text = heading(purpose, layout, listen);
        if tls {
            text.push_str("[tls]\ncertificate = \"server.cert.pem\"\nkey = \"server.key.pem\"\n");
        }
        for route in &layout.routes {
            let backend = match &route.target {
                Target::Sample { instance, service } => {
                    let address = behind.services.get(*instance).ok_or_else(|| {
                        Failure::new("a route leads to services that are not there")
                    })?;
                    Backend::of(format!("http://{address}{}", service.path()))
                }
                Target::Own { url, authorities } => Backend {
                    url: url.clone(),
                    authorities: authorities.clone(),
                },
            };
            let path = (&*route.path(), None);
            append(&mut text, layout, route, path, &backend, Side::Server);
            tokens::append_reference(&mut text, route, Side::Server, behind.authority);
        }
        tokens::append_token_service(&mut text, layout);
        let name = if tls { "inbound-tls" } else { "inbound" };
        self.write(layout, name, &text)
    }

    /// Writes the file of the gateway for clients; each route twice, the second time by way of the
    /// tap.
    pub(super) fn write_outbound(&self, layout: &Layout, ports: Ports) -> Result<PathBuf, Failure> {
        let purpose = "The gateway for clients: secures requests, opens responses.";
        let mut text = heading(purpose, layout, LOOPBACK);
        for route in &layout.routes {
            let path = route.path();
            let backend = match ports.inbound_tls.filter(|_| route.tls) {
                Some(port) => format!("https://localhost:{port}{path}"),
                None => format!("http://127.0.0.1:{}{path}", ports.inbound),
            };
            let backend = Backend::of(backend);
            let warm_up = self.write_warm_up(layout, route)?;
            let own = (&*path, warm_up.as_deref());
            append(&mut text, layout, route, own, &backend, Side::Client);
            tokens::append_reference(&mut text, route, Side::Client, ports.authority);
            let backend = Backend::of(format!("http://127.0.0.1:{}{path}", ports.tap));
            let path = format!("/tapped{path}");
            let tapped = (&*path, None);
            append(&mut text, layout, route, tapped, &backend, Side::Client);
            tokens::append_reference(&mut text, route, Side::Client, ports.authority);
        }
        self.write(layout, "outbound", &text)
    }

    /// Writes the file of an endpoint that secures the requests of a route, and opens its answers,
    /// without a gateway.
    pub(crate) fn write_client(&self, layout: &Layout, route: &Route) -> Result<PathBuf, Failure> {
        let purpose = "A client that secures its requests, and opens the answers.";
        self.write_endpoint(layout, route, Side::Client, ("client", purpose))
    }

    /// Writes the file of an endpoint on a side of a route.
    pub(super) fn write_endpoint(
        &self,
        layout: &Layout,
        route: &Route,
        side: Side,
        (name, purpose): (&str, &str),
    ) -> Result<PathBuf, Failure> {
        let mut text = format!("# {purpose}\n");
        append_endpoint(&mut text, layout, route, side);
        self.write(layout, name, &text)
    }

    /// Writes the request that warms a route up, where one does.
    fn write_warm_up(&self, layout: &Layout, route: &Route) -> Result<Option<PathBuf>, Failure> {
        let Some(warm_up) = &route.warm_up else {
            return Ok(None);
        };
        let name = PathBuf::from(format!("{}-warm-up.xml", layout.name));
        let path = self.folder().join(&name);
        files::create(&path, &warm_up.request, Privacy::Public, Existing::Replace)?;
        Ok(Some(name))
    }

    /// Writes the policies of routes whose messages no preset makes.
    fn write_policies(&self, layout: &Layout) -> Result<(), Failure> {
        let routes = layout.routes.iter();
        for route in routes.filter(|it| it.form == Form::Thumbprints) {
            let path = self.folder().join(thumbprints::file(route));
            let policy = thumbprints::policy(route);
            files::create(&path, policy.as_bytes(), Privacy::Public, Existing::Replace)?;
        }
        Ok(())
    }

    fn write(&self, layout: &Layout, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.folder().join(format!("{}-{name}.toml", layout.name));
        files::create(&path, text.as_bytes(), Privacy::Public, Existing::Replace)?;
        Ok(path)
    }
}

/// Most connections of a gateway: four of each of a thousand clients. Where a process may open
/// 20000 files, the default of 10000 does not fit, and a gateway warns of that.
const CONNECTIONS: u32 = 4096;

/// What every gateway's file begins with. A thousand clients that call at once may wait long, and
/// that is what is measured: nobody is turned away for it.
fn heading(purpose: &str, layout: &Layout, listen: IpAddr) -> String {
    format!(
        "# {purpose}\nlisten = \"{}\"\n[timeouts]\nheader = \"60s\"\nrequest = \"120s\"\nconnect = \"60s\"\nresponse = \"120s\"\n\
         [limits]\nbody = \"{}MiB\"\nconnections = {CONNECTIONS}\n",
        SocketAddr::new(listen, 0),
        layout.largest_message
    )
}

impl Route {
    /// Whether both sides hold a key that signs.
    fn has_shared_key(&self) -> bool {
        matches!(self.proof, Proof::SharedKey | Proof::SignedPasswordText)
    }

    /// The file of that key.
    fn shared_key_file(&self) -> String {
        format!("shared-{}.key", self.shared_key_length())
    }

    /// Its bytes: as many as the suite's cipher wants, where something is enciphered.
    fn shared_key_length(&self) -> usize {
        let suite = Suite::named(&self.suite).filter(|_| self.mechanism.encrypts());
        let cipher = suite.and_then(|suite| suite.data.first().copied());
        cipher.map_or(SIGNING_KEY, |cipher| cipher.key_length())
    }

    /// What kinds of private keys both sides have.
    fn keys(&self) -> Keys {
        let kind = match self.proof {
            Proof::Dsa => KeyKind::Dsa { bits: DSA_BITS },
            Proof::Ecdsa => KeyKind::Ec(Curve::P256),
            _ => return Keys::of(&self.suite, self.rsa_bits),
        };
        Keys {
            signing: kind,
            decrypting: kind,
        }
    }
}

/// The name of a party's files.
fn party(name: &str, kind: KeyKind) -> String {
    match kind {
        KeyKind::Rsa { bits: BITS } => name.to_owned(),
        KeyKind::Rsa { bits } => format!("{name}-{bits}"),
        KeyKind::Ec(_) => format!("{name}-ec"),
        KeyKind::Ed25519 => format!("{name}-ed25519"),
        KeyKind::X25519 => format!("{name}-x25519"),
        _ => format!("{name}-dsa"),
    }
}

/// Where a route of a file leads.
struct Backend {
    url: String,
    /// Files with the certificates of its authorities, where it is behind TLS.
    authorities: Vec<PathBuf>,
}

impl Backend {
    /// Something of ours, whose certificate is the scratch authority's where it has one.
    fn of(url: String) -> Self {
        Self {
            url,
            authorities: vec!["ca.cert.pem".into()],
        }
    }
}

/// Writes a route at the end of a gateway's file.
fn append(
    text: &mut String,
    layout: &Layout,
    route: &Route,
    (path, warm_up): (&str, Option<&Path>),
    backend: &Backend,
    side: Side,
) {
    // Writing to a String does not fail.
    let _ = writeln!(
        text,
        "\n[[routes]]\npath = \"{path}\"\nbackend = {}",
        quoted(&backend.url)
    );
    if backend.url.starts_with("https:") {
        let files = backend.authorities.iter();
        let files: Vec<String> = files.map(|it| quoted(&it.display().to_string())).collect();
        let _ = writeln!(text, "tls = {{ ca = [{}] }}", files.join(", "));
    }
    if let (Some(file), Some(warm_up)) = (warm_up, &route.warm_up) {
        let _ = writeln!(
            text,
            "warm_up = {{ request = {}, action = {} }}",
            quoted(&file.display().to_string()),
            quoted(&warm_up.action)
        );
    }
    let table = match side {
        Side::Server => "inbound",
        Side::Client => "outbound",
    };
    let _ = writeln!(text, "[routes.{table}]");
    append_endpoint(text, layout, route, side);
    if let (Proof::SamlIssued, Side::Client) = (route.proof, side) {
        let origin = backend.url.strip_suffix(&route.path());
        tokens::append_asking(text, route, origin.unwrap_or(&backend.url));
    }
}

/// Which side of a route an endpoint is on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Server,
    Client,
}

/// Writes what an endpoint of a route demands: in a gateway's file, and in one of its own.
fn append_endpoint(text: &mut String, layout: &Layout, route: &Route, side: Side) {
    let mechanism = route.mechanism;
    let (own, peer) = match side {
        Side::Server => ("server", "client"),
        Side::Client => ("client", "server"),
    };
    let _ = writeln!(
        text,
        "limits = {{ message = \"{}MiB\" }}",
        layout.largest_message
    );
    let keys = route.keys();
    let peer_files = party(peer, keys.signing);
    // Below 2048 bits a key is weak, and only taken where that is said.
    let weak = match route.rsa_bits {
        bits if bits < BITS => format!(", min_rsa_bits = {bits}"),
        _ => String::new(),
    };
    let security = match (route.proof, route.form) {
        (proof @ (Proof::SharedKey | Proof::SignedPasswordText), _) => {
            let file = route.shared_key_file();
            let _ = writeln!(text, "shared_key = {{ file = \"{file}\" }}");
            // The user is in requests alone: of answers the Timestamp is signed.
            let token = match (mechanism, proof) {
                (Mechanism::Username, Proof::SignedPasswordText) => {
                    ", signed = [\"UsernameToken\", \"Timestamp\"], password = \"text\""
                }
                (Mechanism::Username, _) => ", signed = [\"UsernameToken\", \"Timestamp\"]",
                _ => "",
            };
            format!(
                "mechanism = \"{mechanism}\", suite = \"{}\", key_reference = \"key-name\"{token}",
                route.suite
            )
        }
        _ if !mechanism.signs() && !mechanism.encrypts() => match route.proof {
            Proof::PasswordText => format!("mechanism = \"{mechanism}\", password = \"text\""),
            _ => format!("mechanism = \"{mechanism}\""),
        },
        (Proof::Dsa, _) => {
            // No path validation knows its keys, and no suite its signatures.
            append_keys(
                text,
                keys,
                [own, peer],
                &format!("pinned = [\"{peer_files}.cert.pem\"], min_rsa_bits = {DSA_BITS}"),
            );
            format!(
                "mechanism = \"{mechanism}\", \
                 algorithms = {{ signature = [\"dsa-sha1\"], digest = [\"sha1\"], canonicalization = [\"exc-c14n\"] }}"
            )
        }
        (Proof::Ecdsa, _) => {
            append_keys(text, keys, [own, peer], &anchored(peer));
            format!(
                "mechanism = \"{mechanism}\", algorithms = {{ signature = [\"ecdsa-sha256\"], digest = [\"sha256\"], \
                 canonicalization = [\"exc-c14n\"] }}"
            )
        }
        (Proof::Usual | Proof::PasswordText, Form::Preset) => {
            append_keys(text, keys, [own, peer], &(anchored(peer) + &weak));
            format!("mechanism = \"{mechanism}\", suite = \"{}\"", route.suite)
        }
        (Proof::Usual | Proof::PasswordText, Form::Thumbprints) => {
            append_keys(text, keys, [own, peer], &(anchored(peer) + &weak));
            format!("policy = {}", quoted(&thumbprints::file(route)))
        }
        (proof, _) => {
            match (proof, side) {
                (Proof::PasswordKey | Proof::Kerberos | Proof::KerberosOnce, _) => {}
                // The issuer vouches for the key of a client's assertion.
                (proof, Side::Server) if tokens::is_holders(proof) => {
                    append_key_pairs(text, keys, [own, peer]);
                }
                _ => append_keys(text, keys, [own, peer], &(anchored(peer) + &weak)),
            }
            let (lines, more) = tokens::lines(route, side);
            text.push_str(&lines);
            format!(
                "mechanism = \"{mechanism}\", suite = \"{}\"{more}",
                route.suite
            )
        }
    };
    let _ = writeln!(text, "security = {{ {security} }}");
    if mechanism == Mechanism::Username {
        text.push_str(&user(USER));
    }
}

/// The line of a user with the password of the scratch folder.
pub(super) fn user(name: &str) -> String {
    format!("users = [{{ name = \"{name}\", password_file = \"password\" }}]\n")
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|it| match it {
            '"' | '\\' => format!("\\{it}"),
            it if it.is_control() => format!("\\u{:04x}", u32::from(it)),
            it => it.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

/// Trust in a peer whose certificate the authority has signed.
fn anchored(peer: &str) -> String {
    format!("anchors = [\"ca.cert.pem\"], subjects = [\"CN={peer}\"]")
}

/// Writes whose keys a route has, and whom it trusts.
fn append_keys(text: &mut String, keys: Keys, parties: [&str; 2], trust: &str) {
    append_key_pairs(text, keys, parties);
    let _ = writeln!(text, "trust = {{ {trust} }}");
}

/// Writes whose keys a route has.
fn append_key_pairs(text: &mut String, keys: Keys, [own, peer]: [&str; 2]) {
    let pair = |name: &str| format!("key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\"");
    let decryption = keys.apart().map_or(String::new(), |kind| {
        format!(", decryption = {{ {} }}", pair(&party(own, kind)))
    });
    let _ = writeln!(
        text,
        "identity = {{ {}{decryption} }}\n\
         peer = {{ certificate = \"{}.cert.pem\" }}",
        pair(&party(own, keys.signing)),
        party(peer, keys.decrypting)
    );
}
