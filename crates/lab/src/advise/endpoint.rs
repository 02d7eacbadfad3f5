//! The gateway's file for what was advised.
//!
//! The rule kept here: the file is whole; only names of key files and addresses are left to its
//! reader.

use soapstone::wss::{Mechanism, Suite};

use super::Means;

/// A gateway's file that protects a service by these means.
pub fn gateway_file(means: &Means) -> String {
    let mut file = String::from("listen = \"127.0.0.1:8443\"\n");
    if means.tls {
        file.push_str("\n[tls]\ncertificate = \"service.cert.pem\"\nkey = \"service.key.pem\"\n");
    }
    file.push_str(
        "\n[[routes]]\npath = \"/service\"\nbackend = \"http://127.0.0.1:9000/service\"\n",
    );
    let mechanism = means.mechanism;
    if mechanism == Mechanism::None {
        return file;
    }
    file.push_str("\n[routes.inbound]\n");
    if mechanism.signs() || mechanism.encrypts() {
        file.push_str(keys(&means.suite));
        file.push_str(
            "identity = { key = \"service.key.pem\", certificate = \"service.cert.pem\" }\n",
        );
    }
    if mechanism.signs() {
        file.push_str("trust = { anchors = [\"ca.cert.pem\"], subjects = [\"CN=client\"] }\n");
    }
    if mechanism == Mechanism::Username {
        file.push_str("users = [{ name = \"alice\", password_env = \"ALICE_PASSWORD\" }]\n");
    }
    let suite = match means.suite.as_str() {
        "" => String::new(),
        suite => format!(", suite = \"{suite}\""),
    };
    file.push_str(&format!(
        "security = {{ mechanism = \"{mechanism}\"{suite} }}\n"
    ));
    file
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
        let file = |tls, mechanism, suite: &str| {
            gateway_file(&Means {
                tls,
                mechanism,
                suite: suite.to_owned(),
            })
        };
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
    }
}
