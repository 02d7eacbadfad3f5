//! What an endpoint remembers, and where: `replay` and `conversations` of `[security]`.
//!
//! The rule kept here: memory that nodes share has its servers and its seal key, or is a problem of
//! the file.

use std::path::PathBuf;
use std::time::Duration;

use soapstone_trust::ComputedKey;
use soapstone_wss::{ConversationVersion, Mechanism};

use super::problem::{Located, Place};
use super::store::{Shared, StoreConfig, WhenUnavailable, read_when_unavailable};
use super::table::Table;

/// Where replay marks are kept.
#[derive(Clone, Debug)]
pub enum ReplayStoreConfig {
    /// In this process.
    Memory,
    /// In a file, so that calls of the command line share them.
    File {
        /// The file; created when absent.
        path: PathBuf,
    },
    /// In Redis or Valkey.
    Redis {
        /// The servers.
        store: Box<StoreConfig>,
        /// What is done while they do not answer.
        when_unavailable: WhenUnavailable,
    },
}

/// `replay = { … }`.
#[derive(Clone, Debug)]
pub struct ReplayConfig {
    /// Where the table begins.
    pub place: Place,
    /// The store.
    pub store: ReplayStoreConfig,
    /// How many marks are kept at most.
    pub capacity: Option<u64>,
    /// Where a message that was accepted is a copy.
    pub scope: ReplayScope,
}

/// Where a message that was accepted is a copy: `scope = "process" | "route"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayScope {
    /// Wherever it comes to.
    Process,
    /// At this route. What another route accepted is accepted here again.
    Route,
}

/// Where security contexts are kept.
#[derive(Clone, Debug)]
pub enum ConversationStoreConfig {
    /// In this process.
    Memory,
    /// In Redis or Valkey.
    Redis {
        /// The servers, and the key that seals: it is always there.
        store: Box<StoreConfig>,
    },
}

/// `conversations = { … }`.
#[derive(Clone, Debug)]
pub struct ConversationsConfig {
    /// Where the table begins.
    pub place: Place,
    /// The store.
    pub store: ConversationStoreConfig,
    /// How many contexts are kept in memory at most.
    pub capacity: Option<u64>,
    /// How many contexts of one owner are kept in memory at most.
    pub per_owner: Option<u64>,
    /// Preset by which contexts are asked for; `None` is `sign-encrypt`.
    pub bootstrap: Option<Located<Mechanism>>,
    /// Version of the tokens; `None` is 1.3.
    pub version: Option<Located<ConversationVersion>>,
    /// Life of contexts.
    pub lifetime: Option<Located<Duration>>,
    /// Contexts may be renewed by their key alone for so long after their owner was authenticated.
    pub renewal_by_key_alone: Option<Located<Duration>>,
    /// Contexts may be renewed and cancelled by their owner without a signature by their key.
    pub owner_alone: bool,
    /// Whether somebody who does not authenticate is given a context.
    pub anonymous: bool,
    /// How keys are computed from what both sides contribute: what is granted, the first where
    /// nothing is asked for; a client asks for the first. Empty is P_SHA1.
    pub computed_keys: Vec<ComputedKey>,
    /// Bits of a context's key where nothing else says them.
    pub key_size: Option<Located<u32>>,
    /// Addresses for which contexts are made; empty is all.
    pub applies_to: Vec<String>,
}

/// Reads `replay`.
pub(super) fn read_replay(mut table: Table<'_>, shared: Shared<'_>) -> Option<ReplayConfig> {
    #[derive(Clone, Copy)]
    enum Kind {
        Memory,
        File,
        Redis,
    }
    let place = table.place();
    let kind = table.choice(
        "store",
        &[
            ("memory", Kind::Memory),
            ("file", Kind::File),
            ("redis", Kind::Redis),
        ],
    );
    let path = table.path("path");
    let capacity = table.integer("capacity", 1, u64::from(u32::MAX));
    let store = match kind.map(|kind| kind.value) {
        Some(Kind::File) => {
            if !table.has("path") {
                table.missing(
                    "path",
                    "name the file that remembers, for example path = \"replay.marks\"",
                );
            }
            path.map(|path| ReplayStoreConfig::File { path: path.value })
        }
        Some(Kind::Redis) => {
            let when_unavailable = read_when_unavailable(&mut table);
            StoreConfig::read_among(&mut table, shared, false).map(|store| {
                ReplayStoreConfig::Redis {
                    store: Box::new(store),
                    when_unavailable,
                }
            })
        }
        Some(Kind::Memory) => Some(ReplayStoreConfig::Memory),
        None if table.has("store") => None,
        None => Some(ReplayStoreConfig::Memory),
    };
    let scopes = [
        ("process", ReplayScope::Process),
        ("route", ReplayScope::Route),
    ];
    let scope = table.choice("scope", &scopes);
    if let (Some(scope), Some(store)) = (&scope, &store)
        && scope.value == ReplayScope::Route
        && !matches!(store, ReplayStoreConfig::Memory)
    {
        table.report_with_hint(
            scope.place,
            "`scope = \"route\"` is for marks in memory: whoever shares a store does not know whose route is which",
            "leave `scope` out, or take store = \"memory\"",
        );
    }
    table.finish();
    Some(ReplayConfig {
        place,
        store: store?,
        capacity: capacity.map(|capacity| capacity.value),
        scope: scope.map_or(ReplayScope::Process, |scope| scope.value),
    })
}

