//! With which keys messages are protected, how messages name them, and in which order protection
//! and header elements stand.

/// Which key signs or encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyBinding {
    /// Certificates: the sender signs with its private key, and wraps a fresh session key to the
    /// receiver's certificate.
    Certificate,
    /// One symmetric key that both sides hold.
    Shared,
    /// The session key that the request carried: responses refer to it by `EncryptedKeySHA1`.
    RequestKey,
    /// A fresh session key, wrapped to the receiver's certificate, that signs and encrypts: the
    /// symmetric binding of WS-SecurityPolicy 1.3, 7.4. It proves nothing about the sender.
    SessionKey,
    /// The key of a security context, named by a `SecurityContextToken`.
    Context,
}

/// How a message names a key (SOAP Message Security 1.1.1, 7; X.509 Token Profile 1.1.1, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyReference {
    /// A `BinarySecurityToken` in the header and a `Reference` to it.
    Direct,
    /// `KeyIdentifier` with the subject key identifier.
    SubjectKeyIdentifier,
    /// `KeyIdentifier` with the SHA-1 of the certificate.
    Thumbprint,
    /// `X509IssuerSerial`.
    IssuerSerial,
    /// The token inside the reference.
    Embedded,
    /// `ds:KeyName` (the subject of a certificate, or the name of a shared key).
    KeyName,
    /// `KeyIdentifier` with the SHA-1 of the wrapped key: for [`KeyBinding::RequestKey`] and shared
    /// keys.
    EncryptedKeySha1,
}

impl KeyReference {
    /// Every way.
    pub const ALL: [Self; 7] = [
        Self::Direct,
        Self::SubjectKeyIdentifier,
        Self::Thumbprint,
        Self::IssuerSerial,
        Self::Embedded,
        Self::KeyName,
        Self::EncryptedKeySha1,
    ];

    /// Its name in configuration files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::SubjectKeyIdentifier => "ski",
            Self::Thumbprint => "thumbprint",
            Self::IssuerSerial => "issuer-serial",
            Self::Embedded => "embedded",
            Self::KeyName => "key-name",
            Self::EncryptedKeySha1 => "encrypted-key-sha1",
        }
    }
}

/// To whom session keys are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recipient {
    /// The configured peer.
    Peer,
    /// Whoever signed the request: for a service with many clients.
    Requester,
}

/// Order of protection of parts that are signed and encrypted (WS-SecurityPolicy 1.3, 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProtectionOrder {
    /// The signature covers the plain text.
    SignBeforeEncrypting,
    /// The signature covers the cipher text.
    EncryptBeforeSigning,
}

/// Order of the elements of the `wsse:Security` header (WS-SecurityPolicy 1.3, 6.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Tokens stand before they are used.
    Strict,
    /// Any order that can be processed.
    #[default]
    Lax,
    /// As `Lax`, and the Timestamp is first.
    LaxTimestampFirst,
    /// As `Lax`, and the Timestamp is last.
    LaxTimestampLast,
}

impl Layout {
    /// Whether it says where the Timestamp stands, so that messages need one.
    #[must_use]
    pub const fn places_timestamp(self) -> bool {
        matches!(self, Self::LaxTimestampFirst | Self::LaxTimestampLast)
    }
}
