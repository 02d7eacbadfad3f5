//! The table of a token service: which assertions it issues, about whom, for whom, and who may act
//! for others.
//!
//! The rule kept here: services, attributes and delegations are lists of what is allowed. Nothing
//! in them stands for everything unless it says so.

use std::time::Duration;

use soapstone_trust::{DelegationForm, KeyType, MOST_TOKENS};
use soapstone_wss::SamlVersion;

use super::document::LoadedFile;
use super::identity::{IdentityConfig, read_identity};
use super::problem::{Located, Place};
use super::saml::{AssertionIssuerConfig, VERSIONS, read_issuer};
use super::table::Table;

/// The table of a token service.
#[derive(Clone, Debug)]
pub struct StsConfig {
    /// Where the table begins.
    pub place: Place,
    /// `Issuer` of its assertions.
    pub issuer: Located<String>,
    /// The key that signs them.
    pub identity: IdentityConfig,
    /// The versions of assertions; the first one where a request names none.
    pub versions: Option<Vec<SamlVersion>>,
    /// The kinds of keys; the first one where a request names none.
    pub key_types: Vec<KeyTypeChoice>,
    /// Where these are named.
    pub key_types_place: Place,
    /// Shortest life.
    pub shortest_lifetime: Option<Located<Duration>>,
    /// Life where a request wants none in particular.
    pub lifetime: Option<Located<Duration>>,
    /// Longest life.
    pub longest_lifetime: Option<Located<Duration>>,
    /// How long after its subject authenticated an assertion may be renewed.
    pub renewable: Option<Located<Duration>>,
    /// Whether assertions are cancelled.
    pub cancellable: bool,
    /// Most requests in one message, where it may have several.
    pub batch: Option<Located<u64>>,
    /// The services that assertions are for.
    pub services: Vec<TargetServiceConfig>,
    /// What assertions say of their subjects.
    pub attributes: Vec<GrantedAttributeConfig>,
    /// What claims of other dialects mean.
    pub dialects: Vec<ClaimDialectConfig>,
    /// Who may act for whom.
    pub delegations: Vec<DelegationConfig>,
    /// Whether requesters may choose the symmetric keys of their assertions.
    pub requester_keys: bool,
    /// Other issuers whose assertions are believed.
    pub issuers: Vec<AssertionIssuerConfig>,
}

/// A kind of key that assertions have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyTypeChoice {
    /// The key of a certificate.
    PublicKey,
    /// A key that requester and service share.
    SymmetricKey,
    /// None.
    Bearer,
}

impl KeyTypeChoice {
    /// As requests name it.
    pub const fn key_type(self) -> KeyType {
        match self {
            Self::PublicKey => KeyType::PublicKey,
            Self::SymmetricKey => KeyType::SymmetricKey,
            Self::Bearer => KeyType::Bearer,
        }
    }

    /// Whether an answer with such a key tells its readers enough to be the subject.
    pub const fn is_secret(self) -> bool {
        !matches!(self, Self::PublicKey)
    }
}

/// One of `services`.
#[derive(Clone, Debug)]
pub struct TargetServiceConfig {
    /// Its address in `wsp:AppliesTo`.
    pub address: Located<String>,
    /// The audience of its assertions.
    pub audience: Option<Located<String>>,
    /// Its certificate.
    pub certificate: Option<LoadedFile>,
    /// The suite by which symmetric keys are encrypted to it.
    pub suite: Option<Located<String>>,
}

/// One of `attributes`.
#[derive(Clone, Debug)]
pub struct GrantedAttributeConfig {
    /// Of whom.
    pub subjects: PartiesConfig,
    /// The claim.
    pub claim: Located<String>,
    /// Its values.
    pub values: Vec<Located<String>>,
}

/// One of `dialects`.
#[derive(Clone, Debug)]
pub struct ClaimDialectConfig {
    /// `@Dialect` of `wst:Claims`.
    pub dialect: Located<String>,
    /// Its names, each with the claim of `attributes` that it asks for.
    pub claims: Vec<(Located<String>, Located<String>)>,
}

/// One of `delegations`.
#[derive(Clone, Debug)]
pub struct DelegationConfig {
    /// Who may act.
    pub actors: PartiesConfig,
    /// For whom.
    pub subjects: PartiesConfig,
    /// In which forms.
    pub forms: Vec<DelegationForm>,
    /// Whose assertions prove for whom, where it is not the service itself.
    pub issuer: Option<Located<String>>,
    /// The audiences of these assertions; the service itself where it says nothing.
    pub audiences: Option<Vec<Located<String>>>,
    /// Addresses of services.
    pub services: Vec<Located<String>>,
    /// Whether the actors renew what they got.
    pub renew: Option<Located<bool>>,
}

