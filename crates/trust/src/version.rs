//! The versions of WS-Trust and all URIs that depend on them.
//!
//! The one rule: a URI is the namespace of a version, a slash and a path, and is put together and
//! taken apart here only.

use std::fmt;

use soapstone_crypto::{CryptoError, PHash, SymmetricKey};
use soapstone_wss::ConversationVersion;

/// A version of WS-Trust, by its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrustVersion {
    /// February 2005.
    February2005,
    /// 1.3 and 1.4, which share a namespace.
    V13,
}

impl TrustVersion {
    /// Both.
    pub const ALL: [Self; 2] = [Self::V13, Self::February2005];

    /// The version of WS-SecureConversation that goes with it.
    #[must_use]
    pub const fn conversation(self) -> ConversationVersion {
        match self {
            Self::February2005 => ConversationVersion::February2005,
            Self::V13 => ConversationVersion::V13,
        }
    }

    /// Namespace of its elements (`wst`).
    #[must_use]
    pub const fn namespace(self) -> &'static str {
        self.conversation().trust_namespace()
    }

    /// The version with this namespace.
    #[must_use]
    pub fn from_namespace(namespace: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|version| version.namespace() == namespace)
    }

    /// The URI of `path` in this version.
    #[must_use]
    pub fn uri(self, path: &str) -> String {
        format!("{}/{path}", self.namespace())
    }

    /// What follows the namespace and a slash in `uri`, if it is one of this version.
    #[must_use]
    pub fn path_of(self, uri: &str) -> Option<&str> {
        uri.strip_prefix(self.namespace())?.strip_prefix('/')
    }

    /// `TokenType` that asks for a status instead of a token (WS-Trust 1.4, 7).
    #[must_use]
    pub fn status_token_type(self) -> String {
        self.uri("RSTR/Status")
    }
}

impl From<ConversationVersion> for TrustVersion {
    fn from(version: ConversationVersion) -> Self {
        match version {
            ConversationVersion::February2005 => Self::February2005,
            ConversationVersion::V13 => Self::V13,
        }
    }
}

impl fmt::Display for TrustVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::February2005 => "WS-Trust February 2005",
            Self::V13 => "WS-Trust 1.3",
        })
    }
}

/// What is done with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A new token (WS-Trust 1.4, 4; WS-SecureConversation 1.4, 3).
    Issue,
    /// A token with a later end, and in our case a new key (WS-Trust 1.4, 5; WS-SecureConversation
    /// 1.4, 5).
    Renew,
    /// More claims for a security context (WS-SecureConversation 1.4, 4).
    Amend,
    /// The end of a token (WS-Trust 1.4, 6; WS-SecureConversation 1.4, 6).
    Cancel,
    /// Whether a token is good (WS-Trust 1.4, 7).
    Validate,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Issue,
        Self::Renew,
        Self::Amend,
        Self::Cancel,
        Self::Validate,
    ];

    /// Its word in URIs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Issue => "Issue",
            Self::Renew => "Renew",
            Self::Amend => "Amend",
            Self::Cancel => "Cancel",
            Self::Validate => "Validate",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// `wst:RequestType`: an operation, alone or as one of several in a
/// `RequestSecurityTokenCollection`.
///
/// Amending has no request type of its own: its requests say `Issue`, and the action says the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestType {
    /// What is asked for.
    pub operation: Operation,
    /// One of several (WS-Trust 1.4, 4.2).
    pub batch: bool,
}

impl RequestType {
    /// The type of a single request.
    #[must_use]
    pub const fn single(operation: Operation) -> Self {
        Self {
            operation,
            batch: false,
        }
    }

    /// Its URI.
    #[must_use]
    pub fn uri(self, version: TrustVersion) -> String {
        let word = match self.operation {
            Operation::Amend => Operation::Issue.word(),
            operation => operation.word(),
        };
        version.uri(&format!("{}{word}", if self.batch { "Batch" } else { "" }))
    }

