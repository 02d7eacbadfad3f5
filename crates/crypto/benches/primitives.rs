//! What each primitive costs through this crate's interface.
//!
//! `cargo bench -p soapstone-crypto` prints a table; a word after `--` keeps only the rows that
//! contain it. Each row is the median of many short rounds, so that a busy machine disturbs it
//! little.

use std::hint::black_box;
use std::time::{Duration, Instant};

use soapstone_crypto::issue::{self, Template, Validity};
use soapstone_crypto::random::Supply;
use soapstone_crypto::{
    Certificate, ConcatKdf, Curve, DataEncryption, DigestAlgorithm, Hasher, Hkdf, KeyAgreement,
    KeyKind, KeyTransport, KeyWrap, OaepParameters, PHash, PrivateKey, PublicKey, SecretBytes,
    SignatureAlgorithm, SymmetricKey, TrustRules, TrustStore, base64, digest, open_in_place,
    seal_in_place,
};

const MEGABYTE: usize = 1 << 20;

struct Table {
    filter: Option<String>,
}

impl Table {
    /// Times `work`, which handles `octets` bytes at each call (0: no rate is shown).
    fn row(&self, name: &str, octets: usize, mut work: impl FnMut()) {
        if self
            .filter
            .as_ref()
            .is_some_and(|filter| !name.contains(filter.as_str()))
        {
            return;
        }
        let once = {
            work();
            let start = Instant::now();
            work();
            start.elapsed().max(Duration::from_nanos(20))
        };
        let calls = (Duration::from_millis(5).as_nanos() / once.as_nanos()).max(1) as u32;
        let mut rounds: Vec<f64> = (0..41)
            .map(|_| {
                let start = Instant::now();
                for _ in 0..calls {
                    work();
                }
                start.elapsed().as_secs_f64() / f64::from(calls)
            })
            .collect();
        rounds.sort_by(f64::total_cmp);
        let (best, median) = (rounds[0], rounds[rounds.len() / 2]);
        let rate = match octets {
            0 => String::new(),
            _ => format!("{:8.2} GB/s", octets as f64 / median / 1e9),
        };
        println!(
            "{name:<44} {:>12.3} µs {:>12.3} µs {rate}",
            median * 1e6,
            best * 1e6
        );
    }
}

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let table = Table { filter };
    println!("{:<44} {:>15} {:>15}", "", "median", "best");
    digests(&table);
    ciphers(&table);
    encodings(&table);
    key_pairs(&table);
    agreements(&table);
    trust(&table);
}

fn digests(table: &Table) {
    let data = vec![0x5a; MEGABYTE];
    for algorithm in [
        DigestAlgorithm::Sha1,
        DigestAlgorithm::Sha256,
        DigestAlgorithm::Sha512,
    ] {
        table.row(
            &format!("{algorithm} streaming, 1 MiB in 16 KiB"),
            MEGABYTE,
            || {
                let mut hasher = Hasher::new(algorithm).unwrap();
                data.chunks(16 * 1024)
                    .for_each(|chunk| hasher.update(chunk));
                black_box(hasher.finish());
            },
        );
        table.row(&format!("{algorithm} of 200 B, streaming"), 200, || {
            let mut hasher = Hasher::new(algorithm).unwrap();
            hasher.update(&data[..200]);
            black_box(hasher.finish());
        });
        table.row(&format!("{algorithm} of 200 B"), 200, || {
            black_box(digest(algorithm, &data[..200]).unwrap());
        });
    }
    let key = SymmetricKey::generate(32).unwrap();
    for algorithm in [SignatureAlgorithm::HmacSha1, SignatureAlgorithm::HmacSha256] {
        table.row(&format!("{algorithm} of 700 B"), 700, || {
            black_box(key.sign(algorithm, &data[..700], None).unwrap());
        });
    }
    table.row("random 12 B", 0, || {
        black_box(soapstone_crypto::random::bytes::<12>());
    });
}

