//! The files of a `tls` table: whom to believe to be the server, and who we are to it.
//!
//! The rule kept here: files are loaded here, and understood by whoever makes connections.

use super::document::LoadedFile;
use super::problem::{Located, Place};
use super::table::Table;
use super::token_key::{self, TokenKeyConfig};
use super::trust::RevocationConfig;

/// Where the private key of a certificate of TLS is.
#[derive(Clone, Debug)]
pub enum TlsKey {
    /// `key`: a PEM file.
    File(LoadedFile),
    /// `pkcs11`: a token.
    Token(TokenKeyConfig),
}

impl TlsKey {
    /// Whether both are the same key, reached in the same way. Both are our own configuration:
    /// nobody measures how long this takes.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(one), Self::File(other)) => one.bytes.expose() == other.bytes.expose(),
            (Self::Token(one), Self::Token(other)) => one.is_same(other),
            _ => false,
        }
    }

    /// Whether a table names one, be it one that cannot be read.
    pub fn is_named(table: &Table<'_>) -> bool {
        table.has("key") || table.has("pkcs11")
    }

    /// Reads `key` or `pkcs11`. `None` where the table names none, and where it is wrong, which is
    /// reported.
    pub fn read(table: &mut Table<'_>) -> Option<Self> {
        let has_token = table.has("pkcs11");
        if let (Some(place), true) = (table.place_of("key"), has_token) {
            let hint = "keep one of them: key = \"….key.pem\", or the table pkcs11";
            table.report_with_hint(place, "both `key` and `pkcs11` are given", hint);
        }
        let key = table.secret_file("key").map(Self::File);
        let token = table.table("pkcs11").and_then(token_key::read);
        match has_token {
            true => token.map(Self::Token),
            false => key,
        }
    }
}

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
    pub key: Option<TlsKey>,
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
        let (has_certificate, has_key) = (table.has("certificate"), TlsKey::is_named(&table));
        if has_certificate != has_key {
            let (absent, present) = if has_key {
                let named = if table.has("key") { "key" } else { "pkcs11" };
                ("certificate", named)
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
            key: TlsKey::read(&mut table),
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
