//! The gateways' files for what was advised: the service's side and the clients'.
//!
//! The rule kept here: the files are whole; only names of key files and addresses are left to their
//! reader.

use soapstone::wss::{Mechanism, Suite};

use super::{Means, Tunings};
use crate::study::Proof;

/// A side of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before the service: opens requests.
    Service,
    /// Behind clients: secures requests.
    Clients,
}

/// A gateway's file for a side of calls that are secured by these means.
pub fn gateway_file(means: &Means, tunings: &Tunings, side: Side) -> String {
    let (own, peer) = match side {
        Side::Service => ("service", "client"),
        Side::Clients => ("client", "service"),
    };
    let mut file = match side {
        Side::Service => String::from("listen = \"127.0.0.1:8443\"\n"),
        Side::Clients => String::from("listen = \"127.0.0.1:8080\"\n"),
    };
    if means.tls && side == Side::Service {
        file.push_str("\n[tls]\ncertificate = \"service.cert.pem\"\nkey = \"service.key.pem\"\n");
    }
    file.push_str("\n[[routes]]\npath = \"/service\"\n");
    file.push_str(match (side, means.tls) {
        (Side::Service, _) => "backend = \"http://127.0.0.1:9000/service\"\n",
        (Side::Clients, false) => "backend = \"http://127.0.0.1:8443/service\"\n",
        (Side::Clients, true) => {
            "backend = \"https://localhost:8443/service\"\ntls = { ca = [\"ca.cert.pem\"] }\n"
        }
    });
    let mechanism = means.mechanism;
    if mechanism == Mechanism::None {
        return file;
    }
    file.push_str(match side {
        Side::Service => "\n[routes.inbound]\n",
        Side::Clients => "\n[routes.outbound]\n",
    });
    file.push_str(&keys_of(means, side, [own, peer]));
    if mechanism == Mechanism::Username || means.proof == Proof::PasswordKey {
        file.push_str("users = [{ name = \"alice\", password_env = \"ALICE_PASSWORD\" }]\n");
    }
    file.push_str(&tunings.line());
    let suite = match means.suite.as_str() {
        "" => String::new(),
        suite => format!(", suite = \"{suite}\""),
    };
    let more = match means.proof {
        Proof::SharedKey => ", key_reference = \"key-name\"",
        Proof::PasswordKey => ", password_keys = {}",
        _ => "",
    };
    file.push_str(&format!(
        "security = {{ mechanism = \"{mechanism}\"{suite}{more} }}\n"
    ));
    file
}

/// Whose keys a side has, and whom it trusts.
fn keys_of(means: &Means, side: Side, [own, peer]: [&str; 2]) -> String {
    let mechanism = means.mechanism;
    let mut text = String::new();
    match means.proof {
        Proof::PasswordKey => return text,
        Proof::SharedKey => return shared_key(means),
        Proof::Kerberos | Proof::KerberosOnce => return kerberos(means.proof, side),
        _ => {}
    }
    if mechanism.signs() || mechanism.encrypts() {
        text.push_str(keys(&means.suite));
        text.push_str(&format!(
            "identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}\n"
        ));
    }
    if mechanism.encrypts() && side == Side::Clients {
        text.push_str("peer = { certificate = \"service.cert.pem\" }\n");
    }
    // The issuer vouches for the key of a holder.
    let vouched = means.proof == Proof::SamlHolder && side == Side::Service;
    if mechanism.signs() && !vouched {
        text.push_str(&format!(
            "trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN={peer}\"] }}\n"
        ));
    }
    let confirmation = match means.proof {
        Proof::SamlHolder => "holder-of-key",
        Proof::SamlBearer => "bearer",
        _ => return text,
    };
    text.push_str(&match side {
        Side::Service => format!(
            "saml = {{ audience = [\"https://service.example\"], confirmation = [\"{confirmation}\"], \
             issuers = [{{ name = \"https://idp.example\", pinned = [\"idp.cert.pem\"] }}] }}\n"
        ),
        Side::Clients => format!(
            "saml = {{ assertion = \"assertion.xml\", confirmation = [\"{confirmation}\"] }}\n"
        ),
    });
    text
}

