//! A realm of MIT Kerberos with a KDC of its own, on loopback and a free port, for the time of a
//! run.
//!
//! The library reads where its realm is from the environment. So whoever is of the realm is a
//! process of its own, which [`Realm::of`] prepares. The rule kept here: nothing of the machine's
//! Kerberos is read or written, and the KDC is gone when its realm is dropped.

use std::ffi::OsStr;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::Scratch;

/// Its name.
const REALM: &str = "LAB.EXAMPLE";
/// The service of the gateways before the services.
pub(super) const SERVICE: &str = "HTTP/localhost@LAB.EXAMPLE";
/// The client of the gateways for clients.
pub(super) const CLIENT: &str = "client@LAB.EXAMPLE";
/// The files with their keys, in the scratch folder.
pub(super) const SERVICE_KEYTAB: &str = "service.keytab";
pub(super) const CLIENT_KEYTAB: &str = "client.keytab";

/// How long the KDC may take to start on a busy machine, and how often it is looked for.
const PATIENCE: Duration = Duration::from_secs(30);
const GLANCE: Duration = Duration::from_millis(20);

/// Variables that lead the library to files of the machine.
const OF_MACHINE: [&str; 4] = [
    "KRB5RCACHENAME",
    "KRB5_KTNAME",
    "KRB5_CLIENT_KTNAME",
    "KRB5_TRACE",
];

/// A realm whose KDC answers.
pub(crate) struct Realm {
    folder: PathBuf,
    /// Nothing until it was started.
    kdc: Option<Child>,
}

impl Realm {
    /// Makes a realm in a folder of the scratch folder, with the keytabs of client and service, and
    /// starts its KDC.
    ///
    /// # Errors
    /// Why there is none: its programs are not here, or one of them fails.
    pub(crate) fn start(scratch: &Scratch) -> Result<Self, String> {
        let [kdc, util, admin] = ["krb5kdc", "kdb5_util", "kadmin.local"].map(program);
        let (kdc, util, admin) = (kdc?, util?, admin?);
        let mut realm = Self {
            folder: scratch.folder().join("realm"),
            kdc: None,
        };
        let port = realm.configure().map_err(|it| it.to_string())?;
        // The database is in the scratch folder, which nobody else reads.
        done(&mut realm.command(&util), &["create", "-s", "-P", "lab"])?;
        for (principal, keytab) in [(SERVICE, SERVICE_KEYTAB), (CLIENT, CLIENT_KEYTAB)] {
            let keytab = scratch.folder().join(keytab);
            let add = format!("addprinc -randkey {principal}");
            let write = format!("ktadd -norandkey -k {} {principal}", keytab.display());
            for query in [add, write] {
                done(&mut realm.command(&admin), &["-q", &query])?;
            }
            // kadmin.local ends well whatever it could not do.
            if !keytab.is_file() {
                return Err(format!("kadmin.local wrote no keytab of {principal}"));
            }
        }
        realm.begin(&kdc, port)?;
        Ok(realm)
    }

    /// Writes its configuration: the port of the KDC.
    fn configure(&self) -> Result<u16, std::io::Error> {
        std::fs::create_dir_all(&self.folder)?;
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = free.local_addr()?.port();
        let folder = self.folder.display();
        let client = format!(
            "[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n \
             dns_canonicalize_hostname = false\n rdns = false\n udp_preference_limit = 1\n\
             [realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n[logging]\n default = FILE:{folder}/library.log\n"
        );
        let server = format!(
            "[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n\
             [realms]\n {REALM} = {{\n  database_name = {folder}/principal\n  key_stash_file = {folder}/stash\n  \
             acl_file = {folder}/acl\n  max_life = 24h\n }}\n[logging]\n kdc = FILE:{folder}/kdc.log\n"
        );
        std::fs::write(self.folder.join("krb5.conf"), client)?;
        std::fs::write(self.folder.join("kdc.conf"), server)?;
        Ok(port)
    }

    /// Starts the KDC, and waits until it answers.
    fn begin(&mut self, kdc: &Path, port: u16) -> Result<(), String> {
        let mut command = self.command(kdc);
        command
            .arg("-n")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        #[cfg(unix)]
        {
            // Not the Ctrl-C that is meant for whoever started it.
            use std::os::unix::process::CommandExt;
            command.process_group(0);
        }
        let kdc = command.spawn();
        let kdc = kdc.map_err(|error| format!("the KDC does not start: {error}"))?;
        // From here on it ends with the value.
        let kdc = self.kdc.insert(kdc);
        let begun = Instant::now();
        loop {
            std::thread::sleep(GLANCE);
            // Another program may have taken the port meanwhile, and would answer for the KDC.
            let ended = kdc.try_wait().map_err(|error| error.to_string())?;
            if let Some(status) = ended {
                return Err(format!("the KDC does not start: {status}"));
            }
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                return Err("the KDC does not answer".to_owned());
            }
        }
    }

    /// Makes a process one of this realm.
    pub(crate) fn of<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        for of_machine in OF_MACHINE {
            command.env_remove(of_machine);
        }
        command
            .env("KRB5_CONFIG", self.folder.join("krb5.conf"))
            .env("KRB5_KDC_PROFILE", self.folder.join("kdc.conf"))
            .env("KRB5RCACHEDIR", &self.folder)
            .env("KRB5CCNAME", self.folder.join("default-cache"))
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        self.of(&mut command).stdin(Stdio::null());
        command
    }
}

impl Drop for Realm {
    fn drop(&mut self) {
        if let Some(mut kdc) = self.kdc.take() {
            // It may have ended already.
            let _ = kdc.kill();
            let _ = kdc.wait();
        }
    }
}

/// One of the KDC's programs, from the search path or from where Debian keeps servers.
fn program(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    let found = folders.find_map(|folder| {
        let file = folder.join(name);
        file.is_file().then_some(file)
    });
    found.ok_or_else(|| {
        format!(
            "a KDC is not installed: {name} is missing (packages krb5-kdc and krb5-admin-server)"
        )
    })
}

/// Runs one of them to the end.
fn done(command: &mut Command, arguments: &[&str]) -> Result<(), String> {
    let name = command.get_program().to_owned();
    let name = Path::new(&name).file_name().map(OsStr::to_string_lossy);
    let name = name.unwrap_or_default();
    let output = command.args(arguments).output();
    let output = output.map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{name} fails ({}): {}", output.status, said.trim()))
}