fn ciphers(table: &Table) {
    for &algorithm in DataEncryption::ALL {
        let key = SymmetricKey::generate(algorithm.key_length()).unwrap();
        let sizes: &[usize] = match algorithm {
            DataEncryption::TripleDesCbc => &[1000],
            _ => &[1000, MEGABYTE],
        };
        for &size in sizes {
            let mut buffer = Vec::with_capacity(algorithm.ciphertext_length(size));
            let mut key = key.clone();
            table.row(&format!("{algorithm} seal {size} B"), size, || {
                // Before the limit on its usage: under Triple DES a key enciphers 8 MiB.
                if key.usage().ratio() > 0.9 {
                    key = SymmetricKey::generate(algorithm.key_length()).unwrap();
                }
                buffer.clear();
                buffer.resize(algorithm.iv_length() + size, 0x5a);
                seal_in_place(algorithm, &key, &mut buffer, 0, &mut Supply::default()).unwrap();
            });
            let sealed = soapstone_crypto::cipher::seal(algorithm, &key, &vec![0; size]).unwrap();
            let mut work = sealed.clone();
            table.row(&format!("{algorithm} open {size} B"), size, || {
                work.copy_from_slice(&sealed);
                black_box(open_in_place(algorithm, &key, &mut work).unwrap());
            });
        }
    }
}

fn encodings(table: &Table) {
    let data: Vec<u8> = (0..MEGABYTE)
        .map(|index| (index * 7 + index / 251) as u8)
        .collect();
    let mut text = Vec::new();
    table.row("base64 encode 1 MiB", MEGABYTE, || {
        text.clear();
        base64::encode_into(&data, &mut text);
    });
    text.clear();
    base64::encode_into(&data, &mut text);
    let wrapped =
        |line: usize, separator: &[u8]| text.chunks(line).collect::<Vec<_>>().join(separator);
    let mut output = Vec::new();
    for (name, text) in [
        ("unwrapped", text.clone()),
        ("lines of 76, LF", wrapped(76, b"\n")),
        ("lines of 76, CR LF", wrapped(76, b"\r\n")),
        ("lines of 64, LF", wrapped(64, b"\n")),
        ("lines of 76, indented", wrapped(76, b"\n        ")),
        (
            "uneven lines",
            text.chunks(700)
                .map(|part| part.chunks(77).collect::<Vec<_>>().join(&b"\n"[..]))
                .collect::<Vec<_>>()
                .join(&b"\r\n"[..]),
        ),
    ] {
        table.row(&format!("base64 decode 1 MiB, {name}"), MEGABYTE, || {
            output.clear();
            base64::decode_xml(&text, &mut output).unwrap();
        });
    }
}

/// What a message costs whose key is agreed on: the sender makes a key pair and agrees, the
/// receiver reads its public half and agrees.
fn agreements(table: &Table) {
    for (algorithm, kind) in [
        (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::P256)),
        (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::P384)),
        (KeyAgreement::EcdhEs, KeyKind::Ec(Curve::P521)),
        (KeyAgreement::X25519, KeyKind::X25519),
        (KeyAgreement::X448, KeyKind::X448),
    ] {
        let key = PrivateKey::generate(kind).unwrap();
        table.row(&format!("{algorithm} make and agree, {kind}"), 0, || {
            black_box(key.public_key().agree_ephemeral(algorithm).unwrap());
        });
        let made = key.public_key().agree_ephemeral(algorithm).unwrap();
        table.row(&format!("{algorithm} agree, {kind}"), 0, || {
            black_box(key.agree(algorithm, &made.originator).unwrap());
        });
        table.row(&format!("{algorithm} read and agree, {kind}"), 0, || {
            let other = PublicKey::from_spki_der(made.originator.spki_der()).unwrap();
            black_box(key.agree(algorithm, &other).unwrap());
        });
    }
    let secret = SecretBytes::random(32);
    let concat = ConcatKdf {
        digest: DigestAlgorithm::Sha256,
        other_info: vec![7; 42],
    };
    let hkdf = Hkdf {
        prf: SignatureAlgorithm::HmacSha256,
        salt: vec![7; 32],
        info: Vec::new(),
    };
    table.row("concat-kdf sha256, 16 bytes", 0, || {
        black_box(concat.derive(&secret, 16).unwrap());
    });
    table.row("hkdf hmac-sha256, 16 bytes", 0, || {
        black_box(hkdf.derive(&secret, 16).unwrap());
    });
    let label: &[u8] = b"WS-SecureConversationWS-SecureConversation";
    table.row("p-sha1, 32 bytes", 0, || {
        let seed = [label, &[7; 16]];
        black_box(PHash::SHA1.derive(&[7; 32], &seed, 0, 32).unwrap());
    });
    // What it was before: its four codes as signatures make them.
    let secret_key = SymmetricKey::from_secret(SecretBytes::random(32)).unwrap();
    table.row("p-sha1's four hmac-sha1 by aws-lc", 0, || {
        for octets in [58, 78, 20, 78] {
            let code = secret_key.sign(SignatureAlgorithm::HmacSha1, &[7; 78][..octets], None);
            black_box(code.unwrap());
        }
    });
    let wrapping = SymmetricKey::generate(16).unwrap();
    table.row("kw-aes128 wrap, 16 bytes", 0, || {
        black_box(wrapping.wrap(KeyWrap::Aes128, &[7; 16]).unwrap());
    });
}