/// The key that both sides hold, as long as the suite's cipher wants it.
fn shared_key(means: &Means) -> String {
    let suite = Suite::named(&means.suite).filter(|_| means.mechanism.encrypts());
    let cipher = suite.and_then(|suite| suite.data.first().copied());
    let length = cipher.map_or(32, |cipher| cipher.key_length());
    format!(
        "# Both sides have the same key:\n#   soapstone keys new shared --symmetric {length}\n\
         shared_key = {{ file = \"shared.key.bin\" }}\n"
    )
}

fn kerberos(proof: Proof, side: Side) -> String {
    let service = "HTTP/service.example@EXAMPLE.COM";
    let once = match proof {
        Proof::KerberosOnce => ", include = \"once\"",
        _ => "",
    };
    match side {
        Side::Service => format!(
            "kerberos = {{ keytab = \"service.keytab\", principal = \"{service}\"{once} }}\n"
        ),
        Side::Clients => format!(
            "kerberos = {{ keytab = \"client.keytab\", principal = \"client@EXAMPLE.COM\", service = \"{service}\"{once} }}\n"
        ),
    }
}

/// What keys a suite takes, where they are not those that `soapstone keys new` makes unless told
/// otherwise.
fn keys(suite: &str) -> &'static str {
    let one_key_without_rsa = |suite: &Suite| suite.only_agrees() && suite.wraps_to_signers();
    match Suite::named(suite).filter(one_key_without_rsa) {
        Some(_) => {
            "# This suite takes no RSA keys, but keys on P-256, the service's and its clients':\n\
             #   soapstone keys new service --kind ec-p256 --signed-by ca\n\
             #   soapstone keys new client --kind ec-p256 --signed-by ca\n"
        }
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_what_its_mechanism_takes() {
        let side = |tls, mechanism, suite: &str, side| {
            let means = Means {
                proof: Proof::Usual,
                tls,
                mechanism,
                suite: suite.to_owned(),
            };
            let tunings = Tunings {
                prehash: mechanism == Mechanism::Sign,
                ..Tunings::default()
            };
            gateway_file(&means, &tunings, side)
        };
        let file = |tls, mechanism, suite: &str| side(tls, mechanism, suite, Side::Service);
        let signed = file(false, Mechanism::SignEncrypt, "Basic256GCM");
        assert!(
            signed.contains("anchors")
                && signed.contains(
                    "security = { mechanism = \"sign-encrypt\", suite = \"Basic256GCM\" }"
                )
        );
        assert!(!signed.contains("[tls]") && !signed.contains("users"));
        assert!(!signed.contains('#'));
        let agreed = file(false, Mechanism::SignEncrypt, "Basic128GCMEcdhEs");
        for name in ["service", "client"] {
            let command = format!("#   soapstone keys new {name} --kind ec-p256 --signed-by ca\n");
            assert!(agreed.contains(&command), "{agreed}");
        }
        let user = file(true, Mechanism::Username, "");
        assert!(
            user.contains("[tls]")
                && user.contains("users = [")
                && user.contains("{ mechanism = \"username\" }")
        );
        assert!(!file(true, Mechanism::None, "").contains("inbound"));
        assert!(!file(false, Mechanism::Encrypt, "Basic128GCM").contains("trust"));
        let client = side(true, Mechanism::Sign, "Basic128GCM", Side::Clients);
        for part in [
            "backend = \"https://localhost:8443/service\"\ntls = { ca = [\"ca.cert.pem\"] }\n",
            "[routes.outbound]\nidentity = { key = \"client.key.pem\", certificate = \"client.cert.pem\" }\ntrust = ",
            "subjects = [\"CN=service\"] }\ntuning = { prehash = true }\n",
        ] {
            assert!(client.contains(part), "{client}");
        }
    }
}
