//! The work that no implementation of sign-encrypt can avoid, each part alone: scan, digest,
//! cipher, base64, RSA or elliptic curves.

use std::cell::RefCell;
use std::hint::black_box;

use soapstone::crypto::random::Supply;
use soapstone::crypto::{
    Curve, DataEncryption, DigestAlgorithm, EphemeralAgreement, KeyAgreement, KeyKind,
    KeyTransport, OaepParameters, PrivateKey, PublicKey, SecretBytes, SignatureAlgorithm,
    SymmetricKey, base64, digest, open_in_place, seal_in_place,
};
use soapstone::wss::{Envelope, Suite};
use soapstone::xml::{Buffers, Limits};

use crate::measurement::{Effort, Measurement, PARTS, Samples};
use crate::payload::Payload;

/// The suite that they are of.
pub(crate) const SUITE: &str = "Basic128GCM";
const DATA: DataEncryption = DataEncryption::Aes128Gcm;

/// Measures each part on `payload`.
pub(crate) fn run(payload: Payload, effort: Effort, emit: &mut dyn FnMut(&Measurement)) {
    let parts = Parts::new(payload.envelope());
    let mut measure = |op: &'static str, worked_on: usize, samples: Samples| {
        let figures = samples.figures();
        emit(&Measurement {
            suite: SUITE.to_owned(),
            bytes: parts.plain.len(),
            secured_bytes: worked_on,
            ..Measurement::ours(op, PARTS, payload, &figures)
        });
    };

    let plain = parts.plain.len();
    let samples = Samples::of_prepared(effort, || parts.message(), |bytes| parts.scan(bytes));
    measure("part-scan", plain, samples);
    let samples = Samples::of(effort, || parts.digest());
    measure("part-digest", plain, samples);
    let samples = Samples::of_prepared(effort, || parts.to_seal(), |bytes| parts.seal(bytes));
    measure("part-encrypt", plain, samples);
    let samples = Samples::of_prepared(effort, || parts.to_open(), |bytes| parts.open(bytes));
    measure("part-decrypt", parts.sealed.len(), samples);
    let samples = Samples::of(effort, || parts.encode());
    measure("part-base64-encode", parts.sealed.len(), samples);
    let samples = Samples::of(effort, || parts.decode());
    measure("part-base64-decode", parts.text.len(), samples);

    let samples = Samples::of(effort, || {
        black_box(
            parts
                .key
                .sign(SignatureAlgorithm::HmacSha256, black_box(&SIGNED), None)
                .expect("an authentication code"),
        );
    });
    measure("part-hmac", SIGNED.len(), samples);
    let rsa = &parts.rsa;
    let samples = Samples::of(effort, || rsa.sign());
    measure("part-rsa-sign", SIGNED.len(), samples);
    let samples = Samples::of(effort, || rsa.verify());
    measure("part-rsa-verify", SIGNED.len(), samples);
    let samples = Samples::of(effort, || rsa.wrap());
    measure("part-rsa-wrap", WRAPPED.len(), samples);
    let samples = Samples::of(effort, || rsa.unwrap());
    measure("part-rsa-unwrap", rsa.wrapped.len(), samples);

    let elliptic = Elliptic::new();
    let signature = elliptic.sign(&SIGNED);
    let made = elliptic.make();
    let samples = Samples::of(effort, || {
        black_box(elliptic.sign(black_box(&SIGNED)));
    });
    measure("part-ecdsa-sign", SIGNED.len(), samples);
    let samples = Samples::of(effort, || {
        elliptic.verify(&SIGNED, black_box(&signature));
    });
    measure("part-ecdsa-verify", SIGNED.len(), samples);
    let samples = Samples::of(effort, || {
        black_box(elliptic.make());
    });
    measure("part-ecdh-make", WRAPPED.len(), samples);
    let samples = Samples::of(effort, || {
        black_box(elliptic.agree(black_box(&made.originator)));
    });
    measure("part-ecdh-agree", WRAPPED.len(), samples);
}

/// One message, and what has to be done with it in any case: each method does one part, once.
pub(crate) struct Parts {
    pub(crate) rsa: Rsa,
    plain: Vec<u8>,
    key: SymmetricKey,
    sealed: Vec<u8>,
    /// `sealed` in base64.
    text: Vec<u8>,
    limits: Limits,
    buffers: RefCell<Buffers>,
    /// Where results go.
    output: RefCell<Vec<u8>>,
}

impl Parts {
    pub(crate) fn new(plain: Vec<u8>) -> Self {
        let mut parts = Self {
            rsa: Rsa::new(2048),
            key: SymmetricKey::generate(DATA.key_length()).expect("a key"),
            plain,
            sealed: Vec::new(),
            text: Vec::new(),
            limits: Payload::limits(),
            buffers: RefCell::default(),
            output: RefCell::default(),
        };
        parts.sealed = parts.to_seal();
        seal_in_place(
            DATA,
            &parts.key,
            &mut parts.sealed,
            0,
            &mut Supply::default(),
        )
        .expect("encryption");
        base64::encode_into(&parts.sealed, &mut parts.text);
        parts
    }

    /// All that securing needs, on a [`message`](Self::message) and what is
    /// [`to_seal`](Self::to_seal).
    pub(crate) fn secure(&self, message: Vec<u8>, to_seal: Vec<u8>) {
        self.scan(message);
        self.digest();
        self.rsa.sign();
        self.rsa.wrap();
        self.seal(to_seal);
        self.encode();
    }