/// Reads `conversations`.
pub(super) fn read_conversations(
    mut table: Table<'_>,
    shared: Shared<'_>,
) -> Option<ConversationsConfig> {
    let place = table.place();
    let in_redis = table.choice("store", &[("memory", false), ("redis", true)]);
    let capacity = table
        .integer("capacity", 1, u64::from(u32::MAX))
        .map(|capacity| capacity.value);
    let per_owner = table
        .integer("per_owner", 1, u64::from(u32::MAX))
        .map(|share| share.value);
    let store = match in_redis.map(|choice| choice.value) {
        Some(true) => {
            let when_unavailable = read_when_unavailable(&mut table);
            if when_unavailable == WhenUnavailable::Accept {
                table.report(
                    table.place_of("when_unavailable").unwrap_or(place),
                    "`when_unavailable` must be \"refuse\" for conversations: their keys are in the store, found \"accept\"",
                );
            }
            StoreConfig::read_among(&mut table, shared, true).map(|store| {
                ConversationStoreConfig::Redis {
                    store: Box::new(store),
                }
            })
        }
        Some(false) => Some(ConversationStoreConfig::Memory),
        None if table.has("store") => None,
        None => Some(ConversationStoreConfig::Memory),
    };
    // Not `encrypt`: it says nothing of who asks, and what is said about a request that nobody
    // signed tells of its plaintext.
    let bootstraps = [
        Mechanism::None,
        Mechanism::Username,
        Mechanism::Sign,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ];
    let bootstrap = table.choice(
        "bootstrap",
        &bootstraps.map(|mechanism| (mechanism.name(), mechanism)),
    );
    let version = table.choice(
        "version",
        &[
            ("1.3", ConversationVersion::V13),
            ("2005-02", ConversationVersion::February2005),
        ],
    );
    let lifetime = table.duration("lifetime");
    let renewal_by_key_alone = table.duration("renewal_by_key_alone");
    let owner_alone = table
        .boolean("owner_alone")
        .is_some_and(|allowed| allowed.value);
    let anonymous = table
        .boolean("anonymous")
        .is_some_and(|anonymous| anonymous.value);
    let computed_keys = table.choices(
        "computed_keys",
        &[
            ("P_SHA1", ComputedKey::PSha1),
            ("P_SHA256", ComputedKey::PSha256),
        ],
    );
    let key_size = read_key_size(&mut table);
    let applies_to = table.strings("applies_to").unwrap_or_default();
    table.finish();
    Some(ConversationsConfig {
        place,
        store: store?,
        capacity,
        per_owner,
        bootstrap,
        version,
        lifetime,
        renewal_by_key_alone,
        owner_alone,
        anonymous,
        computed_keys: computed_keys.unwrap_or_default(),
        key_size,
        applies_to: applies_to
            .into_iter()
            .map(|address| address.value)
            .collect(),
    })
}

/// Bits, in whole bytes, between what is never too short and what a context holds.
pub(super) fn read_key_size(table: &mut Table<'_>) -> Option<Located<u32>> {
    let found = table.integer("key_size", 128, 512)?;
    let bits = u32::try_from(found.value).ok().filter(|bits| bits % 8 == 0);
    if bits.is_none() {
        let message = format!(
            "`key_size` must be bits of whole bytes, found {}",
            found.value
        );
        table.report_with_hint(found.place, message, "256 is customary");
    }
    bits.map(|value| Located {
        value,
        place: found.place,
    })
}
