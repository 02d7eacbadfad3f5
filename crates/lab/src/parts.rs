//! The work that no implementation of sign-encrypt can avoid, each part alone: scan, digest, cipher, base64, RSA or elliptic curves.

use std::hint::black_box;

use soapstone::crypto::{
    Curve, DataEncryption, DigestAlgorithm, EphemeralAgreement, KeyAgreement, KeyKind,
    KeyTransport, OaepParameters, PrivateKey, PublicKey, SecretBytes, SignatureAlgorithm,
    SymmetricKey, base64, digest, open_in_place, seal_in_place,
};
use soapstone::wss::{Envelope, Suite};
use soapstone::xml::{Buffers, Limits};

use crate::measurement::{Effort, Measurement, Samples};
use crate::payload::Payload;

const DATA: DataEncryption = DataEncryption::Aes128Gcm;

/// Measures each part on `payload`.
pub(crate) fn run(payload: Payload, effort: Effort, emit: &mut dyn FnMut(&Measurement)) {
    let plain = payload.envelope();
    let mut measure = |op: &'static str, worked_on: usize, samples: Samples| {
        let figures = samples.figures();
        emit(&Measurement {
            suite: "Basic128GCM".to_owned(),
            bytes: plain.len(),
            secured_bytes: worked_on,
            ..Measurement::ours(op, "parts", payload, &figures)
        });
    };

    let mut limits = Limits::default();
    limits.message = 64 << 20;
    limits.elements = 1 << 22;
    let buffers = std::cell::RefCell::new(Buffers::default());
    let copy = || {
        let mut bytes = buffers.borrow_mut().take(plain.len());
        bytes.extend_from_slice(&plain);
        bytes
    };
    let samples = Samples::of_prepared(effort, copy, |bytes| {
        let buffers = &mut buffers.borrow_mut();
        let envelope = Envelope::parse(bytes, &limits, buffers).expect("an envelope");
        envelope.recycle(buffers);
    });
    measure("part-scan", plain.len(), samples);

    let samples = Samples::of(effort, || {
        black_box(digest(DigestAlgorithm::Sha256, black_box(&plain)).expect("SHA-256"));
    });
    measure("part-digest", plain.len(), samples);

    let key = SymmetricKey::generate(DATA.key_length()).expect("a key");
    let mut buffer = Vec::with_capacity(DATA.ciphertext_length(plain.len()) + 64);
    let mut fill = || {
        let mut taken = std::mem::take(&mut buffer);
        taken.clear();
        taken.reserve(DATA.ciphertext_length(plain.len()) + 64);
        taken.resize(DATA.iv_length(), 0);
        taken.extend_from_slice(&plain);
        taken
    };
    let samples = Samples::of_prepared(effort, &mut fill, |mut bytes| {
        seal_in_place(DATA, &key, &mut bytes, 0).expect("encryption");
        black_box(&bytes);
    });
    measure("part-encrypt", plain.len(), samples);
    let mut sealed = fill();
    seal_in_place(DATA, &key, &mut sealed, 0).expect("encryption");
    let samples = Samples::of_prepared(
        effort,
        || sealed.clone(),
        |mut bytes| {
            black_box(open_in_place(DATA, &key, &mut bytes).expect("decryption"));
        },
    );
    measure("part-decrypt", sealed.len(), samples);

    let mut text = Vec::with_capacity(sealed.len() / 3 * 4 + 8);
    let samples = Samples::of(effort, || {
        text.clear();
        base64::encode_into(black_box(&sealed), &mut text);
    });
    measure("part-base64-encode", sealed.len(), samples);
    let mut octets = Vec::with_capacity(sealed.len() + 8);
    let samples = Samples::of(effort, || {
        octets.clear();
        base64::decode_xml(black_box(&text), &mut octets).expect("base64");
    });
    measure("part-base64-decode", text.len(), samples);

    let rsa = Rsa::new(2048);
    let signed = [0x5a_u8; 700];
    let samples = Samples::of(effort, || {
        black_box(
            key.sign(SignatureAlgorithm::HmacSha256, black_box(&signed), None)
                .expect("an authentication code"),
        );
    });
    measure("part-hmac", signed.len(), samples);
    let signature = rsa.sign(&signed);
    let wrapped = rsa.wrap();
    let samples = Samples::of(effort, || {
        black_box(rsa.sign(black_box(&signed)));
    });
    measure("part-rsa-sign", signed.len(), samples);
    let samples = Samples::of(effort, || {
        rsa.key
            .public_key()
            .verify(
                SignatureAlgorithm::RsaSha256,
                &signed,
                black_box(&signature),
            )
            .expect("a good signature");
    });
    measure("part-rsa-verify", signed.len(), samples);
    let samples = Samples::of(effort, || {
        black_box(rsa.wrap());
    });
    measure("part-rsa-wrap", WRAPPED.len(), samples);
    let samples = Samples::of(effort, || {
        black_box(rsa.unwrap(black_box(&wrapped)));
    });
    measure("part-rsa-unwrap", wrapped.len(), samples);

    let elliptic = Elliptic::new();
    let signature = elliptic.sign(&signed);
    let made = elliptic.make();
    let samples = Samples::of(effort, || {
        black_box(elliptic.sign(black_box(&signed)));
    });
    measure("part-ecdsa-sign", signed.len(), samples);
    let samples = Samples::of(effort, || {
        elliptic.verify(&signed, black_box(&signature));
    });
    measure("part-ecdsa-verify", signed.len(), samples);
    let samples = Samples::of(effort, || {
        black_box(elliptic.make());
    });
    measure("part-ecdh-make", WRAPPED.len(), samples);
    let samples = Samples::of(effort, || {
        black_box(elliptic.agree(black_box(&made.originator)));
    });
    measure("part-ecdh-agree", WRAPPED.len(), samples);
}

