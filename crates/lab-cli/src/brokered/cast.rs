//! Who takes part: providers with different policies, and clients with different needs.
//!
//! The rule kept here: which providers may serve a client follows from what they do, and not from
//! what they say.

use std::fmt::Write as _;

use crate::testbed::architecture::{Architecture, Offer, SERVICE, SIGNED, Security};

/// Strength of RSA keys of 2048 bits (NIST SP 800-57 part 1, table 2).
const RSA: u16 = 112;
/// Strength of keys on P-256.
const P256: u16 = 128;

/// A provider of the demo.
pub(crate) struct Cast {
    pub(crate) offer: Offer,
    /// What happens to it.
    pub(crate) fate: &'static str,
    /// Strength of what its messages are signed with.
    bits: u16,
    /// Whether its messages are encrypted, both ways.
    encrypts: bool,
}

/// Signs only, and is slow later.
pub(crate) const SLOWED: usize = 0;
/// Signs and encrypts, and is killed later.
pub(crate) const KILLED: usize = 1;
/// Registers as a strong one, and answers without encryption.
pub(crate) const LIAR: usize = 3;

/// The providers.
pub(crate) const PROVIDERS: [Cast; 4] = [
    Cast {
        offer: offer("provider-1", "rsa-1", "sign", "Basic256GCM", None),
        fate: "slow from the second part on",
        bits: RSA,
        encrypts: false,
    },
    Cast {
        offer: offer("provider-2", "rsa-2", "sign-encrypt", "Basic128GCM", None),
        fate: "killed in the third part",
        bits: RSA,
        encrypts: true,
    },
    Cast {
        offer: offer("provider-3", "ec-3", "sign-encrypt", ELLIPTIC, None),
        fate: "stays as it is",
        bits: P256,
        encrypts: true,
    },
    Cast {
        offer: offer("provider-4", "ec-4", "sign-encrypt", ELLIPTIC, Some("sign")),
        fate: "does not encrypt its answers",
        bits: P256,
        encrypts: false,
    },
];

/// A suite whose keys are on P-256.
const ELLIPTIC: &str = "Basic256GCMEcdhEs";

const fn offer(
    name: &'static str,
    key: &'static str,
    mechanism: &'static str,
    suite: &'static str,
    lies: Option<&'static str>,
) -> Offer {
    Offer {
        name,
        key,
        security: Security { mechanism, suite },
        lies,
        converses: false,
        is_called_by_a_way: false,
        processor: None,
    }
}

/// A client of the demo.
pub(crate) struct Customer {
    /// Its name, and the subject of its certificate: `CN=` and this.
    pub(crate) name: &'static str,
    /// What it needs, for people.
    pub(crate) needs: &'static str,
    /// The strength that it needs.
    bits: u16,
    /// Whether it needs confidentiality besides integrity.
    confidential: bool,
    /// Whether its messages say so, or the broker's file.
    pub(crate) says_so: bool,
}

/// The clients.
pub(crate) const CLIENTS: [Customer; 3] = [
    Customer {
        name: "reader",
        needs: "integrity, 100 bits",
        bits: 100,
        confidential: false,
        says_so: false,
    },
    Customer {
        name: "shop",
        needs: "confidentiality and integrity, 112 bits",
        bits: 112,
        confidential: true,
        says_so: false,
    },
    Customer {
        name: "bank",
        needs: "confidentiality and integrity, 128 bits",
        bits: 128,
        confidential: true,
        says_so: true,
    },
];

impl Customer {
    /// Where its needs come from, for people.
    pub(crate) fn source(&self) -> &'static str {
        match self.says_so {
            true => "its signed messages",
            false => "its class",
        }
    }

    /// Whether what the provider does is enough.
    pub(crate) fn is_served_by(&self, provider: &Cast) -> bool {
        provider.offer.lies.is_none()
            && provider.bits >= self.bits
            && (provider.encrypts || !self.confidential)
    }

    fn properties(&self) -> &'static [&'static str] {
        match self.confidential {
            true => &["confidentiality", "integrity"],
            false => &["integrity"],
        }
    }

    /// The header of its messages, where they say what it needs.
    pub(crate) fn header(&self) -> String {
        if !self.says_so {
            return String::new();
        }
        let properties = self.properties().iter();
        let properties: String = properties
            .map(|it| format!("<qos:Property>{it}</qos:Property>"))
            .collect();
        format!(
            "<soap:Header><qos:Requirements xmlns:qos=\"urn:soapstone:qos:1\">{properties}<qos:Bits>{}</qos:Bits>\
             </qos:Requirements></soap:Header>",
            self.bits
        )
    }

    /// The file of its endpoint.
    pub(crate) fn file(&self) -> String {
        let block = match self.says_so {
            true => "\"{urn:soapstone:qos:1}Requirements\", ",
            false => "",
        };
        format!(
            "# A client that secures its requests to the broker, and opens the answers.\n\
             identity = {{ key = \"{name}.key.pem\", certificate = \"{name}.cert.pem\" }}\n\
             peer = {{ certificate = \"broker.cert.pem\" }}\n\
             trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN=broker\"] }}\n\
             security = {{ mechanism = \"sign-encrypt\", suite = \"{}\", signed = [\"Body\", {block}\"Timestamp\"] }}\n",
            SIGNED.suite,
            name = self.name
        )
    }
}