/// Users, holders of certificates, Kerberos clients, and as actors the subjects of other issuers.
#[derive(Clone, Debug)]
pub struct PartiesConfig {
    /// Where the table begins.
    pub place: Place,
    /// Names of users.
    pub users: Vec<Located<String>>,
    /// Subjects of certificates.
    pub certificates: Vec<Located<String>>,
    /// Principals of Kerberos clients.
    pub principals: Vec<Located<String>>,
    /// Subjects of other issuers.
    pub foreign: Vec<ForeignSubjectsConfig>,
    /// The format of the names of `users`, who are subjects of the issuer of a delegation.
    pub format: Option<Located<String>>,
    /// Everybody.
    pub anybody: bool,
}

/// One of the `subjects` of `actors`.
#[derive(Clone, Debug)]
pub struct ForeignSubjectsConfig {
    /// Their issuer.
    pub issuer: Located<String>,
    /// The format of their names, where it is another one than the unspecified one.
    pub format: Option<Located<String>>,
    /// Their names.
    pub names: Vec<Located<String>>,
}

/// What parties are named for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whom {
    Actors,
    Subjects,
}

const KEY_TYPES: [(&str, KeyTypeChoice); 3] = [
    ("public-key", KeyTypeChoice::PublicKey),
    ("symmetric-key", KeyTypeChoice::SymmetricKey),
    ("bearer", KeyTypeChoice::Bearer),
];

const FORMS: [(&str, DelegationForm); 2] = [
    (
        DelegationForm::OnBehalfOf.name(),
        DelegationForm::OnBehalfOf,
    ),
    (DelegationForm::ActAs.name(), DelegationForm::ActAs),
];

impl StsConfig {
    /// Reads the table to its end. `None` when something that must be there is not, which is
    /// reported.
    pub fn read(mut table: Table<'_>) -> Option<Self> {
        let place = table.place();
        let issuer = table.required_string(
            "issuer",
            "the name of the service in its assertions: issuer = \"https://sts.example\"",
        );
        if !table.has("identity") {
            table.missing(
                "identity",
                "say whose key signs assertions: identity = { key = \"….key.pem\", certificate = \"….cert.pem\" }",
            );
        }
        let identity = table.table("identity").and_then(read_identity);
        let key_types_place = table.place_of("key_types").unwrap_or(place);
        let key_types = table.choices("key_types", &KEY_TYPES);
        let key_types = key_types.unwrap_or_else(|| vec![KeyTypeChoice::PublicKey]);
        let versions = table.choices("versions", &VERSIONS);
        let shortest_lifetime = table.duration("shortest_lifetime");
        let lifetime = table.duration("lifetime");
        let longest_lifetime = table.duration("longest_lifetime");
        let renewable = table.duration("renewable");
        let cancellable = table.boolean("cancellable").is_some_and(|it| it.value);
        let batch = table.integer("batch", 2, MOST_TOKENS as u64);
        if !table.has("services") {
            table.missing(
                "services",
                "say for whom assertions are: services = [{ address = \"https://books.example/books\" }]",
            );
        }
        let services = table.tables("services");
        let services = services.into_iter().filter_map(read_service).collect();
        let attributes = table.tables("attributes");
        let attributes = attributes.into_iter().filter_map(read_attribute).collect();
        let dialects = table.tables("dialects");
        let dialects = dialects.into_iter().filter_map(read_dialect).collect();
        let delegations = table.tables("delegations");
        let delegations = delegations.into_iter().filter_map(read_delegation);
        let delegations = delegations.collect();
        let issuers = table.tables("issuers");
        let issuers = issuers.into_iter().filter_map(read_issuer).collect();
        let requester_keys = table.boolean("requester_keys").is_some_and(|it| it.value);
        table.finish();
        Some(Self {
            place,
            issuer: issuer?,
            identity: identity?,
            versions,
            key_types,
            key_types_place,
            shortest_lifetime,
            lifetime,
            longest_lifetime,
            renewable,
            cancellable,
            batch,
            services,
            attributes,
            dialects,
            delegations,
            requester_keys,
            issuers,
        })
    }

    /// Whether some of its answers tell their readers enough to be a subject.
    pub fn issues_secrets(&self) -> bool {
        self.key_types.iter().any(|one| one.is_secret())
    }
}

fn read_service(mut table: Table<'_>) -> Option<TargetServiceConfig> {
    let address = table.required_string(
        "address",
        "as requests name it in wsp:AppliesTo: address = \"https://books.example/books\"",
    );
    let audience = table.string("audience");
    let certificate = table.file("certificate");
    let suite = table.string("suite");
    table.finish();
    Some(TargetServiceConfig {
        address: address?,
        audience,
        certificate,
        suite,
    })
}

