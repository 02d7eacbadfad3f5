//! Throw-away keys: an authority, two parties with a key of each kind, and a stranger.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::crypto::{Curve, Identity, KeyKind, SecretBytes};

use crate::MOMENT;

/// Lengths of the keys that both parties hold, in bytes: one for each length of the suites' keys.
pub(crate) const SHARED: [usize; 3] = [16, 24, 32];

const RSA: KeyKind = KeyKind::Rsa { bits: 2048 };

/// Makes the keys and writes them as `NAME.key.pem` and `NAME.cert.pem`.
pub(crate) fn write(folder: &Path) {
    fs::create_dir_all(folder).expect("a folder");
    let now: Timestamp = MOMENT.parse().expect("a moment");
    let validity = Validity::days(now, 36_500);
    let authority = |subject| issue::authority(subject, RSA, validity).expect("an authority");
    let issuer = authority("CN=Authority,O=Vectors of Soapstone");
    let other = authority("CN=Other authority,O=Vectors of Soapstone");
    let keep = |name: &str, identity: &Identity| {
        let key = identity.key_to_pem(None).expect("a key");
        fs::write(folder.join(format!("{name}.key.pem")), key.expose()).expect("a key");
        let certificates = identity.certificates_to_pem();
        fs::write(folder.join(format!("{name}.cert.pem")), certificates).expect("a certificate");
    };
    for (name, authority) in [("authority", &issuer), ("other-authority", &other)] {
        fs::write(
            folder.join(format!("{name}.cert.pem")),
            authority.certificates_to_pem(),
        )
        .expect("a certificate");
    }
    let leaf = |name: &str, issuer: &Identity, kind, validity| {
        let template = Template::new(&format!("CN={name}"), validity).expect("a subject");
        keep(
            name,
            &issue::identity(issuer, kind, &template).expect("a key"),
        );
    };
    for (suffix, kind) in [
        ("", RSA),
        ("-p256", KeyKind::Ec(Curve::P256)),
        ("-p384", KeyKind::Ec(Curve::P384)),
        ("-p521", KeyKind::Ec(Curve::P521)),
        ("-ed25519", KeyKind::Ed25519),
        ("-x25519", KeyKind::X25519),
    ] {
        for party in ["client", "service"] {
            leaf(&format!("{party}{suffix}"), &issuer, kind, validity);
        }
    }
    leaf("stranger", &other, RSA, validity);
    let day = "2026-10-01T12:00:00Z".parse().expect("a moment");
    leaf("expired", &issuer, RSA, Validity::days(day, 1));
    for length in SHARED {
        let key = SecretBytes::random(length);
        fs::write(folder.join(format!("shared-{length}.bin")), key.expose()).expect("a key");
    }
}
