//! Endpoint files for tests: a client that secures and a server that opens.

#![allow(dead_code, reason = "each test program uses its part")]

use super::{Folder, key};

/// One endpoint file, in parts that a test may change.
pub(crate) struct Endpoint {
    pub(crate) mechanism: &'static str,
    /// Lines of `[security]` beside the mechanism.
    pub(crate) security: String,
    /// Whose key is ours.
    pub(crate) own: &'static str,
    /// Whose key decrypts, if not the same.
    pub(crate) decryption: Option<&'static str>,
    /// Whom we encrypt to.
    pub(crate) peer: &'static str,
    /// Lines of `[trust]`.
    pub(crate) trust: String,
    /// The variable that holds the password of `alice`.
    pub(crate) password: &'static str,
}

impl Endpoint {
    pub(crate) fn client(mechanism: &'static str, security: &str) -> Self {
        Self {
            mechanism,
            security: security.to_owned(),
            own: "client",
            decryption: None,
            peer: "server",
            trust: trust("ca"),
            password: "ALICE_PASSWORD",
        }
    }

    pub(crate) fn server(mechanism: &'static str, security: &str) -> Self {
        Self {
            own: "server",
            peer: "client",
            ..Self::client(mechanism, security)
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "[security]\nmechanism = \"{}\"\n{}\n",
            self.mechanism, self.security
        );
        match self.mechanism {
            "none" => {}
            "username" => {
                text.push_str(&format!(
                    "[[users]]\nname = \"alice\"\npassword_env = \"{}\"\n",
                    self.password
                ));
            }
            _ => {
                let pair = |name: &str| {
                    let (key, certificate) = (
                        key(&format!("{name}.key.pem")),
                        key(&format!("{name}.cert.pem")),
                    );
                    format!("key = \"{key}\"\ncertificate = \"{certificate}\"\n")
                };
                text.push_str(&format!("[identity]\n{}", pair(self.own)));
                if let Some(name) = self.decryption {
                    text.push_str(&format!("[identity.decryption]\n{}", pair(name)));
                }
                text.push_str(&format!(
                    "[peer]\ncertificate = \"{}\"\n[trust]\n{}\n",
                    key(&format!("{}.cert.pem", self.peer)),
                    self.trust
                ));
            }
        }
        text
    }

    pub(crate) fn write(&self, folder: &Folder, name: &str) {
        folder.write(name, self.text());
    }
}

/// `anchors` with this one certificate.
pub(crate) fn trust(name: &str) -> String {
    format!("anchors = [\"{}\"]", key(&format!("{name}.cert.pem")))
}
