//! Tokens that somebody else makes: assertions of an issuer and tickets of a KDC, and what the two
//! endpoints say of them.
//!
//! The rule kept here: the files can be read as they stand, and each name in them that only the
//! parties know has a comment.

use soapstone::policy::{ExchangePolicy, IssuedKey};
use soapstone::wss::{ConfirmationMethod, KerberosForm, KeyBinding, SamlVersion};

/// The certificate and key that stand in for the issuer's.
pub(super) const ISSUER: &str = "issuer";

/// The file that stands in for the keytab of the service.
pub(super) const KEYTAB: &str = "http.keytab";

/// The file that stands in for an assertion of the issuer's.
pub(super) const ASSERTION: &str = "client.saml.xml";

/// Where the client has its assertion from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// A file, which begins each conversation.
    File,
    /// Each plain request, for the user who sends it.
    Request,
    /// A token service, which is asked.
    TokenService,
}

/// What shows that a request is of the subject of an assertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shown {
    /// That the sender has the assertion.
    Borne,
    /// The word of whoever signs the request.
    Vouched,
    /// The client's own key, which the assertion names.
    Held,
}

/// A token of requests that neither side makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Foreign {
    /// An assertion.
    Assertion {
        /// How the sender is confirmed.
        confirmation: ConfirmationMethod,
        /// The client asks a token service for it.
        is_issued: bool,
        /// Its key is symmetric, and the service deciphers it.
        is_symmetric: bool,
        /// Its version.
        version: SamlVersion,
    },
    /// A Kerberos token.
    Ticket(KerberosForm),
}

impl Foreign {
    /// That of an agreement, if it has one.
    pub(super) fn of(agreement: &ExchangePolicy) -> Option<Self> {
        let request = &agreement.request;
        if let Some(kerberos) = request.kerberos() {
            return Some(Self::Ticket(kerberos.form));
        }
        let assertion = request.assertion()?;
        let is_symmetric = request.uses_proof_key();
        let confirmation = match *assertion.methods.as_slice() {
            [ConfirmationMethod::HolderOfKey] => ConfirmationMethod::HolderOfKey,
            // The key of what is asked for decides, whatever else signs.
            _ if agreement.issued.is_some() && !is_symmetric => {
                match agreement.issued.as_ref().and_then(|it| it.key_type) {
                    Some(IssuedKey::PublicKey) => ConfirmationMethod::HolderOfKey,
                    _ => ConfirmationMethod::Bearer,
                }
            }
            // Whoever signs the message speaks for the user; over TLS nobody signs.
            _ if request.signs_with() == Some(KeyBinding::Certificate) => {
                ConfirmationMethod::SenderVouches
            }
            _ => ConfirmationMethod::Bearer,
        };
        Some(Self::Assertion {
            confirmation,
            is_issued: agreement.issued.is_some() || is_symmetric,
            is_symmetric,
            version: *assertion.versions.first()?,
        })
    }

    /// Where the client has its assertion from. Conversations are the client's own, and each
    /// begins with the same assertion.
    pub(super) fn source(self, converses: bool) -> Option<Source> {
        match self {
            Self::Assertion {
                is_issued: true, ..
            } => Some(Source::TokenService),
            Self::Assertion { .. } if converses => Some(Source::File),
            Self::Assertion { .. } => Some(Source::Request),
            Self::Ticket(_) => None,
        }
    }

    /// What shows whose request it is, and the version of the assertion.
    pub(super) fn shown(self) -> Option<(Shown, SamlVersion)> {
        let Self::Assertion {
            confirmation,
            version,
            ..
        } = self
        else {
            return None;
        };
        let shown = match confirmation {
            ConfirmationMethod::HolderOfKey => Shown::Held,
            ConfirmationMethod::SenderVouches => Shown::Vouched,
            ConfirmationMethod::Bearer => Shown::Borne,
        };
        Some((shown, version))
    }

    /// Whether the client has a key of its own because of it.
    pub(super) fn takes_client_key(self, converses: bool) -> bool {
        // Whoever asks a token service signs the request.
        self.source(converses) == Some(Source::TokenService) || self.holds_client_key()
    }

    /// Whether the client's key signs messages with the service because of it.
    pub(super) fn holds_client_key(self) -> bool {
        matches!(
            self,
            Self::Assertion {
                confirmation: ConfirmationMethod::HolderOfKey,
                is_symmetric: false,
                ..
            }
        )
    }

