//! The `pkcs11` table of an identity: a private key in a token.
//!
//! The rule kept here: the PIN is a secret like a password, and stands in the file only where the
//! file says it outright.

use std::path::PathBuf;
use std::time::Duration;

use super::confidential::Confidential;
use super::problem::{Located, Place};
use super::table::Table;
use super::values::decode_hexadecimal;

/// Which token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenChoice {
    /// `token`: its label.
    Label(String),
    /// `slot`: the slot that it is in.
    Slot(u64),
}

/// Which private key of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenKeyChoice {
    /// `key`: its label.
    Label(String),
    /// `id`: its id, from hexadecimal digits.
    Id(Vec<u8>),
}

/// A private key in a token.
#[derive(Clone, Debug)]
pub struct TokenKeyConfig {
    /// Where the table begins.
    pub place: Place,
    /// The module of the token's maker.
    pub module: PathBuf,
    /// The token.
    pub token: TokenChoice,
    /// The key.
    pub key: TokenKeyChoice,
    /// The PIN of the token's user.
    pub pin: Option<Located<Confidential<String>>>,
    /// Operations that the token does at the same time.
    pub sessions: Option<Located<u64>>,
    /// The longest wait for an operation.
    pub timeout: Option<Located<Duration>>,
}

impl TokenKeyConfig {
    /// Sessions of a key, unless said otherwise.
    pub const SESSIONS: usize = 4;

    /// How many operations the token does at the same time.
    #[must_use]
    pub fn sessions_at_once(&self) -> usize {
        let named = self.sessions.as_ref().map(|named| named.value);
        named.map_or(Self::SESSIONS, |named| {
            usize::try_from(named).unwrap_or(usize::MAX)
        })
    }
}

impl TokenKeyConfig {
    /// Whether both reach the same key in the same way. Both are our own configuration: nobody
    /// measures how long this takes.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let pin = |one: &Self| one.pin.as_ref().map(|pin| pin.value.expose().clone());
        let timeout = |one: &Self| one.timeout.as_ref().map(|timeout| timeout.value);
        (&self.module, &self.token, &self.key) == (&other.module, &other.token, &other.key)
            && pin(self) == pin(other)
            && self.sessions_at_once() == other.sessions_at_once()
            && timeout(self) == timeout(other)
    }
}

const PIN: [&str; 3] = ["pin", "pin_env", "pin_file"];

pub(super) fn read(mut table: Table<'_>) -> Option<TokenKeyConfig> {
    let place = table.place();
    if !table.has("module") {
        table.missing(
            "module",
            "name the shared library of the token's maker: module = \"/usr/lib/….so\"",
        );
    }
    let one_of = [
        (
            "token",
            "slot",
            "say which token: token = \"LABEL\" or slot = 0",
        ),
        (
            "key",
            "id",
            "say which key: key = \"LABEL\" or id = \"0a1b\"",
        ),
    ];
    let mut both = false;
    for (usual, other, hint) in one_of {
        match (table.has(usual), table.place_of(other)) {
            (false, None) => table.missing(usual, hint),
            (true, Some(place)) => {
                let message = format!("both `{usual}` and `{other}` are given");
                table.report_with_hint(place, message, "keep one of them");
                both = true;
            }
            _ => {}
        }
    }
    let module = table.path("module");
    let token = table.string("token");
    let slot = table.integer("slot", 0, u64::from(u32::MAX));
    let key = table.string("key");
    let id = table.string("id");
    let has_pin = PIN.iter().any(|key| table.has(key));
    let pin = table.secret("pin", "pin_env", "pin_file");
    let sessions = table.integer("sessions", 1, 64);
    let timeout = table.duration("timeout");
    if let Some(zero) = timeout.as_ref().filter(|timeout| timeout.value.is_zero()) {
        table.report(zero.place, "`timeout` must be longer than nothing");
    }
    let id = match id {
        None => None,
        Some(text) => match decode_hexadecimal(&text.value).filter(|id| !id.is_empty()) {
            Some(id) => Some(id),
            None => {
                let message = "`id` must be pairs of hexadecimal digits, found something else";
                table.report(text.place, message);
                return None;
            }
        },
    };
    table.finish();
    if both || has_pin && pin.is_none() {
        return None;
    }
    Some(TokenKeyConfig {
        place,
        module: module?.value,
        token: token
            .map(|label| TokenChoice::Label(label.value))
            .or(slot.map(|slot| TokenChoice::Slot(slot.value)))?,
        key: key
            .map(|label| TokenKeyChoice::Label(label.value))
            .or(id.map(TokenKeyChoice::Id))?,
        pin,
        sessions,
        timeout,
    })
}