    /// The type with this URI. Batches came with 1.3.
    #[must_use]
    pub fn from_uri(version: TrustVersion, uri: &str) -> Option<Self> {
        let path = version.path_of(uri)?;
        let (word, batch) = match (version, path.strip_prefix("Batch")) {
            (TrustVersion::V13, Some(word)) => (word, true),
            _ => (path, false),
        };
        let operation = Operation::ALL
            .into_iter()
            .find(|operation| operation.word() == word)?;
        Some(Self { operation, batch })
    }
}

/// The value of `wsa:Action` (and `SOAPAction`) of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Action {
    /// The version in whose namespace the URI lies.
    pub version: TrustVersion,
    /// What is asked for.
    pub operation: Operation,
    /// Whether the URI is one of WS-SecureConversation (`RST/SCT…`) rather than of WS-Trust
    /// (`RST/…`).
    pub context: bool,
    /// Whether several are asked for at once.
    pub batch: bool,
}

impl Action {
    /// The action of a single request about a security context.
    #[must_use]
    pub const fn of_context(version: TrustVersion, operation: Operation) -> Self {
        Self {
            version,
            operation,
            context: true,
            batch: false,
        }
    }

    /// The action with this URI; `None` if it asks for nothing of WS-Trust, so that the message is
    /// meant for the application.
    ///
    /// ```
    /// use soapstone_trust::{Action, Operation};
    ///
    /// let uri = "http://docs.oasis-open.org/ws-sx/ws-trust/200512/RST/SCT/Renew";
    /// let action = Action::from_uri(uri).unwrap();
    /// assert_eq!(action.operation, Operation::Renew);
    /// assert_eq!(Action::from_uri("urn:books/list"), None);
    /// ```
    #[must_use]
    pub fn from_uri(uri: &str) -> Option<Self> {
        TrustVersion::ALL.into_iter().find_map(|version| {
            let path = version.path_of(uri)?;
            let (path, context) = match path.strip_prefix("RST/") {
                Some("SCT") => ("Issue", true),
                Some(path) => match path.strip_prefix("SCT/") {
                    // `RST/SCT` alone is how contexts are issued.
                    Some("Issue") => return None,
                    Some(path) => (path, true),
                    None => (path, false),
                },
                // Collections go under their request type.
                None if path.starts_with("Batch") => (path, false),
                None => return None,
            };
            let RequestType { operation, batch } =
                RequestType::from_uri(version, &version.uri(path))?;
            let possible = match operation {
                Operation::Amend => context,
                Operation::Validate => !context,
                _ => true,
            };
            (possible && !(batch && context)).then_some(Self {
                version,
                operation,
                context,
                batch,
            })
        })
    }

    /// The URI of the request.
    #[must_use]
    pub fn request_uri(self) -> String {
        let word = self.operation.word();
        self.version.uri(&match (self.batch, self.context) {
            (true, _) => format!("Batch{word}"),
            (false, true) if self.operation == Operation::Issue => "RST/SCT".to_owned(),
            (false, true) => format!("RST/SCT/{word}"),
            (false, false) => format!("RST/{word}"),
        })
    }

    /// The URI of the answer. February 2005 and WS-SecureConversation write `RSTR` for `RST`;
    /// WS-Trust 1.3 answers finally, and with a collection to a request for tokens.
    #[must_use]
    pub fn answer_uri(self) -> String {
        let word = self.operation.word();
        let collection = self.batch || self.operation == Operation::Issue;
        self.version.uri(&match (self.version, self.context) {
            (_, true) if self.operation == Operation::Issue => "RSTR/SCT".to_owned(),
            (_, true) => format!("RSTR/SCT/{word}"),
            (TrustVersion::February2005, false) => format!("RSTR/{word}"),
            (TrustVersion::V13, false) if collection => format!("RSTRC/{word}Final"),
            (TrustVersion::V13, false) => format!("RSTR/{word}Final"),
        })
    }
}

/// `wst:KeyType` (WS-Trust 1.4, 9.2).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// A shared key. The only one that a security context can have.
    SymmetricKey,
    /// A key pair.
    PublicKey,
    /// None.
    Bearer,
    /// Another URI.
    Other(String),
}

