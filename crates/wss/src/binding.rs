//! With which keys messages are protected, how messages name them, and in which order protection
//! and header elements stand.

use soapstone_crypto::KeyKind;

use crate::conversation::DerivedKeyPolicy;
use crate::kerberos::KerberosPolicy;
use crate::username::PasswordKeyPolicy;

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
    /// The session key of a Kerberos token.
    Kerberos,
    /// The proof key of an assertion: a symmetric key of its holder.
    Assertion,
    /// A key that is derived from the password of the user whom a `UsernameToken` names.
    Password,
}

/// How a message names a key (SOAP Message Security 1.1.1, 7; X.509 Token Profile 1.1.1, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyReference {
    /// A `BinarySecurityToken` in the header and a `Reference` to it.
    Direct,
    /// As [`Direct`](Self::Direct), and the token holds the path of the certificate to an
    /// authority (`X509PKIPathv1`).
    PkiPath,
    /// `KeyIdentifier` with the subject key identifier.
    SubjectKeyIdentifier,
    /// `KeyIdentifier` with the SHA-1 of the certificate.
    Thumbprint,
    /// `X509IssuerSerial`, with the issuer's name as RFC 4514 has it.
    IssuerSerial,
    /// As [`IssuerSerial`](Self::IssuerSerial), with the issuer's name as .NET writes and reads it:
    /// values with commas stand in quotes.
    IssuerSerialQuoted,
    /// As [`IssuerSerial`](Self::IssuerSerial), and the certificate behind it in one `ds:X509Data`:
    /// two names of one key, as libraries for XML signatures write them.
    IssuerSerialAndCertificate,
    /// The token inside the reference.
    Embedded,
    /// `ds:KeyName` (the subject of a certificate, or the name of a shared key).
    KeyName,
    /// `ds:X509Data` with the certificate, in no `wsse:SecurityTokenReference` (against BSP 1.1,
    /// R5417, as all that follow here).
    X509Data,
    /// `ds:X509Data` with the subject key identifier.
    X509Ski,
    /// `ds:X509Data` with issuer and serial number.
    X509IssuerSerial,
    /// `ds:X509Data` with issuer and serial number, and the certificate.
    X509IssuerSerialAndCertificate,
    /// `ds:KeyValue`, or `dsig11:DEREncodedKeyValue`: the public key itself.
    KeyValue,
    /// The same of an RSA key alone (`sp:RsaKeyValue`; WS-SecurityPolicy 1.3, 5.4.11).
    RsaKeyValue,
    /// `KeyIdentifier` with the SHA-1 of the wrapped key: for [`KeyBinding::RequestKey`] and shared
    /// keys.
    EncryptedKeySha1,
}

impl KeyReference {
    /// Every way that configuration files name.
    pub const ALL: [Self; 15] = [
        Self::Direct,
        Self::PkiPath,
        Self::SubjectKeyIdentifier,
        Self::Thumbprint,
        Self::IssuerSerial,
        Self::IssuerSerialQuoted,
        Self::IssuerSerialAndCertificate,
        Self::Embedded,
        Self::KeyName,
        Self::X509Data,
        Self::X509Ski,
        Self::X509IssuerSerial,
        Self::X509IssuerSerialAndCertificate,
        Self::KeyValue,
        Self::EncryptedKeySha1,
    ];

    /// Its name in configuration files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::PkiPath => "pki-path",
            Self::SubjectKeyIdentifier => "ski",
            Self::Thumbprint => "thumbprint",
            Self::IssuerSerial => "issuer-serial",
            Self::IssuerSerialQuoted => "issuer-serial-quoted",
            Self::IssuerSerialAndCertificate => "issuer-serial-certificate",
            Self::Embedded => "embedded",
            Self::KeyName => "key-name",
            Self::X509Data => "x509-data",
            Self::X509Ski => "x509-ski",
            Self::X509IssuerSerial => "x509-issuer-serial",
            Self::X509IssuerSerialAndCertificate => "x509-issuer-serial-certificate",
            Self::KeyValue | Self::RsaKeyValue => "key-value",
            Self::EncryptedKeySha1 => "encrypted-key-sha1",
        }
    }

    /// Whether the header has a `BinarySecurityToken` for it.
    pub const fn has_token(self) -> bool {
        matches!(self, Self::Direct | Self::PkiPath)
    }

    /// Whether the certificate is inside of it.
    pub const fn holds_certificate(self) -> bool {
        matches!(
            self,
            Self::Embedded
                | Self::X509Data
                | Self::IssuerSerialAndCertificate
                | Self::X509IssuerSerialAndCertificate
        )
    }

    /// Whether it is the public key itself.
    pub const fn is_written_out(self) -> bool {
        matches!(self, Self::KeyValue | Self::RsaKeyValue)
    }

    /// Whether it can name a key of this kind.
    pub const fn fits(self, key: KeyKind) -> bool {
        !matches!(self, Self::RsaKeyValue) || matches!(key, KeyKind::Rsa { .. })
    }

    /// Whether it names a certificate, and not a symmetric key.
    pub const fn names_certificates(self) -> bool {
        !matches!(self, Self::EncryptedKeySha1)
    }

    /// Whether it names a key that both sides hold, which has a name and no certificate.
    pub const fn names_shared_keys(self) -> bool {
        matches!(self, Self::KeyName | Self::EncryptedKeySha1)
    }

    /// Whether a signature can cover the certificate through it: the STR Dereference Transform
    /// starts from a `wsse:SecurityTokenReference` (SOAP Message Security 1.1.1, 8.3), and of one
    /// that names the certificate twice nobody says which name it follows.
    pub const fn is_dereferenced(self) -> bool {
        match self {
            Self::Direct
            | Self::PkiPath
            | Self::SubjectKeyIdentifier
            | Self::Thumbprint
            | Self::IssuerSerial
            | Self::IssuerSerialQuoted
            | Self::Embedded
            | Self::KeyName => true,
            Self::IssuerSerialAndCertificate
            | Self::X509Data
            | Self::X509Ski
            | Self::X509IssuerSerial
            | Self::X509IssuerSerialAndCertificate
            | Self::KeyValue
            | Self::RsaKeyValue
            | Self::EncryptedKeySha1 => false,
        }
    }
}