    /// The table of the service.
    pub(super) fn of_service(self) -> String {
        match self {
            Self::Assertion { confirmation, .. } => {
                let attesters = match confirmation {
                    ConfirmationMethod::SenderVouches => {
                        "# Who may vouch for users: the subjects of certificates that sign requests.\n\
                         attesters = [\"CN=client\"]\n"
                    }
                    _ => "",
                };
                format!(
                    "# Whose assertions are accepted: docs/saml.md.\n[routes.inbound.saml]\n\
                     confirmation = [\"{}\"]\n{attesters}\
                     # FILL IN: this service, as the issuer names it in its assertions.\n\
                     audience = [\"https://service.example\"]\n\
                     # FILL IN: saml:Issuer, letter by letter, and the issuer's certificate in the place of {ISSUER}.cert.pem.\n\
                     issuers = [{{ name = \"https://issuer.example\", pinned = [\"{ISSUER}.cert.pem\"] }}]",
                    confirmation.name()
                )
            }
            Self::Ticket(form) => format!(
                "# Whose tickets are accepted: docs/kerberos.md.\n[routes.inbound.kerberos]\n\
                 # FILL IN: {KEYTAB} is empty. Put the keytab of the service in its place, and its principal here.\n\
                 keytab = \"{KEYTAB}\"\nprincipal = \"{PRINCIPAL}\"{}",
                form_of(form)
            ),
        }
    }

    /// The table of the client, whose messages belong to conversations or do not.
    pub(super) fn of_client(self, converses: bool) -> String {
        match self {
            Self::Assertion {
                confirmation,
                is_issued: false,
                ..
            } if converses => format!(
                "# The assertion that begins conversations: docs/saml.md, \"An assertion that begins a conversation\".\n[routes.outbound.saml]\n\
                 confirmation = [\"{}\"]\n\
                 # FILL IN: {ASSERTION} is signed by {ISSUER}.key.pem, and ends within a day. Put one of the issuer's in its place.\n\
                 assertion = \"{ASSERTION}\"",
                confirmation.name()
            ),
            Self::Assertion {
                confirmation,
                is_issued: false,
                ..
            } => format!(
                "# The assertion that goes with a request: docs/saml.md.\n[routes.outbound.saml]\n\
                 confirmation = [\"{}\"]\n\
                 # The plain request brings it as a header block. That of request.xml is signed by {ISSUER}.key.pem, and ends within a day.\n\
                 # assertion = \"FILE\" is one that is always the same.\n\
                 from_request = true",
                confirmation.name()
            ),
            Self::Assertion { confirmation, .. } => format!(
                "# The assertion that {}: docs/saml.md, \"Ask a token service\".\n[routes.outbound.saml]\n\
                 confirmation = [\"{}\"]\n\
                 # FILL IN: saml:Issuer, letter by letter, and the issuer's certificate in the place of {ISSUER}.cert.pem.\n\
                 issuers = [{{ name = \"https://issuer.example\", pinned = [\"{ISSUER}.cert.pem\"] }}]\n\
                 [routes.outbound.saml.token_service]\n\
                 # FILL IN: the address of the token service, and the service as it knows it. An address in the WSDL is never asked\n\
                 # unless it stands here: messages to it show who we are.\n\
                 url = \"https://issuer.example/issue\"\napplies_to = \"https://service.example\"\n\
                 # FILL IN: how the token service is talked to, and whose answers are its own.\n\
                 [routes.outbound.saml.token_service.endpoint]\n\
                 identity = {{ key = \"client.key.pem\", certificate = \"client.cert.pem\" }}\n\
                 trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN={ISSUER}\"] }}\n\
                 security = {{ mechanism = \"sign\" }}",
                match converses {
                    true => "begins conversations",
                    false => "goes with requests",
                },
                confirmation.name()
            ),
            Self::Ticket(form) => format!(
                "# The ticket that goes with requests: docs/kerberos.md.\n[routes.outbound.kerberos]\n\
                 # FILL IN: where kinit keeps tickets, or keytab and principal of the client.\n\
                 cache = \"/run/krb5cc\"\n\
                 # FILL IN: the principal of the service.\n\
                 service = \"{PRINCIPAL}\"{}",
                form_of(form)
            ),
        }
    }
}

const PRINCIPAL: &str = "HTTP/service.example@EXAMPLE.COM";

fn form_of(form: KerberosForm) -> &'static str {
    match form {
        KerberosForm::Raw => "\n# As the policy says: without the framing of GSS.\nform = \"raw\"",
        KerberosForm::Gss => "",
    }
}
