//! The work that no implementation of sign-encrypt can avoid, each part alone: scan, digest, cipher, base64, RSA.

use std::hint::black_box;

use soapstone::crypto::{
    DataEncryption, DigestAlgorithm, KeyKind, KeyTransport, OaepParameters, PrivateKey,
    SignatureAlgorithm, SymmetricKey, base64, digest, open_in_place, seal_in_place,
};
use soapstone::wss::Envelope;
use soapstone::xml::{Buffers, Limits};

use crate::measurement::{Effort, Measurement, Samples, Tuning};
use crate::payload::Payload;

const DATA: DataEncryption = DataEncryption::Aes128Gcm;

/// Measures each part on `payload`.
pub(crate) fn run(payload: Payload, effort: Effort, emit: &mut dyn FnMut(&Measurement)) {
    let plain = payload.envelope();
    let mut measure = |op: &'static str, worked_on: usize, samples: Samples| {
        let figures = samples.figures();
        emit(&Measurement {
            stack: "soapstone".into(),
            op: op.into(),
            mechanism: "parts".into(),
            suite: "Basic128GCM".to_owned(),
            binding: "certificate".into(),
            payload: payload.kind().into(),
            items: payload.items(),
            bytes: plain.len(),
            secured_bytes: worked_on,
            clients: 1,
            n: figures.n,
            mean_us: figures.mean,
            median_us: figures.median,
            p95_us: figures.p95,
            stdev_us: figures.stdev,
            per_s: 1e6 / figures.median,
            tuning: Tuning {
                canonical_runs: true,
            },
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

    let rsa = PrivateKey::generate(KeyKind::Rsa { bits: 2048 }).expect("a key");
    let oaep = OaepParameters::new(DigestAlgorithm::Sha256, DigestAlgorithm::Sha256);
    let signed = [0x5a_u8; 700];
    let samples = Samples::of(effort, || {
        black_box(
            key.sign(SignatureAlgorithm::HmacSha256, black_box(&signed), None)
                .expect("an authentication code"),
        );
    });
    measure("part-hmac", signed.len(), samples);
    let signature = rsa
        .sign(SignatureAlgorithm::RsaSha256, &signed)
        .expect("a signature");
    let wrapped = rsa
        .public_key()
        .wrap(KeyTransport::RsaOaep, &oaep, &[7; 16])
        .expect("a wrapped key");
    let samples = Samples::of(effort, || {
        black_box(
            rsa.sign(SignatureAlgorithm::RsaSha256, black_box(&signed))
                .expect("a signature"),
        );
    });
    measure("part-rsa-sign", signed.len(), samples);
    let samples = Samples::of(effort, || {
        rsa.public_key()
            .verify(
                SignatureAlgorithm::RsaSha256,
                &signed,
                black_box(&signature),
            )
            .expect("a good signature");
    });
    measure("part-rsa-verify", signed.len(), samples);
    let samples = Samples::of(effort, || {
        black_box(
            rsa.public_key()
                .wrap(KeyTransport::RsaOaep, &oaep, &[7; 16])
                .expect("a wrapped key"),
        );
    });
    measure("part-rsa-wrap", 16, samples);
    let samples = Samples::of(effort, || {
        black_box(
            rsa.unwrap(KeyTransport::RsaOaep, &oaep, black_box(&wrapped), Some(16))
                .expect("the key"),
        );
    });
    measure("part-rsa-unwrap", wrapped.len(), samples);
}
