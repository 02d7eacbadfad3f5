//! A realm of MIT Kerberos with a KDC of its own, on loopback and a free port.
//!
//! The library reads its configuration from the environment, and a test must not change that of its
//! process. So a test that calls the library runs in a process of its own ([`within`]), which has
//! the realm's.
//!
//! The rule kept here: nothing of the machine's Kerberos is read or written, and the KDC is gone
//! when its realm is dropped.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::Duration;

use crate::folder::Folder;

/// The name of the realm.
pub const REALM: &str = "EXAMPLE.COM";

/// How often a program is asked whether it is there, and how long it has between two times.
const TRIES: u32 = 600;
const BETWEEN: Duration = Duration::from_millis(50);

/// Variables that lead the library to files of the machine, and that no realm sets.
const OF_MACHINE: [&str; 4] = [
    "KRB5RCACHENAME",
    "KRB5_KTNAME",
    "KRB5_CLIENT_KTNAME",
    "KRB5_TRACE",
];

/// A realm with its KDC.
#[derive(Debug)]
pub struct Realm {
    folder: Folder,
    kdc: Option<Child>,
    port: u16,
}

/// Whether the programs of a KDC are there. With `CI` set they have to be; without it a line on
/// standard error tells that tests are left out.
///
/// # Panics
/// If `CI` is set and they are not.
pub fn is_there() -> bool {
    let found = [
        "/usr/sbin/krb5kdc",
        "/usr/sbin/kadmin.local",
        "/usr/bin/kinit",
    ];
    let found = found.iter().all(|program| Path::new(program).exists());
    const MISSING: &str = "krb5-kdc, krb5-admin-server and krb5-user are missing";
    assert!(found || std::env::var_os("CI").is_none(), "{MISSING}");
    static TOLD: Once = Once::new();
    if !found {
        // The test harness captures what macros print, not what is written here.
        TOLD.call_once(|| {
            let _ = writeln!(
                std::io::stderr(),
                "*** tests of Kerberos were not run: {MISSING} ***"
            );
        });
    }
    found
}