    /// All that opening needs, on a [`message`](Self::message) and what is
    /// [`to_open`](Self::to_open).
    pub(crate) fn open_secured(&self, message: Vec<u8>, to_open: Vec<u8>) {
        self.rsa.unwrap();
        self.decode();
        self.open(to_open);
        self.scan(message);
        self.digest();
        self.rsa.verify();
    }

    /// The message, to be scanned.
    pub(crate) fn message(&self) -> Vec<u8> {
        self.copy(0, &self.plain)
    }

    /// The message behind an empty initialization vector, to be sealed.
    pub(crate) fn to_seal(&self) -> Vec<u8> {
        self.copy(DATA.iv_length(), &self.plain)
    }

    /// The sealed message.
    pub(crate) fn to_open(&self) -> Vec<u8> {
        self.copy(0, &self.sealed)
    }

    fn copy(&self, before: usize, octets: &[u8]) -> Vec<u8> {
        let room = before + DATA.ciphertext_length(octets.len()) + 64;
        let mut bytes = self.buffers.borrow_mut().take(room);
        bytes.resize(before, 0);
        bytes.extend_from_slice(octets);
        bytes
    }

    fn scan(&self, message: Vec<u8>) {
        let buffers = &mut self.buffers.borrow_mut();
        let envelope = Envelope::parse(message, &self.limits, buffers).expect("an envelope");
        envelope.recycle(buffers);
    }

    fn digest(&self) {
        let digested = digest(DigestAlgorithm::Sha256, black_box(&self.plain));
        black_box(digested.expect("SHA-256"));
    }

    fn seal(&self, mut bytes: Vec<u8>) {
        seal_in_place(DATA, &self.key, &mut bytes, 0, &mut Supply::default()).expect("encryption");
        black_box(&bytes);
        self.buffers.borrow_mut().give(bytes);
    }

    fn open(&self, mut bytes: Vec<u8>) {
        black_box(open_in_place(DATA, &self.key, &mut bytes).expect("decryption"));
        self.buffers.borrow_mut().give(bytes);
    }

    fn encode(&self) {
        let output = &mut self.output.borrow_mut();
        output.clear();
        base64::encode_into(black_box(&self.sealed), output);
    }

    fn decode(&self) {
        let output = &mut self.output.borrow_mut();
        output.clear();
        base64::decode_xml(black_box(&self.text), output).expect("base64");
    }
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
    /// Making a key pair for one message and agreeing with it; 0 for RSA, where wrapping is little
    /// beside unwrapping.
    pub(crate) wrap: f64,
}

impl PrivateKeyTimes {
    /// Of an RSA key of so many bits.
    pub(crate) fn measure(bits: u32) -> Self {
        let rsa = Rsa::new(bits);
        let sign = Samples::of(Effort::QUICK, || rsa.sign());
        let unwrap = Samples::of(Effort::QUICK, || rsa.unwrap());
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
        let signature = elliptic.sign(&SIGNED);
        let made = elliptic.make();
        let best = |work: &mut dyn FnMut()| Samples::of(Effort::QUICK, work).figures().best;
        Self {
            sign: best(&mut || {
                black_box(elliptic.sign(black_box(&SIGNED)));
            }),
            unwrap: best(&mut || {
                black_box(elliptic.agree(black_box(&made.originator)));
            }),
            verify: best(&mut || elliptic.verify(black_box(&SIGNED), &signature)),
            wrap: best(&mut || {
                black_box(elliptic.make());
            }),
        }
    }
}

/// What digests and ciphers of a suite take alone for one byte, microseconds: the best times.
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
        seal_in_place(data, &key, &mut sealed, 0, &mut Supply::default()).expect("encryption");
        let sealing = Samples::of_prepared(
            Effort::QUICK,
            || with_room(&plain, data.iv_length()),
            |mut octets| {
                seal_in_place(data, &key, &mut octets, 0, &mut Supply::default())
                    .expect("encryption");
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
/// What is signed.
const SIGNED: [u8; 700] = [0x5a; 700];

/// A key, and each operation with it, once.
pub(crate) struct Rsa {
    key: PrivateKey,
    oaep: OaepParameters,
    signature: Vec<u8>,
    wrapped: Vec<u8>,
}

impl Rsa {
    fn new(bits: u32) -> Self {
        let mut rsa = Self {
            key: PrivateKey::generate(KeyKind::Rsa { bits }).expect("a key"),
            oaep: OaepParameters::new(DigestAlgorithm::Sha256, DigestAlgorithm::Sha256),
            signature: Vec::new(),
            wrapped: Vec::new(),
        };
        rsa.signature = rsa.signed();
        rsa.wrapped = rsa.wrapping();
        rsa
    }

    fn signed(&self) -> Vec<u8> {
        let signed = self
            .key
            .sign(SignatureAlgorithm::RsaSha256, black_box(&SIGNED));
        signed.expect("a signature")
    }

    fn wrapping(&self) -> Vec<u8> {
        self.key
            .public_key()
            .wrap(KeyTransport::RsaOaep, &self.oaep, &WRAPPED)
            .expect("a wrapped key")
    }

    pub(crate) fn sign(&self) {
        black_box(self.signed());
    }

    fn verify(&self) {
        let signature = black_box(&self.signature);
        self.key
            .public_key()
            .verify(SignatureAlgorithm::RsaSha256, &SIGNED, signature)
            .expect("a good signature");
    }

    fn wrap(&self) {
        black_box(self.wrapping());
    }

    pub(crate) fn unwrap(&self) {
        let wrapped = black_box(&self.wrapped);
        let length = Some(WRAPPED.len());
        let unwrapped = self
            .key
            .unwrap(KeyTransport::RsaOaep, &self.oaep, wrapped, length);
        black_box(unwrapped.expect("the key"));
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
