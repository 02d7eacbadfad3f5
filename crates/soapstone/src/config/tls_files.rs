//! The files of a `tls` table: whom to believe to be the server, and who we are to it.
//!
//! The rule kept here: files are loaded here, and understood by whoever makes connections.

use super::document::LoadedFile;
use super::problem::{Located, Place};
use super::table::Table;
use super::trust::RevocationConfig;

/// TLS towards a server, as a file has it.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// Where the table begins.
    pub place: Place,
    /// Authorities of the server's certificate. Where neither these nor `pinned` are there, the
    /// system's.
    pub ca: Option<Vec<LoadedFile>>,
    /// Certificates that are believed as they are.
    pub pinned: Option<Vec<LoadedFile>>,
    /// Who is asked whether the server's certificate was revoked.
    pub revocation: Option<RevocationConfig>,
    /// Our certificate, for mutual TLS.
    pub certificate: Option<LoadedFile>,
    /// Its private key.
    pub key: Option<LoadedFile>,
    /// Whether a certificate is named, be it one that cannot be read.
    pub names_certificate: bool,
    /// The name in the server's certificate; the URL's host when absent.
    pub server_name: Option<Located<String>>,
}

impl TlsFiles {
    /// Reads the table to its end; `None` when a file cannot be read, which is reported.
    pub fn read(mut table: Table<'_>) -> Option<Self> {
        let revocation = table.table("revocation").map(RevocationConfig::read);
        Self::read_rest(table, revocation)
    }

    /// The same for a server whose certificate nobody is asked about.
    pub(super) fn read_without_revocation(table: Table<'_>) -> Option<Self> {
        Self::read_rest(table, None)
    }

    fn read_rest(mut table: Table<'_>, revocation: Option<RevocationConfig>) -> Option<Self> {
        let (has_certificate, has_key) = (table.has("certificate"), table.has("key"));
        if has_certificate != has_key {
            let (absent, present) = if has_key {
                ("certificate", "key")
            } else {
                ("key", "certificate")
            };
            table.missing(
                absent,
                &format!("`{present}` is given; mutual TLS needs both"),
            );
        }
        let files = Self {
            place: table.place(),
            ca: table.files("ca"),
            pinned: table.files("pinned"),
            revocation,
            certificate: table.file("certificate"),
            key: table.secret_file("key"),
            names_certificate: has_certificate || has_key,
            server_name: table.string("server_name"),
        };
        let is_unread = [
            (table.has("ca"), files.ca.is_some()),
            (table.has("pinned"), files.pinned.is_some()),
        ];
        table.finish();
        is_unread
            .iter()
            .all(|(named, read)| named == read)
            .then_some(files)
    }
}