impl KeyType {
    /// The type with this URI.
    #[must_use]
    pub fn from_uri(version: TrustVersion, uri: &str) -> Self {
        match version.path_of(uri) {
            _ if uri == NO_PROOF_KEY => Self::Bearer,
            Some("SymmetricKey") => Self::SymmetricKey,
            Some("PublicKey") => Self::PublicKey,
            Some("Bearer") => Self::Bearer,
            _ => Self::Other(uri.to_owned()),
        }
    }

    /// Its URI.
    #[must_use]
    pub fn uri(&self, version: TrustVersion) -> String {
        match self {
            Self::SymmetricKey => version.uri("SymmetricKey"),
            Self::PublicKey => version.uri("PublicKey"),
            Self::Bearer if version == TrustVersion::February2005 => NO_PROOF_KEY.to_owned(),
            Self::Bearer => version.uri("Bearer"),
            Self::Other(uri) => uri.clone(),
        }
    }
}

/// The key type of bearer tokens before WS-Trust 1.3 had one.
const NO_PROOF_KEY: &str = "http://schemas.xmlsoap.org/ws/2005/05/identity/NoProofKey";

/// How the key of a token is computed from the entropy of both sides (WS-Trust 1.4, 4.4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ComputedKey {
    /// `CK/PSHA1`, the one algorithm that everybody has. SHA-1 serves as an HMAC here, where its
    /// collisions do no harm.
    #[default]
    PSha1,
    /// `CK/PSHA256`: the same with SHA-256. No version of the specification names it; the URI is
    /// made like that of the other. Only for peers that are known to have it.
    PSha256,
}

impl ComputedKey {
    /// The algorithm with this URI.
    #[must_use]
    pub fn from_uri(version: TrustVersion, uri: &str) -> Option<Self> {
        match version.path_of(uri)? {
            "CK/PSHA1" => Some(Self::PSha1),
            "CK/PSHA256" => Some(Self::PSha256),
            _ => None,
        }
    }

    /// Its URI.
    #[must_use]
    pub fn uri(self, version: TrustVersion) -> String {
        version.uri(match self {
            Self::PSha1 => "CK/PSHA1",
            Self::PSha256 => "CK/PSHA256",
        })
    }

    /// The key: as many bytes as wanted of `P_hash(requestor's entropy, issuer's entropy)`.
    ///
    /// # Errors
    /// [`CryptoError::KeyLength`] for 0 bytes and for absurdly many.
    pub fn compute(
        self,
        requestor: &[u8],
        issuer: &[u8],
        octets: usize,
    ) -> Result<SymmetricKey, CryptoError> {
        let function = match self {
            Self::PSha1 => PHash::SHA1,
            Self::PSha256 => PHash::SHA256,
        };
        SymmetricKey::from_secret(function.derive(requestor, &[issuer], 0, octets)?)
    }
}

/// What a `wst:BinarySecret` holds (WS-Trust 1.4, 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SecretType {
    /// A shared key.
    SymmetricKey,
    /// One side's part of a shared key.
    Nonce,
}

impl SecretType {
    /// The type with this URI. Private keys (`AsymmetricKey`) are never taken.
    #[must_use]
    pub fn from_uri(version: TrustVersion, uri: &str) -> Option<Self> {
        match version.path_of(uri)? {
            "SymmetricKey" => Some(Self::SymmetricKey),
            "Nonce" => Some(Self::Nonce),
            _ => None,
        }
    }