fn read_attribute(mut table: Table<'_>) -> Option<GrantedAttributeConfig> {
    let subjects = read_parties(&mut table, "subjects", Whom::Subjects);
    let claim = table.required_string(
        "claim",
        "a name of the identity claims, or a URI: claim = \"emailaddress\"",
    );
    if !table.has("values") {
        table.missing("values", "for example values = [\"reader\"]");
    }
    let values = table.strings("values");
    table.finish();
    Some(GrantedAttributeConfig {
        subjects: subjects?,
        claim: claim?,
        values: values?,
    })
}

fn read_dialect(mut table: Table<'_>) -> Option<ClaimDialectConfig> {
    let dialect = table.required_string(
        "dialect",
        "as wst:Claims has it: dialect = \"http://docs.oasis-open.org/wsfed/authorization/200706/authclaims\"",
    );
    if !table.has("claims") {
        table.missing(
            "claims",
            "say what its names mean: claims = [{ name = \"urn:example:group\", claim = \"role\" }]",
        );
    }
    let claims = table.tables("claims").into_iter().filter_map(read_meaning);
    let claims = claims.collect();
    table.finish();
    Some(ClaimDialectConfig {
        dialect: dialect?,
        claims,
    })
}

fn read_meaning(mut table: Table<'_>) -> Option<(Located<String>, Located<String>)> {
    let name = table.required_string(
        "name",
        "the Uri of an element in wst:Claims, or its expanded name: name = \"urn:example:group\"",
    );
    let claim = table.required_string("claim", "a claim of `attributes`: claim = \"role\"");
    table.finish();
    Some((name?, claim?))
}

fn read_delegation(mut table: Table<'_>) -> Option<DelegationConfig> {
    let actors = read_parties(&mut table, "actors", Whom::Actors);
    let subjects = read_parties(&mut table, "subjects", Whom::Subjects);
    if !table.has("forms") {
        table.missing("forms", "for example forms = [\"act-as\"]");
    }
    let forms = table.choices("forms", &FORMS);
    let issuer = table.string("issuer");
    let audiences = table.strings("audiences");
    if !table.has("services") {
        table.missing(
            "services",
            "name the addresses: services = [\"https://books.example/books\"]",
        );
    }
    let services = table.strings("services");
    let renew = table.boolean("renew");
    table.finish();
    Some(DelegationConfig {
        actors: actors?,
        subjects: subjects?,
        forms: forms?,
        issuer,
        audiences,
        services: services?,
        renew,
    })
}

fn read_parties(table: &mut Table<'_>, key: &'static str, whom: Whom) -> Option<PartiesConfig> {
    if !table.has(key) {
        let hint =
            format!("name them: {key} = {{ users = [\"alice\"] }}, or certificates = [\"CN=…\"]");
        table.missing(key, &hint);
    }
    let mut parties = table.table(key)?;
    // Those for whom somebody acts are subjects of the `issuer` of the delegation.
    let foreign = match whom {
        Whom::Actors => parties.tables("subjects"),
        Whom::Subjects => Vec::new(),
    };
    let format = match whom {
        Whom::Actors => None,
        Whom::Subjects => parties.string("format"),
    };
    let read = PartiesConfig {
        place: parties.place(),
        format,
        users: parties.strings("users").unwrap_or_default(),
        certificates: parties.strings("certificates").unwrap_or_default(),
        principals: parties.strings("principals").unwrap_or_default(),
        foreign: foreign
            .into_iter()
            .filter_map(read_foreign_subjects)
            .collect(),
        anybody: parties.boolean("anybody").is_some_and(|it| it.value),
    };
    let named: &[&str] = match whom {
        Whom::Actors => &["users", "certificates", "principals", "anybody", "subjects"],
        Whom::Subjects => &["users", "certificates", "principals", "anybody"],
    };
    if !named.iter().any(|key| parties.has(key)) {
        parties.missing(
            "users",
            "name users, certificates or principals; anybody = true is for everybody",
        );
    }
    parties.finish();
    Some(read)
}

fn read_foreign_subjects(mut table: Table<'_>) -> Option<ForeignSubjectsConfig> {
    let issuer = table.required_string(
        "issuer",
        "the issuer that names them: issuer = \"https://idp.example\"",
    );
    let format = table.string("format");
    if !table.has("names") {
        table.missing("names", "for example names = [\"front\"]");
    }
    let names = table.strings("names");
    table.finish();
    Some(ForeignSubjectsConfig {
        issuer: issuer?,
        format,
        names: names?,
    })
}
