//! `[saml.token_service]`: where the assertion of requests comes from, if a token service makes it
//! (WS-Trust 1.4), and how that service is talked to.
//!
//! The rule kept here: keys, users and trust towards the token service stand in its own `endpoint`.
//! Those of the file around it are for the service that gets the assertion.

use std::time::Duration;

use soapstone_trust::{Contribution, TrustVersion};
use soapstone_wss::{SamlVersion, SoapVersion};

use super::endpoint::EndpointConfig;
use super::memory::read_key_size;
use super::problem::{Located, Place};
use super::table::Table;
use super::tls_files::TlsFiles;

/// The key of the assertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKeyType {
    /// None.
    Bearer,
    /// That of the certificate that signs or endorses.
    PublicKey,
    /// A symmetric one, which protects messages.
    SymmetricKey,
}

/// As what a user's assertion goes to the token service (WS-Trust 1.4, 9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserRole {
    /// `wst:OnBehalfOf`: the token is that user's.
    OnBehalfOf,
    /// `wst14:ActAs`: the token is ours, acting as that user.
    ActAs,
}

/// `[saml.token_service]`.
#[derive(Clone, Debug)]
pub struct TokenServiceConfig {
    /// Where the table begins.
    pub place: Place,
    /// Where requests go.
    pub url: Option<Located<String>>,
    /// The hosts, one of which a policy may name in the place of `url`.
    pub hosts: Vec<Located<String>>,
    /// The service that the assertion is for.
    pub applies_to: Option<Located<String>>,
    /// The key of the assertion.
    pub key: Option<Located<TokenKeyType>>,
    /// Bits of a symmetric key.
    pub key_size: Option<Located<u32>>,
    /// Whose randomness a symmetric key is made of.
    pub entropy: Option<Located<Contribution>>,
    /// The version of the assertion.
    pub version: Option<Located<SamlVersion>>,
    /// The version of WS-Trust.
    pub trust_version: Option<Located<TrustVersion>>,
    /// The version of SOAP.
    pub soap: Option<SoapVersion>,
    /// Types of claims.
    pub claims: Option<Vec<Located<String>>>,
    /// Life that is asked for.
    pub lifetime: Option<Duration>,
    /// Whether requests bring the assertion of a user, and as what it goes on.
    pub user: Option<Located<UserRole>>,
    /// Most assertions that are kept.
    pub capacity: Option<u64>,
    /// Whether an assertion that ends soon is renewed, where the token service does that.
    pub renew: Option<Located<bool>>,
    /// Whether assertions that are kept are cancelled when the gateway ends.
    pub cancel: Option<Located<bool>>,
    /// TLS towards the token service.
    pub tls: Option<TlsFiles>,
    /// How requests to the token service are secured, and its answers judged.
    pub endpoint: Option<Box<EndpointConfig>>,
}

/// Reads the table to its end.
pub(super) fn read(mut table: Table<'_>) -> TokenServiceConfig {
    let place = table.place();
    let keys = [
        ("bearer", TokenKeyType::Bearer),
        ("public-key", TokenKeyType::PublicKey),
        ("symmetric-key", TokenKeyType::SymmetricKey),
    ];
    let contributions = [
        ("both", Contribution::Both),
        ("client", Contribution::Ours),
        ("token-service", Contribution::Issuers),
    ];
    let users = [
        ("on-behalf-of", UserRole::OnBehalfOf),
        ("act-as", UserRole::ActAs),
    ];
    let assertions = [
        (SamlVersion::V20.name(), SamlVersion::V20),
        (SamlVersion::V11.name(), SamlVersion::V11),
    ];
    let versions = [
        ("1.3", TrustVersion::V13),
        ("2005-02", TrustVersion::February2005),
    ];
    let soaps = [("1.1", SoapVersion::V11), ("1.2", SoapVersion::V12)];
    let applies_to = table.required_string(
        "applies_to",
        "name the service as the token service knows it: applies_to = \"https://books.example\"",
    );
    if !table.has("endpoint") {
        table.missing(
            "endpoint",
            "say how the token service is talked to: endpoint = { security = { mechanism = \"sign\" }, … }",
        );
    }
    let endpoint = table
        .table("endpoint")
        .and_then(EndpointConfig::read_towards_token_service);
    let config = TokenServiceConfig {
        place,
        url: table.string("url"),
        hosts: table.strings("hosts").unwrap_or_default(),
        applies_to,
        key: table.choice("key", &keys),
        key_size: read_key_size(&mut table),
        entropy: table.choice("entropy", &contributions),
        version: table.choice("version", &assertions),
        trust_version: table.choice("ws_trust", &versions),
        soap: table.choice("soap", &soaps).map(|soap| soap.value),
        claims: table.strings("claims"),
        lifetime: table.duration("lifetime").map(|lifetime| lifetime.value),
        user: table.choice("user", &users),
        capacity: table
            .integer("capacity", 1, 1_000_000)
            .map(|capacity| capacity.value),
        renew: table.boolean("renew"),
        cancel: table.boolean("cancel"),
        tls: table.table("tls").and_then(TlsFiles::read),
        endpoint: endpoint.map(Box::new),
    };
    if !table.has("url") && config.hosts.is_empty() {
        table.missing(
            "url",
            "say where the token service is: url = \"https://sts.example/issue\"",
        );
    }
    table.finish();
    config
}