fn key_pairs(table: &Table) {
    let message = vec![0x5a; 700];
    for (kind, algorithms) in [
        (
            KeyKind::Rsa { bits: 2048 },
            &[
                SignatureAlgorithm::RsaSha1,
                SignatureAlgorithm::RsaSha256,
                SignatureAlgorithm::RsaPssSha256,
            ][..],
        ),
        (
            KeyKind::Rsa { bits: 4096 },
            &[SignatureAlgorithm::RsaSha256],
        ),
        (KeyKind::Ec(Curve::P256), &[SignatureAlgorithm::EcdsaSha256]),
        (KeyKind::Ec(Curve::P384), &[SignatureAlgorithm::EcdsaSha384]),
        (KeyKind::Ed25519, &[SignatureAlgorithm::Ed25519]),
    ] {
        let key = PrivateKey::generate(kind).unwrap();
        for &algorithm in algorithms {
            table.row(&format!("{algorithm} sign, {kind}"), 0, || {
                black_box(key.sign(algorithm, &message).unwrap());
            });
            let signature = key.sign(algorithm, &message).unwrap();
            table.row(&format!("{algorithm} verify, {kind}"), 0, || {
                key.public_key()
                    .verify(algorithm, &message, &signature)
                    .unwrap();
            });
        }
        let spki = key.public_key().spki_der();
        table.row(&format!("read the public key, {kind}"), 0, || {
            black_box(soapstone_crypto::PublicKey::from_spki_der(spki).unwrap());
        });
        if !matches!(kind, KeyKind::Rsa { bits: 2048 }) {
            continue;
        }
        let (sha1, sha256) = (DigestAlgorithm::Sha1, DigestAlgorithm::Sha256);
        for (name, transport, parameters) in [
            ("rsa-1_5", KeyTransport::Rsa15, OaepParameters::default()),
            (
                "rsa-oaep sha1",
                KeyTransport::RsaOaepMgf1p,
                OaepParameters::default(),
            ),
            (
                "rsa-oaep sha256, mgf1 sha1",
                KeyTransport::RsaOaep,
                OaepParameters::new(sha256, sha1),
            ),
            (
                "rsa-oaep sha256",
                KeyTransport::RsaOaep,
                OaepParameters::new(sha256, sha256),
            ),
        ] {
            table.row(&format!("{name} wrap, {kind}"), 0, || {
                black_box(
                    key.public_key()
                        .wrap(transport, &parameters, &[7; 32])
                        .unwrap(),
                );
            });
            let wrapped = key
                .public_key()
                .wrap(transport, &parameters, &[7; 32])
                .unwrap();
            table.row(&format!("{name} unwrap, {kind}"), 0, || {
                black_box(
                    key.unwrap(transport, &parameters, &wrapped, Some(32))
                        .unwrap(),
                );
            });
        }
    }
}

/// What it costs to believe the certificate of a peer: the first time, and every time after.
fn trust(table: &Table) {
    let now = "2026-11-21T12:00:00Z".parse().unwrap();
    let validity = Validity::days(now, 30);
    let kind = KeyKind::Rsa { bits: 2048 };
    let authority = issue::authority("CN=ca", kind, validity).unwrap();
    let template = Template::new("CN=client,O=Acme", validity).unwrap();
    let client = issue::identity(&authority, kind, &template).unwrap();
    let der = client.certificate().der().to_vec();
    let store = || {
        let mut rules = TrustRules::default();
        rules.anchors.push(authority.certificate().clone());
        TrustStore::new(rules).unwrap()
    };
    table.row(&format!("read a certificate of {} B", der.len()), 0, || {
        black_box(Certificate::from_der(&der).unwrap());
    });
    table.row("trust a certificate, new store and peer", 0, || {
        let certificate = Certificate::from_der(&der).unwrap();
        store().check(&certificate, &[], now).unwrap();
    });
    let store = store();
    store.check(client.certificate(), &[], now).unwrap();
    table.row("read and trust a certificate, known peer", 0, || {
        let certificate = store.read(&der).unwrap();
        store.check(&certificate, &[], now).unwrap();
    });
}