impl Realm {
    /// A realm whose KDC answers. `settings` are lines of `[libdefaults]`.
    ///
    /// # Panics
    /// If the realm cannot be made or its KDC does not start.
    pub fn start(settings: &str) -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = free.local_addr().expect("its address").port();
        drop(free);
        let mut realm = Self {
            folder: Folder::new(),
            kdc: None,
            port,
        };
        realm.write_configuration(settings);
        let create = ["create", "-s", "-r", REALM, "-P", "master"];
        realm.done("/usr/sbin/kdb5_util", &create);
        realm.start_kdc();
        realm
    }

    fn write_configuration(&self, settings: &str) {
        let (root, port) = (self.folder.root().display(), self.port);
        let client = format!(
            "[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n \
             dns_lookup_realm = false\n dns_canonicalize_hostname = false\n rdns = false\n \
             udp_preference_limit = 1\n {settings}\n[realms]\n {REALM} = {{\n  \
             kdc = 127.0.0.1:{port}\n }}\n[logging]\n default = FILE:{root}/library.log\n"
        );
        let server = format!(
            "[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n\
             [realms]\n {REALM} = {{\n  database_name = {root}/principal\n  \
             key_stash_file = {root}/stash\n  acl_file = {root}/acl\n  max_life = 10h\n }}\n\
             [logging]\n kdc = FILE:{root}/kdc.log\n"
        );
        self.folder.write("krb5.conf", client);
        self.folder.write("kdc.conf", server);
    }

    /// Starts the KDC, which was never started or was stopped.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start_kdc(&mut self) {
        let mut kdc = self.command("/usr/sbin/krb5kdc");
        let kdc = kdc.arg("-n").stdout(Stdio::null()).stderr(Stdio::null());
        let mut kdc = kdc.spawn().expect("krb5kdc starts");
        let answers = |_| {
            std::thread::sleep(BETWEEN);
            // Another program may have taken the port meanwhile, and would answer for the KDC.
            let ended = kdc.try_wait().expect("the KDC is ours");
            assert_eq!(ended, None, "the KDC has ended");
            TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok()
        };
        let answers = (0..TRIES).any(answers);
        self.kdc = Some(kdc);
        assert!(answers, "the KDC does not answer");
    }

    /// Stops the KDC: nobody listens at its port any more.
    pub fn stop_kdc(&mut self) {
        if let Some(mut kdc) = self.kdc.take() {
            kdc.kill().expect("the KDC is ours");
            kdc.wait().expect("the KDC is ours");
        }
    }

    /// Stops the KDC, and has something listen at its port that never answers.
    ///
    /// # Panics
    /// If the port is not free.
    pub fn hang_kdc(&mut self) -> TcpListener {
        self.stop_kdc();
        let bound = |_| {
            std::thread::sleep(BETWEEN);
            TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).ok()
        };
        let listener = (0..TRIES).find_map(bound);
        listener.expect("the port of the KDC is free")
    }

    /// Adds a principal with random keys, and writes them into a keytab. `options` are those of
    /// `addprinc`.
    ///
    /// # Panics
    /// If the realm has it.
    pub fn keytab(&self, principal: &str, options: &str) -> PathBuf {
        let name = principal.replace(['/', '@'], "-");
        let path = self.folder.path(format!("{name}.keytab"));
        let add = format!("addprinc -randkey {options} {principal}");
        self.done("/usr/sbin/kadmin.local", &["-r", REALM, "-q", &add]);
        let write = format!("ktadd -norandkey -k {} {principal}", path.display());
        self.done("/usr/sbin/kadmin.local", &["-r", REALM, "-q", &write]);
        assert!(path.is_file(), "kadmin.local wrote no keytab");
        path
    }

    /// Changes something with `kadmin.local`.
    ///
    /// # Panics
    /// If it fails.
    pub fn administer(&self, query: &str) {
        self.done("/usr/sbin/kadmin.local", &["-r", REALM, "-q", query]);
    }

    /// A cache with a ticket of a principal.
    ///
    /// # Panics
    /// If the KDC gives none.
    pub fn cache(&self, principal: &str, keytab: &Path, options: &[&str]) -> PathBuf {
        let path = self.folder.path(principal.replace(['/', '@'], "-"));
        let (cache, keytab) = (path.to_str(), keytab.to_str());
        let (cache, keytab) = (cache.expect("a text"), keytab.expect("a text"));
        let known = ["-c", cache, "-k", "-t", keytab];
        self.done("/usr/bin/kinit", &[&known, options, &[principal]].concat());
        path
    }

    /// The folder of the realm, which is gone with it.
    pub const fn folder(&self) -> &Folder {
        &self.folder
    }

    /// What a program needs to be of this realm.
    pub fn environment(&self) -> [(&'static str, PathBuf); 4] {
        [
            ("KRB5_CONFIG", self.folder.path("krb5.conf")),
            ("KRB5_KDC_PROFILE", self.folder.path("kdc.conf")),
            ("KRB5RCACHEDIR", self.folder.root().to_path_buf()),
            ("KRB5CCNAME", self.folder.path("default-cache")),
        ]
    }

    /// A program of this realm.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        for of_machine in OF_MACHINE {
            command.env_remove(of_machine);
        }
        command.envs(self.environment()).stdin(Stdio::null());
        command
    }

    fn done(&self, program: &str, arguments: &[&str]) {
        let output = self.command(program).args(arguments).output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {said}");
    }
}

impl Drop for Realm {
    fn drop(&mut self) {
        self.stop_kdc();
    }
}

/// The name of the variable that says that a test is in the process of a realm.
const INSIDE: &str = "SOAPSTONE_TEST_REALM";

/// The folder of the realm whose process this is.
pub fn inside() -> Option<PathBuf> {
    std::env::var_os(INSIDE).map(PathBuf::from)
}

/// Runs the ignored test of this name, of the test program that is running, in a process of the
/// realm.
///
/// # Panics
/// If it fails.
pub fn within(realm: &Realm, test: &str, more: &[(&str, &str)]) {
    let program = std::env::current_exe().expect("the test program");
    let mut command = realm.command(program.to_str().expect("a text"));
    command.args([test, "--exact", "--ignored", "--nocapture"]);
    command
        .env(INSIDE, realm.folder.root())
        .envs(more.iter().copied());
    let output = command.output().expect("the test program starts");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{test}:\n{said}");
    assert!(said.contains("1 passed"), "{test} did not run:\n{said}");
}