    /// Its URI.
    #[must_use]
    pub fn uri(self, version: TrustVersion) -> String {
        version.uri(match self {
            Self::SymmetricKey => "SymmetricKey",
            Self::Nonce => "Nonce",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_of_a_request_is_read_as_it_is_written() {
        for version in TrustVersion::ALL {
            for operation in Operation::ALL {
                for (context, batch) in [(false, false), (true, false), (false, true)] {
                    let action = Action {
                        version,
                        operation,
                        context,
                        batch,
                    };
                    let possible = match operation {
                        Operation::Amend => context,
                        Operation::Validate => !context,
                        _ => true,
                    } && (!batch || version == TrustVersion::V13);
                    assert_eq!(
                        Action::from_uri(&action.request_uri()),
                        possible.then_some(action),
                        "{}",
                        action.request_uri()
                    );
                }
            }
        }
    }

    /// As CXF, WCF and WebLogic have them.
    #[test]
    fn answers_have_the_actions_that_clients_expect() {
        for (request, answer) in [
            (
                "http://schemas.xmlsoap.org/ws/2005/02/trust/RST/SCT",
                "http://schemas.xmlsoap.org/ws/2005/02/trust/RSTR/SCT",
            ),
            (
                "http://docs.oasis-open.org/ws-sx/ws-trust/200512/RST/SCT",
                "http://docs.oasis-open.org/ws-sx/ws-trust/200512/RSTR/SCT",
            ),
            (
                "http://docs.oasis-open.org/ws-sx/ws-trust/200512/RST/SCT/Cancel",
                "http://docs.oasis-open.org/ws-sx/ws-trust/200512/RSTR/SCT/Cancel",
            ),
            (
                "http://schemas.xmlsoap.org/ws/2005/02/trust/RST/Issue",
                "http://schemas.xmlsoap.org/ws/2005/02/trust/RSTR/Issue",
            ),
            (
                "http://docs.oasis-open.org/ws-sx/ws-trust/200512/RST/Issue",
                "http://docs.oasis-open.org/ws-sx/ws-trust/200512/RSTRC/IssueFinal",
            ),
            (
                "http://docs.oasis-open.org/ws-sx/ws-trust/200512/RST/Validate",
                "http://docs.oasis-open.org/ws-sx/ws-trust/200512/RSTR/ValidateFinal",
            ),
        ] {
            assert_eq!(Action::from_uri(request).unwrap().answer_uri(), answer);
        }
    }

    #[test]
    fn what_only_looks_like_an_action_is_none() {
        for uri in [
            "http://docs.oasis-open.org/ws-sx/ws-trust/200512",
            "http://docs.oasis-open.org/ws-sx/ws-trust/200512/",
            "http://docs.oasis-open.org/ws-sx/ws-trust/200512/RST/",
            "http://docs.oasis-open.org/ws-sx/ws-trust/200512/RST/SCT/",
            "http://docs.oasis-open.org/ws-sx/ws-trust/200512/RST/SCT/Issue",
            "http://docs.oasis-open.org/ws-sx/ws-trust/200512/RST/SCT/BatchRenew",
            "http://docs.oasis-open.org/ws-sx/ws-trust/200512/Issue",
            "http://docs.oasis-open.org/ws-sx/ws-trust/200512/RSTR/SCT",
            "http://schemas.xmlsoap.org/ws/2005/02/trust/BatchIssue",
            "http://example.org/RST/SCT",
        ] {
            assert_eq!(Action::from_uri(uri), None, "{uri}");
        }
    }

    /// OpenSSL's `TLS1-PRF` with SHA-1 is the same function: `openssl kdf -keylen 40 -kdfopt
    /// digest:SHA1 … TLS1-PRF`.
    #[test]
    fn computed_keys_are_the_start_of_the_stream_that_openssl_gives() {
        let requestor: Vec<u8> = (0x00..0x20).collect();
        let issuer: Vec<u8> = (0x20..0x40).collect();
        let key = ComputedKey::PSha1.compute(&requestor, &issuer, 40).unwrap();
        assert_eq!(
            key.expose(),
            [
                0xdf, 0x59, 0x13, 0x2c, 0x2a, 0xf6, 0xd2, 0x30, 0xe4, 0x33, 0x77, 0x32, 0x07, 0x6a,
                0x14, 0x56, 0x16, 0x94, 0xbe, 0x12, 0x83, 0x8c, 0xc0, 0x02, 0x03, 0xd6, 0x3c, 0x81,
                0x66, 0x53, 0xd7, 0x5b, 0xa7, 0xc5, 0x9c, 0xea, 0xf7, 0xb9, 0x6b, 0xbf
            ]
        );
    }
}
