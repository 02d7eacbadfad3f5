//! What a rule is: where it is written, what it is about, and how much a breach matters.
//!
//! The rule kept here: everything that is told of a rule comes from its entry in the table.

use std::fmt;
use std::str::FromStr;

/// One rule of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its number in the profile, or its name where no profile numbers it.
    pub id: &'static str,
    /// The profiles that have it.
    pub profiles: Profiles,
    /// How strongly the profile says it.
    pub level: Level,
    /// How much a breach matters.
    pub severity: Severity,
    /// The part of a message or description that it is about.
    pub area: Area,
    /// The element or attribute that is looked at.
    pub looks_at: &'static str,
    /// The clause of the specification that the rule makes stricter.
    pub clause: &'static str,
    /// What it demands, in plain English.
    pub explanation: &'static str,
    /// What to do about a breach.
    pub remedy: &'static str,
}

/// How strongly a profile says a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// `MUST` or `MUST NOT`.
    Must,
    /// `SHOULD` or `SHOULD NOT`.
    Should,
    /// No clause demands it, and another product may do otherwise and be right.
    Remark,
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::Remark => "remark",
        })
    }
}

/// How much a breach matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Another product may do something else, and be right.
    Warning,
    /// Another product may refuse it, and be right.
    Error,
}

impl Severity {
    /// Its name, as SARIF has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

macro_rules! areas {
    ($($(#[doc = $doc:literal])* $variant:ident $name:literal;)*) => {
        /// The part of a message or description that a rule is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Area {
            $($(#[doc = $doc])* $variant,)*
        }

        impl Area {
            /// All areas, in the order of the table.
            pub const ALL: &[Area] = &[$(Area::$variant,)*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

areas! {
    /// `wsu:Timestamp`.
    Timestamp "timestamp";
    /// `wsse:SecurityTokenReference`.
    Reference "token reference";
    /// `ds:Signature`.
    Signature "signature";
    /// `xenc:EncryptedKey`, `xenc:EncryptedData` and `xenc:ReferenceList`.
    Encryption "encryption";
    /// `wsse:BinarySecurityToken`.
    BinaryToken "binary token";
    /// `wsse:UsernameToken`.
    Username "username token";
    /// X.509 tokens and references to them.
    X509 "X.509 token";
    /// Licences of the Rights Expression Language.
    Rel "REL token";
    /// Kerberos tickets.
    Kerberos "Kerberos token";
    /// SAML assertions.
    Saml "SAML token";
    /// `wsse:Security` and ids.
    Header "security header";
    /// The SOAP envelope.
    Envelope "envelope";
    /// Header blocks of WS-Addressing.
    Addressing "addressing";
    /// WSDL 1.1.
    Description "description";
    /// WS-Policy and WS-SecurityPolicy.
    Policy "policy";
    /// Digikoppeling 2W-be-S and 2W-be-SE.
    Digikoppeling "Digikoppeling";
    /// `eb:Messaging` and what its message units share.
    Messaging "ebMS header";
    /// `eb:UserMessage`.
    UserMessage "ebMS user message";
    /// `eb:SignalMessage`.
    SignalMessage "ebMS signal message";
    /// Signatures and encryption of AS4 messages.
    As4Security "AS4 security";
    /// Algorithms of eDelivery AS4 1.15.
    EDelivery "eDelivery AS4";
    /// MIME packages and their parts.
    Package "MIME package";
    /// A request and its answer.
    Exchange "exchange";
}

/// A set of rules that a message or description can be held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Profile {
    /// WS-I Basic Security Profile 1.1.
    Bsp,
    /// WS-I Basic Profile 1.1.
    Bp11,
    /// WS-I Basic Profile 1.2.
    Bp12,
    /// WS-I Basic Profile 2.0.
    Bp20,
    /// How WS-Policy and WS-SecurityPolicy are used.
    Policy,
    /// Digikoppeling WUS, profiles 2W-be-S and 2W-be-SE.
    Digikoppeling,
    /// AS4 Profile of ebMS 3.0, version 1.0.
    As4,
    /// eDelivery AS4 1.15, common profile.
    EDelivery,
    /// MIME packages: SOAP Messages with Attachments and MTOM.
    Swa,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 9] = [
        Self::Bsp,
        Self::Bp11,
        Self::Bp12,
        Self::Bp20,
        Self::Policy,
        Self::Digikoppeling,
        Self::As4,
        Self::EDelivery,
        Self::Swa,
    ];

    /// The word by which it is chosen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bsp => "bsp",
            Self::Bp11 => "bp11",
            Self::Bp12 => "bp12",
            Self::Bp20 => "bp20",
            Self::Policy => "policy",
            Self::Digikoppeling => "digikoppeling",
            Self::As4 => "as4",
            Self::EDelivery => "edelivery",
            Self::Swa => "swa",
        }
    }

    /// The name of its document.
    pub fn title(self) -> &'static str {
        match self {
            Self::Bsp => "WS-I Basic Security Profile 1.1",
            Self::Bp11 => "WS-I Basic Profile 1.1",
            Self::Bp12 => "WS-I Basic Profile 1.2",
            Self::Bp20 => "WS-I Basic Profile 2.0",
            Self::Policy => "use of WS-Policy and WS-SecurityPolicy",
            Self::Digikoppeling => "Digikoppeling WUS 2W-be-S and 2W-be-SE",
            Self::As4 => "AS4 Profile of ebMS 3.0 Version 1.0",
            Self::EDelivery => "eDelivery AS4 1.15, common profile",
            Self::Swa => "MIME packages: SOAP Messages with Attachments, MTOM",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A word that names no profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileError(pub String);

impl fmt::Display for ProfileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<&str> = Profile::ALL.into_iter().map(Profile::name).collect();
        let known = known.join(", ");
        write!(out, "no profile is called `{}`; there are {known}", self.0)
    }
}

impl std::error::Error for ProfileError {}

impl FromStr for Profile {
    type Err = ProfileError;

    fn from_str(word: &str) -> Result<Self, ProfileError> {
        let found = Self::ALL.into_iter().find(|profile| profile.name() == word);
        found.ok_or_else(|| ProfileError(word.to_owned()))
    }
}

/// A set of profiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profiles(u16);

impl Profiles {
    /// No profile.
    pub const NONE: Self = Self(0);
    /// All versions of the Basic Profile.
    pub const BASIC: Self = Self::of(Profile::Bp11)
        .with(Profile::Bp12)
        .with(Profile::Bp20);
    /// All profiles of ebMS messages.
    pub const AS4: Self = Self::of(Profile::As4).with(Profile::EDelivery);

    /// One profile.
    pub const fn of(profile: Profile) -> Self {
        Self(1 << profile as u8)
    }

    /// These and one more.
    #[must_use]
    pub const fn with(self, profile: Profile) -> Self {
        Self(self.0 | 1 << profile as u8)
    }

    /// Whether a profile is among these.
    pub fn has(self, profile: Profile) -> bool {
        self.0 & 1 << profile as u8 != 0
    }

    /// Whether both have a profile in common.
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The profiles.
    pub fn iter(self) -> impl Iterator<Item = Profile> {
        Profile::ALL
            .into_iter()
            .filter(move |profile| self.has(*profile))
    }
}

impl FromIterator<Profile> for Profiles {
    fn from_iter<I: IntoIterator<Item = Profile>>(profiles: I) -> Self {
        profiles.into_iter().fold(Self::NONE, Self::with)
    }
}
