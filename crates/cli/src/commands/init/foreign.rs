//! Tokens that somebody else makes: assertions of an issuer and tickets of a KDC, and what the two
//! endpoints say of them.
//!
//! The rule kept here: the files can be read as they stand, and each name in them that only the
//! parties know has a comment.

use soapstone::policy::ExchangePolicy;
use soapstone::wss::{ConfirmationMethod, KerberosForm, KeyBinding, SamlVersion};

/// The certificate and key that stand in for the issuer's.
pub(super) const ISSUER: &str = "issuer";

/// The file that stands in for the keytab of the service.
pub(super) const KEYTAB: &str = "http.keytab";

/// The file that stands in for an assertion of the issuer's.
pub(super) const ASSERTION: &str = "client.saml.xml";

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
        let is_symmetric = request.uses(KeyBinding::Assertion);
        let confirmation = match *assertion.methods.as_slice() {
            [ConfirmationMethod::HolderOfKey] => ConfirmationMethod::HolderOfKey,
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

    /// The assertion that stands in for one of the issuer's where conversations begin with it:
    /// whether it has the key of the client, and its version. One of a user's single messages is
    /// in the plain request.
    pub(super) fn begins_with(self) -> Option<(bool, SamlVersion)> {
        match self {
            Self::Assertion {
                confirmation,
                is_issued: false,
                is_symmetric: false,
                version,
            } => match confirmation {
                ConfirmationMethod::HolderOfKey => Some((true, version)),
                ConfirmationMethod::Bearer => Some((false, version)),
                ConfirmationMethod::SenderVouches => None,
            },
            _ => None,
        }
    }

    /// Whether the client has a key of its own because of it.
    pub(super) fn takes_client_key(self) -> bool {
        match self {
            Self::Assertion {
                confirmation,
                is_issued,
                is_symmetric,
                ..
            } => is_issued || (confirmation == ConfirmationMethod::HolderOfKey && !is_symmetric),
            Self::Ticket(_) => false,
        }
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
            Self::Assertion { confirmation, .. } if converses && self.begins_with().is_some() => {
                format!(
                    "# The assertion that begins conversations: docs/saml.md, \"An assertion that begins a conversation\".\n[routes.outbound.saml]\n\
                     confirmation = [\"{}\"]\n\
                     # FILL IN: {ASSERTION} is signed by {ISSUER}.key.pem, and ends within a day. Put one of the issuer's in its place.\n\
                     assertion = \"{ASSERTION}\"",
                    confirmation.name()
                )
            }
            Self::Assertion {
                confirmation,
                is_issued: false,
                ..
            } => format!(
                "# The assertion that goes with a request: docs/saml.md.\n[routes.outbound.saml]\n\
                 confirmation = [\"{}\"]\n\
                 # The plain request brings it as a header block. assertion = \"FILE\" is one that is always the same.\n\
                 from_request = true",
                confirmation.name()
            ),
            Self::Assertion { confirmation, .. } => format!(
                "# The assertion that goes with requests: docs/saml.md, \"Ask a token service\".\n[routes.outbound.saml]\n\
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