/// How messages name a security context or a Kerberos session: by its token, or by its identifier.
pub(crate) const fn context_reference(carried: bool) -> KeyReference {
    match carried {
        true => KeyReference::Direct,
        false => KeyReference::KeyName,
    }
}

/// To whom session keys are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Recipient {
    /// The configured peer.
    Peer,
    /// Whoever signed the request: for a service with many clients.
    Requester,
    /// The holder of the assertion of the request, whom answers name by the assertion: it is their
    /// token, and no answer has it (WS-SecurityPolicy 1.3, 5.1.1). Without one, as `Requester`.
    Holder,
}

impl Recipient {
    /// Whether the request says who it is.
    pub(crate) const fn is_of_request(self) -> bool {
        match self {
            Self::Peer => false,
            Self::Requester | Self::Holder => true,
        }
    }
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

/// The keys that protect messages, and the order of protection (WS-SecurityPolicy 1.3, 7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// No key protects messages.
    None,
    /// The connection protects messages as a whole (7.3). Nothing here can see the connection;
    /// whoever writes this sees to it.
    Transport,
    /// One symmetric key signs and encrypts (7.4).
    Symmetric(SymmetricBinding),
    /// Certificates sign and encrypt (7.5).
    Asymmetric(AsymmetricBinding),
}

/// A symmetric key that signs and encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SymmetricBinding {
    /// The key.
    pub key: SymmetricToken,
    /// Whether signing and encrypting keys are derived from it, instead of being it.
    pub derived_keys: Option<DerivedKeyPolicy>,
    /// Which comes first where a part is both signed and encrypted.
    pub order: ProtectionOrder,
}

/// A symmetric key, and how messages that we make name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SymmetricToken {
    /// The key that both sides hold.
    Shared(KeyReference),
    /// The session key that the request carried: responses refer to it by `EncryptedKeySHA1`.
    Request,
    /// A fresh session key, wrapped to the receiver's certificate, which messages name. It proves
    /// nothing about the sender.
    Session(KeyReference),
    /// The key of a security context.
    Context {
        /// Whether messages carry its token, instead of naming it.
        carried: bool,
    },
    /// The session key of a Kerberos token (Kerberos Token Profile 1.1).
    Kerberos(KerberosPolicy),
    /// The proof key of the assertion that messages have. Answers are protected with that of their
    /// request, and have none.
    Assertion {
        /// Whether messages name the assertion by a reference to its place in them, instead of by
        /// its id. Answers have the id.
        by_place: bool,
    },
    /// A key that is derived from the password of a user. Messages carry its token.
    Password(PasswordKeyPolicy),
}

/// Certificates that sign and encrypt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AsymmetricBinding {
    /// How messages that we make name the certificate of the sender, whose private key signs. A
    /// message of which nothing is signed carries the certificate nevertheless, where this
    /// [has a token](KeyReference::has_token).
    pub signature: Option<KeyReference>,
    /// The key that encrypts.
    pub encryption: Option<EncryptionToken>,
    /// Which comes first where a part is both signed and encrypted.
    pub order: ProtectionOrder,
}

/// A key that encrypts beside a certificate that signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EncryptionToken {
    /// The key.
    pub key: EncryptionKey,
    /// Whether the key that encrypts is derived from it, instead of being it.
    pub derived_keys: Option<DerivedKeyPolicy>,
}

