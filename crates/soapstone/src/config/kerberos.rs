//! The `[kerberos]` table: the service that tokens are for, and where keys and tickets come from.
//!
//! The rule kept here: a principal is written with its realm, and a file is named by its path. What
//! the files hold is for the library to read.

use std::path::PathBuf;
use std::time::Duration;

use soapstone_wss::KerberosForm;

use super::problem::{Located, Place};
use super::table::Table;

/// What the token of a preset is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KerberosUse {
    /// Its key signs and encrypts what the mechanism says.
    Protect,
    /// Its key signs the Timestamp; the connection protects the rest.
    Endorse,
    /// It says who sends; the connection protects the rest.
    Authenticate,
}

/// `[kerberos]`.
#[derive(Clone, Debug)]
pub struct KerberosConfig {
    /// Where the table begins.
    pub place: Place,
    /// A file with keys: of the service that accepts tokens, or of the client that makes them.
    pub keytab: Option<PathBuf>,
    /// Whose keys those are.
    pub principal: Option<Located<String>>,
    /// A file with tickets of the client.
    pub cache: Option<PathBuf>,
    /// The service that tokens are made for.
    pub service: Option<Located<String>>,
    /// What the token of a preset is for.
    pub usage: Located<KerberosUse>,
    /// The form of tokens.
    pub form: KerberosForm,
    /// Whether a token is carried once, and named by the messages behind it.
    pub once: bool,
    /// Whether keys are derived from the session key.
    pub derived_keys: bool,
    /// The encryption types, by name.
    pub enctypes: Option<Vec<Located<String>>>,
    /// The realms of clients.
    pub realms: Option<Vec<Located<String>>>,
    /// The clients.
    pub clients: Option<Vec<Located<String>>>,
    /// The longest wait for the KDC.
    pub timeout: Option<Duration>,
}

/// Reads the table to its end.
pub(super) fn read(mut table: Table<'_>) -> KerberosConfig {
    let place = table.place();
    let usages = [
        ("protect", KerberosUse::Protect),
        ("endorse", KerberosUse::Endorse),
        ("authenticate", KerberosUse::Authenticate),
    ];
    let forms = [("gss", KerberosForm::Gss), ("raw", KerberosForm::Raw)];
    let carried = [("always", false), ("once", true)];
    let usage = table.choice("use", &usages);
    let timeout = table.duration("timeout");
    if let Some(zero) = timeout.as_ref().filter(|timeout| timeout.value.is_zero()) {
        table.report(zero.place, "`timeout` must be longer than nothing");
    }
    for (key, hint) in [
        ("enctypes", "leave it out for those with AES"),
        ("realms", "leave it out for the realm of `principal`"),
        ("clients", "leave it out for everybody of `realms`"),
    ] {
        let place = table.place_of(key).filter(|_| table.is_empty_list(key));
        if let Some(place) = place {
            table.report_with_hint(place, format!("`{key}` is a list of nothing"), hint);
        }
    }
    let config = KerberosConfig {
        place,
        keytab: table.path("keytab").map(|path| path.value),
        principal: table.string("principal"),
        cache: table.path("cache").map(|path| path.value),
        service: table.string("service"),
        usage: usage.unwrap_or(Located {
            value: KerberosUse::Protect,
            place,
        }),
        form: table
            .choice("form", &forms)
            .map_or(KerberosForm::Gss, |form| form.value),
        once: table
            .choice("include", &carried)
            .is_some_and(|include| include.value),
        derived_keys: table
            .boolean("derived_keys")
            .is_none_or(|derived| derived.value),
        enctypes: table.strings("enctypes"),
        realms: table.strings("realms"),
        clients: table.strings("clients"),
        timeout: timeout.map(|timeout| timeout.value),
    };
    table.finish();
    config
}