/// The audit trail of the broker, in the scratch folder.
pub(crate) const AUDIT: &str = "broker-audit.jsonl";

/// The file of the broker in front of these providers, but for its addresses. Every call needs an
/// answer in so many milliseconds, if that is said.
pub(crate) fn broker_file(
    architecture: &Architecture,
    providers: &[Cast],
    milliseconds: Option<u32>,
) -> String {
    let owners = providers
        .iter()
        .map(|it| format!("\"CN={}\"", it.offer.name));
    let owners: Vec<String> = owners.collect();
    let path = SERVICE.path();
    let mut text = format!(
        "[audit]\nfile = \"{AUDIT}\"\n{}[[routes]]\npath = \"{path}\"\n[routes.backends]\nservice = \"{}\"\nowners = [{}]\n",
        architecture.registry_table("broker"),
        SERVICE.operation(),
        owners.join(", ")
    );
    for Cast { offer, .. } in providers {
        let (own, trust) = match offer.security.suite {
            // The authority has a key of 112 bits, and so has whoever it certifies.
            ELLIPTIC => (
                "broker",
                format!("pinned = [\"{}.cert.pem\"], min_rsa_bits = 3072", offer.key),
            ),
            _ => (
                "broker-rsa",
                format!(
                    "anchors = [\"ca.cert.pem\"], subjects = [\"CN={}\"]",
                    offer.key
                ),
            ),
        };
        // Writing to a String does not fail.
        let _ = write!(
            text,
            "[[routes.backends.policies]]\nowners = [\"CN={}\"]\n[routes.backends.policies.outbound]\n\
             identity = {{ key = \"{own}.key.pem\", certificate = \"{own}.cert.pem\" }}\n\
             peer = {{ certificate = \"{key}.cert.pem\" }}\n\
             trust = {{ {trust} }}\nsecurity = {}\n",
            offer.name,
            offer.security.written(),
            key = offer.key,
        );
    }
    let _ = write!(
        text,
        "[routes.balance]\nselection = \"performance\"\nidempotent = [\"{}\"]\nrequirements = true\n\
         ejection = {{ failures = 1, time = \"1m\" }}\n",
        SERVICE.operation()
    );
    if let Some(milliseconds) = milliseconds {
        let _ = writeln!(text, "needs = {{ time = \"{milliseconds}ms\" }}");
    }
    for client in CLIENTS.iter().filter(|it| !it.says_so) {
        let properties = client.properties().iter().map(|it| format!("\"{it}\""));
        let properties: Vec<String> = properties.collect();
        let _ = write!(
            text,
            "[[routes.balance.classes]]\nmembers = [\"CN={}\"]\nneeds = {{ properties = [{}], bits = {} }}\n",
            client.name,
            properties.join(", "),
            client.bits
        );
    }
    let _ = write!(
        text,
        "[routes.inbound]\nidentity = {{ key = \"broker.key.pem\", certificate = \"broker.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"] }}\n\
         security = {{ mechanism = \"sign-encrypt\", suite = \"{}\", \
         signed = [\"Body\", \"{{urn:soapstone:qos:1}}Requirements\", \"Timestamp\"] }}\n",
        SIGNED.suite
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_providers_that_outlive_the_demo_and_the_liar_has_none() {
        let serving = CLIENTS.each_ref().map(|client| {
            let fit = PROVIDERS.each_ref().map(|it| client.is_served_by(it));
            let fit = fit.into_iter().enumerate().filter(|(_, fit)| *fit);
            fit.map(|(index, _)| index).collect::<Vec<_>>()
        });
        assert_eq!(serving, [vec![0, 1, 2], vec![1, 2], vec![2]]);
        assert!(PROVIDERS[LIAR].offer.lies.is_some());
    }
}
