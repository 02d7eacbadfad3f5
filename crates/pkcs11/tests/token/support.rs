//! A token with keys, and a process with the environment that its module reads.

use std::env;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use soapstone_crypto::{Identity, KeyKind, PrivateKey, SecretBytes};
use soapstone_pkcs11::{KeyLocation, KeyName, TokenError, TokenName, open};
use soapstone_testkit::{Folder, keys};

/// Where Debian and others put the module.
const MODULES: [&str; 3] = [
    "/usr/lib/softhsm/libsofthsm2.so",
    "/usr/lib64/pkcs11/libsofthsm2.so",
    "/usr/local/lib/softhsm/libsofthsm2.so",
];

/// The client of `p11-kit server`.
const CLIENTS: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/pkcs11/p11-kit-client.so",
    "/usr/lib/aarch64-linux-gnu/pkcs11/p11-kit-client.so",
    "/usr/lib64/pkcs11/p11-kit-client.so",
];

/// The folder of the token, in the process that a test starts.
const FOLDER: &str = "SOAPSTONE_TOKEN_FOLDER";

pub(crate) const TOKEN: &str = "gateway";
pub(crate) const PIN: &str = "83294";

/// A folder with a token: a key of each kind under its name, and their certificates.
pub(crate) struct Token {
    pub(crate) folder: PathBuf,
}