/// A symmetric key that encrypts beside a certificate that signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EncryptionKey {
    /// A fresh session key, wrapped to a certificate.
    Certificate {
        /// How messages that we make name the certificate.
        reference: KeyReference,
        /// Whose certificate it is.
        recipient: Recipient,
    },
    /// The session key that the request carried.
    Request,
}

impl Binding {
    /// Whether it has a key that signs parts of messages.
    pub fn signs(&self) -> bool {
        match self {
            Self::None | Self::Transport => false,
            Self::Symmetric(_) => true,
            Self::Asymmetric(binding) => binding.signature.is_some(),
        }
    }

    /// Whether it has a key that encrypts parts of messages.
    pub fn encrypts(&self) -> bool {
        match self {
            Self::None | Self::Transport => false,
            Self::Symmetric(_) => true,
            Self::Asymmetric(binding) => binding.encryption.is_some(),
        }
    }
}

impl Binding {
    /// Wraps session keys to the certificate of another recipient. The holder of an assertion is a
    /// requester already, and stays the holder.
    pub fn wrap_to(&mut self, wanted: Recipient) {
        if let Self::Asymmetric(binding) = self
            && let Some(encryption) = &mut binding.encryption
            && let EncryptionKey::Certificate { recipient, .. } = &mut encryption.key
            && (*recipient, wanted) != (Recipient::Holder, Recipient::Requester)
        {
            *recipient = wanted;
        }
    }

    /// Has messages name every key in one way, as far as there is a choice.
    pub fn name_keys(&mut self, named: KeyReference) {
        if let Self::Symmetric(binding) = self
            && let SymmetricToken::Context { carried }
            | SymmetricToken::Assertion { by_place: carried }
            | SymmetricToken::Kerberos(KerberosPolicy { carried, .. }) = &mut binding.key
        {
            *carried = named == KeyReference::Direct;
        }
        self.name_signing_key(named);
        self.name_encrypting_key(named);
    }

    /// Has messages name the key that signs in one way; says whether there is a choice.
    pub fn name_signing_key(&mut self, named: KeyReference) -> bool {
        let reference = match self {
            Self::None | Self::Transport => None,
            Self::Symmetric(binding) => binding.key.reference_mut(),
            Self::Asymmetric(binding) => binding.signature.as_mut(),
        };
        reference.map(|reference| *reference = named).is_some()
    }

    /// Has messages name the key that encrypts, or the certificate that session keys are wrapped
    /// to, in one way; says whether there is a choice.
    pub fn name_encrypting_key(&mut self, named: KeyReference) -> bool {
        let reference = match self {
            Self::None | Self::Transport => None,
            Self::Symmetric(binding) => binding.key.reference_mut(),
            Self::Asymmetric(binding) => {
                let key = binding
                    .encryption
                    .as_mut()
                    .map(|encryption| &mut encryption.key);
                match key {
                    Some(EncryptionKey::Certificate { reference, .. }) => Some(reference),
                    Some(EncryptionKey::Request) | None => None,
                }
            }
        };
        reference.map(|reference| *reference = named).is_some()
    }
}

impl SymmetricToken {
    /// The kind of the key.
    pub const fn kind(&self) -> KeyBinding {
        match self {
            Self::Shared(_) => KeyBinding::Shared,
            Self::Request => KeyBinding::RequestKey,
            Self::Session(_) => KeyBinding::SessionKey,
            Self::Context { .. } => KeyBinding::Context,
            Self::Kerberos(_) => KeyBinding::Kerberos,
            Self::Assertion { .. } => KeyBinding::Assertion,
            Self::Password(_) => KeyBinding::Password,
        }
    }

    /// How messages name it, where there is a choice.
    const fn reference_mut(&mut self) -> Option<&mut KeyReference> {
        match self {
            Self::Shared(reference) | Self::Session(reference) => Some(reference),
            Self::Request
            | Self::Context { .. }
            | Self::Kerberos(_)
            | Self::Assertion { .. }
            | Self::Password(_) => None,
        }
    }

    /// How messages name it.
    pub const fn reference(&self) -> KeyReference {
        match self {
            Self::Shared(reference) | Self::Session(reference) => *reference,
            Self::Request => KeyReference::EncryptedKeySha1,
            Self::Context { carried } | Self::Assertion { by_place: carried } => {
                context_reference(*carried)
            }
            Self::Kerberos(kerberos) => context_reference(kerberos.carried),
            Self::Password(_) => KeyReference::Direct,
        }
    }
}

impl EncryptionToken {
    /// A session key that is wrapped to the certificate of the peer, and encrypts itself.
    pub const fn wrapped(reference: KeyReference) -> Self {
        Self {
            key: EncryptionKey::Certificate {
                reference,
                recipient: Recipient::Peer,
            },
            derived_keys: None,
        }
    }
}
