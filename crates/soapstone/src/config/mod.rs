//! Configuration files: TOML read with places, so that every problem is reported at once and says
//! where.
//!
//! A file is parsed into a [`Document`]; its tables are read key by key through [`Table`], which
//! notes what is wrong and goes on. [`Document::finish`] then hands out either the complete result
//! or all the problems. [`EndpointConfig`] is the endpoint file (and the tables under a gateway's
//! routes) in that form: checked for shape, every file it names loaded, not yet compiled into
//! plans.
//!
//! The rule kept here: a key that nobody asked for is a problem, so a misspelt setting is never
//! silently ignored.

mod answers;
mod attachments;
mod by_reference;
mod certifiers;
mod clock;
mod confidential;
mod document;
mod endpoint;
mod identity;
mod inner;
mod kerberos;
mod key_naming;
mod known_key;
mod memory;
mod nodes;
mod parts;
mod password_keys;
mod peer;
mod policy_choice;
mod problem;
mod profile;
mod quoting;
mod saml;
mod schema;
mod security;
mod server_address;
mod shared_key;
mod store;
mod sts;
mod table;
mod tls_files;
mod token_key;
mod token_service;
mod tree;
mod trust;
mod tuning;
mod values;
mod warning;

pub use answers::{AnswerProtection, AnswersConfig, UnsecuredFaults};
pub use attachments::AttachmentsConfig;
pub use by_reference::{ByReferenceConfig, SendByReferenceConfig};
pub(crate) use by_reference::{USUAL_CAPACITY, USUAL_SIZE};
pub use certifiers::Certifiers;
pub use clock::{ClockConfig, ClockOffset, ClockSource};
pub use confidential::Confidential;
pub use document::{Document, Environment, FileState, LoadedFile, Surroundings, read_beside};
pub use endpoint::{EndpointConfig, LimitsConfig, UserConfig};
pub use identity::{IdentityConfig, IdentitySource};
pub use inner::{InnerConfig, InnerEncryptionConfig};
pub use kerberos::{KerberosConfig, KerberosUse};
pub use known_key::{KeyKind, KnownKey};
pub use memory::{
    ConversationStoreConfig, ConversationsConfig, ReplayConfig, ReplayScope, ReplayStoreConfig,
};
pub(crate) use nodes::is_next;
pub use nodes::{IntermediaryConfig, RecipientConfig};
pub use password_keys::PasswordKeysConfig;
pub use peer::PeerConfig;
pub use policy_choice::MayBeEmpty;
pub use problem::{Located, Place, Problem, Problems};
pub use quoting::{OTHER_TEXT, slip};
pub use saml::{AssertionIssuerConfig, SamlConfig};
pub use schema::json_schema;
pub(crate) use security::{ADDRESSING_VERSIONS, OF_PROFILE};
pub use security::{
    AddressingConfig, AlgorithmsConfig, SecurityConfig, SecuritySource, TimestampConfig,
    UsernameTokenConfig, WeakUse,
};
pub use server_address::ServerAddress;
pub use shared_key::SharedKeyConfig;
pub use store::{StoreConfig, StoreLogin, StoreServers, StoreTlsConfig, WhenUnavailable};
pub use sts::{
    ClaimDialectConfig, DelegationConfig, ForeignSubjectsConfig, GrantedAttributeConfig,
    KeyTypeChoice, PartiesConfig, StsConfig, TargetServiceConfig,
};
pub use table::{FlagOrStrings, FlagOrTable, Table};
pub use tls_files::{TlsFiles, TlsKey};
pub use token_key::{TokenChoice, TokenKeyChoice, TokenKeyConfig};
pub use token_service::{TokenKeyType, TokenServiceConfig, UserRole};
pub use trust::{RevocationConfig, TrustConfig};
pub use values::{parse_duration, parse_size};
pub use warning::Warning;