/// The kinds of keys in the token.
pub(crate) fn kinds() -> [(&'static str, KeyKind); 5] {
    use soapstone_crypto::Curve;
    [
        ("rsa", keys::RSA),
        ("p256", keys::P256),
        ("p384", KeyKind::Ec(Curve::P384)),
        ("p521", KeyKind::Ec(Curve::P521)),
        ("ed25519", KeyKind::Ed25519),
    ]
}

/// Keys that agree: the private keys of the same certificates.
pub(crate) const AGREEING: [&str; 3] = ["p256-agrees", "p384-agrees", "p521-agrees"];

/// Runs the body of the test of this name in a process that has a token.
pub(crate) fn with_token(test: &str, body: impl FnOnce(&Token)) {
    if let Some(folder) = env::var_os(FOLDER) {
        let folder = PathBuf::from(folder);
        return body(&Token { folder });
    }
    let Some(module) = found(&MODULES, "softhsm2") else {
        return;
    };
    let folder = Folder::new();
    folder.write("tokens/.keep", "");
    let settings = format!(
        "directories.tokendir = {}\nobjectstore.backend = file\nlog.level = ERROR\n",
        folder.path("tokens").display()
    );
    let settings = folder.write("softhsm2.conf", settings);
    let utility = |words: &[&str]| {
        let output = Command::new("softhsm2-util")
            .args(words)
            .env("SOFTHSM2_CONF", &settings)
            .output()
            .expect("softhsm2-util runs (Debian: apt-get install softhsm2)");
        assert!(output.status.success(), "{words:?}: {output:?}");
    };
    utility(&[
        "--init-token",
        "--free",
        "--label",
        TOKEN,
        "--pin",
        PIN,
        "--so-pin",
        "57721",
    ]);
    for (number, (name, kind)) in kinds().into_iter().enumerate() {
        folder.write_identity(name, &keys::identity(&format!("CN={name}"), kind));
        let file = folder.path(format!("{name}.key.pem")).display().to_string();
        let id = format!("0{number}");
        utility(&[
            "--import", &file, "--token", TOKEN, "--label", name, "--id", &id, "--pin", PIN,
        ]);
    }
    // What `softhsm2-util` imports on a curve may sign alone.
    for (number, name) in AGREEING.into_iter().enumerate() {
        let of_curve = name.trim_end_matches("-agrees");
        let file = folder
            .path(format!("{of_curve}.key.pem"))
            .display()
            .to_string();
        let output = Command::new("pkcs11-tool")
            .args([
                "--module",
                module,
                "--login",
                "--pin",
                PIN,
                "--token-label",
                TOKEN,
            ])
            .args([
                "--write-object",
                &file,
                "--type",
                "privkey",
                "--usage-derive",
            ])
            .args(["--label", name, "--id", &format!("1{number}")])
            .env("SOFTHSM2_CONF", &settings)
            .output()
            .expect("pkcs11-tool runs (Debian: apt-get install opensc)");
        assert!(output.status.success(), "{name}: {output:?}");
    }
    let status = Command::new(env::current_exe().expect("this program"))
        .args([test, "--exact", "--nocapture"])
        .env("SOFTHSM2_CONF", &settings)
        .env("SOAPSTONE_TOKEN_MODULE", module)
        .env(FOLDER, folder.root())
        .env(
            "P11_KIT_SERVER_ADDRESS",
            format!("unix:path={}", folder.path("socket").display()),
        )
        .status()
        .expect("this program runs");
    assert!(status.success(), "{test}: {status}");
}

/// The first file that is there; `None`: none is, which is no failure where nobody promised it.
fn found(files: &[&'static str], package: &str) -> Option<&'static str> {
    let found = files.iter().find(|file| Path::new(file).exists()).copied();
    if found.is_none() {
        let text = format!("no PKCS#11 module of the package {package} is installed");
        assert!(env::var_os("CI").is_none(), "{text}");
        let _ = writeln!(std::io::stderr(), "SKIPPED: {text}");
    }
    found
}

/// The module of SoftHSM.
pub(crate) fn softhsm() -> PathBuf {
    env::var_os("SOAPSTONE_TOKEN_MODULE")
        .expect("a module")
        .into()
}

/// The client of `p11-kit server`, if it is installed.
pub(crate) fn client() -> Option<PathBuf> {
    found(&CLIENTS, "p11-kit-modules").map(PathBuf::from)
}

impl Token {
    /// The certificate of a key in the token, and the key itself, which is not in the token alone.
    pub(crate) fn identity(&self, name: &str) -> Identity {
        let read = |end: &str| {
            let file = self.folder.join(format!("{name}.{end}.pem"));
            std::fs::read(file).expect("it is written")
        };
        Identity::from_file_contents(&read("key"), &read("cert"), None).expect("an identity")
    }

    /// The key of this name, in the token.
    pub(crate) fn key(&self, name: &str) -> PrivateKey {
        let public = self.identity(name.trim_end_matches("-agrees"));
        let opened = open(location(name), public.certificate().public_key());
        opened.unwrap_or_else(|error| panic!("{error}"))
    }

    /// What is wrong with a place, for the certificate of a key.
    pub(crate) fn refusal(&self, location: KeyLocation, certificate: &str) -> TokenError {
        let identity = self.identity(certificate);
        match open(location, identity.certificate().public_key()) {
            Ok(_) => panic!("the key is opened"),
            Err(error) => error,
        }
    }

    /// Starts `p11-kit server` with the token, and waits until it listens.
    pub(crate) fn serve(&self) -> Server {
        let socket = self.folder.join("socket");
        let child = Command::new("p11-kit")
            .args(["server", "--foreground", "--provider"])
            .arg(softhsm())
            .arg("--name")
            .arg(&socket)
            .arg(format!("pkcs11:token={TOKEN}"))
            .env_remove("P11_KIT_SERVER_ADDRESS")
            .stdout(Stdio::null())
            // It starts a process for each connection.
            .process_group(0)
            .spawn()
            .expect("p11-kit runs (Debian: apt-get install p11-kit)");
        while UnixStream::connect(&socket).is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
        Server(child)
    }
}

/// SoftHSM behind a module that writes its calls down, and has them wait or fail (`observed.c`).
pub(crate) struct Observed<'t> {
    token: &'t Token,
    pub(crate) module: PathBuf,
}

impl Token {
    /// Builds that module.
    pub(crate) fn observed(&self) -> Observed<'_> {
        let module = self.folder.join("observed.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/token/observed.c");
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"])
            .args([&module, &source])
            .status()
            .expect("cc runs");
        assert!(status.success(), "{status}");
        Observed {
            token: self,
            module,
        }
    }
}

impl Observed<'_> {
    /// How often a function was called.
    pub(crate) fn calls(&self, name: &str) -> usize {
        let calls = std::fs::read_to_string(self.token.folder.join("calls")).unwrap_or_default();
        let of_it = |line: &&str| line.split(' ').next() == Some(name);
        calls.lines().filter(of_it).count()
    }

    /// Has calls of a function wait.
    pub(crate) fn hold(&self, name: &str) {
        self.write(name, "waits", "");
    }

    /// Lets them go on.
    pub(crate) fn go_on(&self, name: &str) {
        self.remove(name, "waits");
    }

    /// Has calls of a function answer a code (PKCS#11 v2.40, `CKR_…`).
    pub(crate) fn answer(&self, name: &str, code: u64) {
        self.write(name, "answers", &code.to_string());
    }

    /// Has them answer what the token does.
    pub(crate) fn answer_again(&self, name: &str) {
        self.remove(name, "answers");
    }

    fn write(&self, name: &str, end: &str, text: &str) {
        let file = self.token.folder.join(format!("{name}.{end}"));
        std::fs::write(file, text).expect("a file");
    }

    fn remove(&self, name: &str, end: &str) {
        let file = self.token.folder.join(format!("{name}.{end}"));
        std::fs::remove_file(file).expect("the file");
    }
}

/// A server of tokens, which ends with this value.
pub(crate) struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let killed = Command::new("kill").args(["-KILL", "--", &group]).status();
        killed.expect("kill runs");
        self.0.wait().ok();
    }
}

/// The place of a key in the token.
pub(crate) fn location(name: &str) -> KeyLocation {
    KeyLocation {
        module: softhsm(),
        token: TokenName::Label(TOKEN.to_owned()),
        key: KeyName::Label(name.to_owned()),
        pin: Some(SecretBytes::copy_of(PIN.as_bytes())),
        sessions: 2,
        timeout: Duration::from_secs(30),
    }
}
