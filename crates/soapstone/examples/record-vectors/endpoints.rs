//! Endpoint files of the two sides.

use crate::MOMENT;

/// What an endpoint file says.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// Of the `security` table, beside the time.
    pub(crate) security: String,
    /// Whose key is ours.
    pub(crate) own: String,
    /// Whose key decrypts, if not the same.
    pub(crate) decryption: Option<String>,
    /// Whose certificate is known, and encrypted to.
    pub(crate) peer: String,
    /// Of the `trust` table.
    pub(crate) trust: String,
    /// The length of the shared key, in the place of the keys above.
    pub(crate) shared: Option<usize>,
    pub(crate) password: &'static str,
    pub(crate) time: String,
    /// Further tables.
    pub(crate) more: String,
}

/// Which side an endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Service,
}

impl Side {
    const fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Service => "service",
        }
    }

    const fn other(self) -> &'static str {
        match self {
            Self::Client => "service",
            Self::Service => "client",
        }
    }
}

/// The suffixes of the keys that a suite signs with and encrypts to.
fn kinds(suite: &str) -> (&'static str, &'static str) {
    if suite.ends_with("EcdhEs") {
        ("-p256", "-p256")
    } else if suite.ends_with("X25519") {
        ("-ed25519", "-x25519")
    } else {
        ("", "")
    }
}

impl Endpoint {
    /// An endpoint whose keys fit the suite. `security` is what the table says beside mechanism and
    /// suite.
    pub(crate) fn new(side: Side, mechanism: &str, suite: &str, security: &str) -> Self {
        let (signs, decrypts) = kinds(suite);
        let security = format!("mechanism = \"{mechanism}\", suite = \"{suite}\"{security}");
        let decryption = (signs != decrypts).then(|| format!("{}{decrypts}", side.name()));
        Self {
            security,
            own: format!("{}{signs}", side.name()),
            decryption,
            peer: format!("{}{decrypts}", side.other()),
            trust: format!(
                "anchors = [\"../keys/authority.cert.pem\"], pinned = [\"../keys/{}{signs}.cert.pem\"]",
                side.other()
            ),
            shared: None,
            password: "correct horse battery staple",
            time: MOMENT.to_owned(),
            more: String::new(),
        }
    }

    /// The same with a key that both sides hold.
    pub(crate) fn shared(self, length: usize) -> Self {
        Self {
            shared: Some(length),
            ..self
        }
    }

    /// The same at another time.
    pub(crate) fn at(self, time: &str) -> Self {
        Self {
            time: time.to_owned(),
            ..self
        }
    }

    /// The file, as it stands in the folder of endpoints.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "security = {{ {}, time = \"{}\" }}\n",
            self.security, self.time
        );
        if let Some(length) = self.shared {
            text.push_str(&format!(
                "shared_key = {{ name = \"both\", file = \"../keys/shared-{length}.bin\" }}\n"
            ));
        } else {
            let pair = |name: &str| {
                format!(
                    "key = \"../keys/{name}.key.pem\", certificate = \"../keys/{name}.cert.pem\""
                )
            };
            let decryption = match &self.decryption {
                Some(name) => format!(", decryption = {{ {} }}", pair(name)),
                None => String::new(),
            };
            text.push_str(&format!(
                "identity = {{ {}{decryption} }}\npeer = {{ certificate = \"../keys/{}.cert.pem\" }}\ntrust = {{ {} }}\n",
                pair(&self.own),
                self.peer,
                self.trust
            ));
        }
        text.push_str(&format!(
            "users = [{{ name = \"alice\", password = \"{}\" }}]\n{}",
            self.password, self.more
        ));
        text
    }
}
