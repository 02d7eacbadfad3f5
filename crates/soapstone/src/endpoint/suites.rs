//! Algorithms: the suite that an endpoint file names, with what it lists one by one.
//!
//! The one rule: what a file lists takes the place of what the suite has of that kind; nothing is
//! added to it.

use soapstone_crypto::{
    DataEncryption, DigestAlgorithm, KeyAgreement, KeyDerivation, KeyTransport, KeyWrap,
    SignatureAlgorithm,
};
use soapstone_wss::{
    KeyAgreementMethod, KeyTransportMethod, SHA256_SIGNATURES, SUITE_NAMES, Suite,
};
use soapstone_xml::Canonicalization;

use super::compiler::Compiler;
use crate::config::{Located, OTHER_TEXT, slip};

/// The suite of an endpoint that names none: authenticated encryption, nothing weak.
const DEFAULT_SUITE: &str = "Basic256GCM";

/// What to do about a name that no algorithm has.
pub(super) const NAMES_OF_ALGORITHMS: &str = "name it by its URI or by its short name, for example \"rsa-sha256\", \"sha256\", \
    \"aes256-gcm\", \"exc-c14n\", \"x25519\", \"hkdf\", \"kw-aes128\"";

impl Compiler<'_> {
    pub(super) fn suite(&mut self) -> Option<Suite> {
        let config = self.config;
        let suite = match &config.security.suite {
            None => Suite::named(DEFAULT_SUITE),
            Some(name) => self.suite_called(name),
        };
        let suite = suite?;
        Some(self.with_algorithms(suite))
    }

    /// The suite that a file names.
    pub(super) fn suite_called(&mut self, name: &Located<String>) -> Option<Suite> {
        let suite = Suite::called(&name.value);
        if suite.is_none() {
            let hint = format!(
                "the suites are {}; `{SHA256_SIGNATURES}` behind one makes its signatures SHA-256",
                SUITE_NAMES.join(", ")
            );
            let (found, _) = slip(&name.value, SUITE_NAMES.into_iter());
            self.report_with_hint(
                name.place,
                format!("`suite` must name an algorithm suite, found {found}"),
                hint,
            );
        }
        suite
    }

    /// The algorithms of a suite whose policy names none, if the file names enough of them.
    pub(super) fn custom_suite(&mut self) -> Option<Suite> {
        let named = self.config.security.algorithms.as_ref()?;
        let wraps = !named.key_transport.is_empty() || !named.key_agreement.is_empty();
        let is_whole = wraps
            && !named.signature.is_empty()
            && !named.digest.is_empty()
            && !named.data.is_empty();
        let suite = Suite::named(DEFAULT_SUITE).filter(|_| is_whole)?;
        Some(self.with_algorithms(suite))
    }

    /// A suite with what the file lists one by one in the place of its own.
    pub(super) fn with_algorithms(&mut self, mut suite: Suite) -> Suite {
        let config = self.config;
        let Some(algorithms) = &config.security.algorithms else {
            return suite;
        };
        suite.name = "custom".to_owned();
        self.override_list(
            &algorithms.digest,
            &mut suite.digest,
            DigestAlgorithm::from_name,
            "digest algorithm",
        );
        self.override_list(
            &algorithms.data,
            &mut suite.data,
            DataEncryption::from_name,
            "data encryption algorithm",
        );
        self.override_list(
            &algorithms.canonicalization,
            &mut suite.canonicalization,
            Canonicalization::from_name,
            "canonicalization",
        );
        let mut signatures = Vec::new();
        self.override_list(
            &algorithms.signature,
            &mut signatures,
            SignatureAlgorithm::from_name,
            "signature algorithm",
        );
        if !signatures.is_empty() {
            (suite.symmetric_signature, suite.signature) =
                signatures.into_iter().partition(|one| one.is_mac());
        }
        self.key_transport(&mut suite);
        self.key_agreement(&mut suite);
        suite
    }

    fn override_list<T>(
        &mut self,
        named: &[Located<String>],
        list: &mut Vec<T>,
        find: impl Fn(&str) -> Option<T>,
        what: &str,
    ) {
        let mut found = Vec::new();
        for name in named {
            match find(&name.value) {
                Some(algorithm) => found.push(algorithm),
                None => self.report_with_hint(
                    name.place,
                    format!("expected the name of a {what}, found {OTHER_TEXT}"),
                    NAMES_OF_ALGORITHMS,
                ),
            }
        }
        // Of a list whose names are all wrong that is said already, not that it is empty.
        if !found.is_empty() {
            *list = found;
        }
    }

    /// Each key transport algorithm with each pair of digests that the file names for OAEP.
    fn key_transport(&mut self, suite: &mut Suite) {
        let config = self.config;
        let Some(named) = &config.security.algorithms else {
            return;
        };
        let (mut transports, mut digests, mut masks) = (Vec::new(), Vec::new(), Vec::new());
        self.override_list(
            &named.key_transport,
            &mut transports,
            KeyTransport::from_name,
            "key transport algorithm",
        );
        self.override_list(
            &named.oaep_digest,
            &mut digests,
            DigestAlgorithm::from_name,
            "digest algorithm",
        );
        self.override_list(
            &named.oaep_mgf,
            &mut masks,
            DigestAlgorithm::from_name,
            "digest algorithm",
        );
        if transports.is_empty() {
            let mut agreements = named.key_agreement.iter();
            if agreements.any(|name| KeyAgreement::from_name(&name.value).is_some()) {
                // One way to encrypt a session key is named, and the other is not: what is not
                // named is not accepted.
                suite.key_transport.clear();
                return;
            }
            if digests.is_empty() && masks.is_empty() {
                return;
            }
            transports = suite
                .key_transport
                .iter()
                .map(|method| method.algorithm)
                .collect();
        }
        suite.key_transport.clear();
        for algorithm in transports {
            let customary = match algorithm {
                KeyTransport::RsaOaep => DigestAlgorithm::Sha256,
                _ => DigestAlgorithm::Sha1,
            };
            if algorithm == KeyTransport::Rsa15 {
                suite.key_transport.push(KeyTransportMethod::RSA15);
                continue;
            }
            let or_customary = |named: &[DigestAlgorithm]| {
                if named.is_empty() {
                    vec![customary]
                } else {
                    named.to_vec()
                }
            };
            // `rsa-oaep-mgf1p` has SHA-1 in its mask by definition (XML-Enc 5.5.2).
            let fixed = algorithm == KeyTransport::RsaOaepMgf1p;
            for digest in or_customary(&digests) {
                for mask in if fixed {
                    vec![DigestAlgorithm::Sha1]
                } else {
                    or_customary(&masks)
                } {
                    suite.key_transport.push(KeyTransportMethod {
                        algorithm,
                        digest,
                        mask,
                    });
                }
            }
        }
    }

    /// Each key agreement algorithm with each derivation, each of its digests, and each key wrap
    /// that the file names.
    fn key_agreement(&mut self, suite: &mut Suite) {
        let config = self.config;
        let Some(named) = &config.security.algorithms else {
            return;
        };
        let mut agreements = Vec::new();
        self.override_list(
            &named.key_agreement,
            &mut agreements,
            KeyAgreement::from_name,
            "key agreement algorithm",
        );
        let mut derivations = vec![KeyDerivation::ConcatKdf];
        self.override_list(
            &named.key_derivation,
            &mut derivations,
            KeyDerivation::from_name,
            "key derivation algorithm",
        );
        let mut digests = vec![DigestAlgorithm::Sha256];
        self.override_list(
            &named.derivation_digest,
            &mut digests,
            DigestAlgorithm::from_name,
            "digest algorithm",
        );
        // As strong as what encrypts the data.
        let bits_128 = suite
            .data
            .first()
            .is_some_and(|data| data.key_length() == 16);
        let customary = if bits_128 {
            KeyWrap::Aes128
        } else {
            KeyWrap::Aes256
        };
        let mut wraps = vec![customary];
        self.override_list(
            &named.key_wrap,
            &mut wraps,
            KeyWrap::from_name,
            "key wrap algorithm",
        );
        if named.key_agreement.is_empty() {
            for (key, list) in [
                ("key_derivation", &named.key_derivation),
                ("derivation_digest", &named.derivation_digest),
                ("key_wrap", &named.key_wrap),
            ] {
                if let Some(first) = list.first() {
                    self.report_with_hint(
                        first.place,
                        format!("`{key}` says how an agreed key is used, and `key_agreement` names no agreement"),
                        "name one: key_agreement = [\"x25519\"] or [\"ecdh-es\"]",
                    );
                }
            }
            return;
        }
        for name in &named.key_derivation {
            if KeyDerivation::from_name(&name.value) == Some(KeyDerivation::Pbkdf2) {
                self.report_with_hint(
                    name.place,
                    "`pbkdf2` derives keys from passwords, not from what two key pairs agree on",
                    "name \"hkdf\" or \"concat-kdf\"",
                );
            }
        }
        for name in &named.derivation_digest {
            // What is no digest at all has been said.
            let digest = DigestAlgorithm::from_name(&name.value);
            let derives = |it: DigestAlgorithm| it.output_length() >= 32 && it.mgf1_uri().is_some();
            if digest.is_some_and(|digest| !derives(digest)) {
                self.report_with_hint(
                    name.place,
                    format!("no key is derived with \"{}\"", name.value),
                    "name \"sha256\", \"sha384\" or \"sha512\"",
                );
            }
        }
        if agreements.is_empty() {
            // All of its names are wrong, which has been said.
            return;
        }
        suite.key_agreement.clear();
        for &algorithm in &agreements {
            for &derivation in &derivations {
                for &digest in &digests {
                    for &wrap in &wraps {
                        suite.key_agreement.push(KeyAgreementMethod {
                            algorithm,
                            derivation,
                            digest,
                            wrap,
                        });
                    }
                }
            }
        }
    }
}