/// What the operations with key pairs take alone, microseconds: the best times.
#[derive(Clone, Copy)]
pub(crate) struct PrivateKeyTimes {
    /// A signature.
    pub(crate) sign: f64,
    /// Unwrapping a key, or agreeing on what unwraps it.
    pub(crate) unwrap: f64,
    /// Verifying a signature; 0 for RSA, where it is little beside making one.
    pub(crate) verify: f64,
    /// Making a key pair for one message and agreeing with it; 0 for RSA, where wrapping is little beside unwrapping.
    pub(crate) wrap: f64,
}

impl PrivateKeyTimes {
    /// Of an RSA key of so many bits.
    pub(crate) fn measure(bits: u32) -> Self {
        let rsa = Rsa::new(bits);
        let wrapped = rsa.wrap();
        let sign = Samples::of(Effort::QUICK, || {
            black_box(rsa.sign(black_box(&[0x5a; 700])));
        });
        let unwrap = Samples::of(Effort::QUICK, || {
            black_box(rsa.unwrap(black_box(&wrapped)));
        });
        Self {
            sign: sign.figures().best,
            unwrap: unwrap.figures().best,
            verify: 0.0,
            wrap: 0.0,
        }
    }

    /// Of keys on P-256, by ECDSA and ECDH-ES.
    pub(crate) fn measure_elliptic() -> Self {
        let elliptic = Elliptic::new();
        let signed = [0x5a; 700];
        let signature = elliptic.sign(&signed);
        let made = elliptic.make();
        let best = |work: &mut dyn FnMut()| Samples::of(Effort::QUICK, work).figures().best;
        Self {
            sign: best(&mut || {
                black_box(elliptic.sign(black_box(&signed)));
            }),
            unwrap: best(&mut || {
                black_box(elliptic.agree(black_box(&made.originator)));
            }),
            verify: best(&mut || elliptic.verify(black_box(&signed), &signature)),
            wrap: best(&mut || {
                black_box(elliptic.make());
            }),
        }
    }
}

/// What digests and ciphers of a suite take alone for one octet, microseconds: the best times.
pub(crate) struct OctetTimes {
    /// Digesting.
    pub(crate) digest: f64,
    /// Enciphering.
    pub(crate) seal: f64,
    /// Deciphering.
    pub(crate) open: f64,
}

impl OctetTimes {
    /// Of what messages of the suite are made with.
    pub(crate) fn measure(suite: &Suite) -> Self {
        /// Enough that what begins and ends does not count, and no more than caches hold.
        const OCTETS: usize = 256 << 10;
        let plain = vec![0x5a; OCTETS];
        let per_octet = |samples: Samples| samples.figures().best / OCTETS as f64;
        let digests = suite.digest.first().copied();
        let algorithm = digests.unwrap_or(DigestAlgorithm::Sha256);
        let digesting = Samples::of(Effort::QUICK, || {
            black_box(digest(algorithm, black_box(&plain)).expect("a digest of the suite"));
        });
        let data = suite.data.first().copied().unwrap_or(DATA);
        let key = SymmetricKey::generate(data.key_length()).expect("a key");
        let with_room = |octets: &[u8], before: usize| {
            let mut taken = Vec::with_capacity(data.ciphertext_length(OCTETS) + 64);
            taken.resize(before, 0);
            taken.extend_from_slice(octets);
            taken
        };
        let mut sealed = with_room(&plain, data.iv_length());
        seal_in_place(data, &key, &mut sealed, 0).expect("encryption");
        let sealing = Samples::of_prepared(
            Effort::QUICK,
            || with_room(&plain, data.iv_length()),
            |mut octets| {
                seal_in_place(data, &key, &mut octets, 0).expect("encryption");
                black_box(&octets);
            },
        );
        let opening = Samples::of_prepared(
            Effort::QUICK,
            || with_room(&sealed, 0),
            |mut octets| {
                black_box(open_in_place(data, &key, &mut octets).expect("decryption"));
            },
        );
        Self {
            digest: per_octet(digesting),
            seal: per_octet(sealing),
            open: per_octet(opening),
        }
    }
}

/// The key that is wrapped.
const WRAPPED: [u8; 16] = [7; 16];

/// A key, and how it is used.
struct Rsa {
    key: PrivateKey,
    oaep: OaepParameters,
}

impl Rsa {
    fn new(bits: u32) -> Self {
        Self {
            key: PrivateKey::generate(KeyKind::Rsa { bits }).expect("a key"),
            oaep: OaepParameters::new(DigestAlgorithm::Sha256, DigestAlgorithm::Sha256),
        }
    }

    fn sign(&self, octets: &[u8]) -> Vec<u8> {
        self.key
            .sign(SignatureAlgorithm::RsaSha256, octets)
            .expect("a signature")
    }

    fn wrap(&self) -> Vec<u8> {
        self.key
            .public_key()
            .wrap(KeyTransport::RsaOaep, &self.oaep, &WRAPPED)
            .expect("a wrapped key")
    }

    fn unwrap(&self, wrapped: &[u8]) -> SecretBytes {
        self.key
            .unwrap(
                KeyTransport::RsaOaep,
                &self.oaep,
                wrapped,
                Some(WRAPPED.len()),
            )
            .expect("the key")
    }
}

/// A key on P-256, and how it is used.
struct Elliptic(PrivateKey);

impl Elliptic {
    fn new() -> Self {
        Self(PrivateKey::generate(KeyKind::Ec(Curve::P256)).expect("a key"))
    }

    fn sign(&self, octets: &[u8]) -> Vec<u8> {
        self.0
            .sign(SignatureAlgorithm::EcdsaSha256, octets)
            .expect("a signature")
    }

    fn verify(&self, octets: &[u8], signature: &[u8]) {
        self.0
            .public_key()
            .verify(SignatureAlgorithm::EcdsaSha256, octets, signature)
            .expect("a good signature");
    }

    /// What a sender does.
    fn make(&self) -> EphemeralAgreement {
        self.0
            .public_key()
            .agree_ephemeral(KeyAgreement::EcdhEs)
            .expect("a secret")
    }

    /// What a receiver does: the sender's key is read from the message.
    fn agree(&self, originator: &PublicKey) -> SecretBytes {
        let (curve, point) = originator.ec_components().expect("a point");
        let read = PublicKey::ec(curve, point).expect("a point on the curve");
        self.0
            .agree(KeyAgreement::EcdhEs, &read)
            .expect("the secret")
    }
}
