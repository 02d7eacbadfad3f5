//! Operations in a token give what the same key gives in this process.

use soapstone_crypto::{DigestAlgorithm, PublicKey};
use soapstone_crypto::{
    EstablishmentError, KeyAgreement, KeyEstablishment, KeyKind, KeyTransport, OaepParameters,
    PrivateKey, SecretBytes, SignatureAlgorithm,
};
use soapstone_pkcs11::{KeyName, open};

use crate::support::{AGREEING, kinds, location, with_token};

/// What a key is told of a transported secret.
fn transported(
    key: &PrivateKey,
    algorithm: KeyTransport,
    parameters: &OaepParameters,
    ciphertext: &[u8],
) -> Result<SecretBytes, EstablishmentError> {
    key.establish(&KeyEstablishment::Transport {
        algorithm,
        parameters,
        ciphertext,
        expected_length: Some(16),
    })
}

#[test]
fn signatures_of_a_token_verify() {
    with_token("operations::signatures_of_a_token_verify", |token| {
        use SignatureAlgorithm as Algorithm;
        let rsa = [
            Algorithm::RsaSha1,
            Algorithm::RsaSha224,
            Algorithm::RsaSha256,
            Algorithm::RsaSha384,
            Algorithm::RsaSha512,
            Algorithm::RsaPssSha256,
            Algorithm::RsaPssSha384,
            Algorithm::RsaPssSha512,
        ];
        let ecdsa = [
            Algorithm::EcdsaSha1,
            Algorithm::EcdsaSha256,
            Algorithm::EcdsaSha384,
            Algorithm::EcdsaSha512,
        ];
        for (name, kind) in kinds() {
            let key = token.key(name);
            assert!(key.is_external());
            let algorithms = match kind {
                KeyKind::Rsa { .. } => &rsa[..],
                KeyKind::Ed25519 => &[Algorithm::Ed25519],
                _ => &ecdsa[..],
            };
            for &algorithm in algorithms {
                let signature = key.sign(algorithm, b"message");
                let signature = signature.unwrap_or_else(|error| panic!("{algorithm}: {error}"));
                let verified = key.public_key().verify(algorithm, b"message", &signature);
                assert_eq!(verified, Ok(()), "{name} {algorithm}");
            }
        }
    });
}

#[test]
fn a_key_is_found_by_its_id() {
    with_token("operations::a_key_is_found_by_its_id", |token| {
        let mut place = location("rsa");
        place.key = KeyName::Id(vec![0]);
        let identity = token.identity("rsa");
        open(place, identity.certificate().public_key()).expect("the key");
    });
}

#[test]
fn what_oaep_transports_is_unwrapped() {
    with_token("operations::what_oaep_transports_is_unwrapped", |token| {
        let key = token.key("rsa");
        let oaep = OaepParameters::default();
        let algorithm = KeyTransport::RsaOaep;
        let wrapped = key.public_key().wrap(algorithm, &oaep, &[7; 16]);
        let wrapped = wrapped.expect("it is wrapped");
        let opened = transported(&key, algorithm, &oaep, &wrapped).expect("a secret");
        assert_eq!(opened.expose(), &[7; 16]);
        let mut changed = wrapped;
        changed[100] ^= 1;
        let refused = transported(&key, algorithm, &oaep, &changed);
        assert_eq!(refused.map(drop), Err(EstablishmentError::Failed));
    });
}

/// SoftHSM has OAEP with SHA-1 alone, and says so before it looks at a ciphertext.
#[test]
fn an_algorithm_that_the_token_lacks_is_refused_by_its_name() {
    with_token(
        "operations::an_algorithm_that_the_token_lacks_is_refused_by_its_name",
        |token| {
            let key = token.key("rsa");
            let sha256 = DigestAlgorithm::Sha256;
            let oaep = OaepParameters::new(sha256, sha256);
            for ciphertext in [
                key.public_key()
                    .wrap(KeyTransport::RsaOaep, &oaep, &[7; 16])
                    .expect("it is wrapped"),
                vec![1; 256],
            ] {
                let refused = transported(&key, KeyTransport::RsaOaep, &oaep, &ciphertext);
                let Err(EstablishmentError::Unavailable { reason }) = refused else {
                    panic!("{:?}", refused.map(drop));
                };
                assert!(
                    reason
                        .ends_with("the token cannot do RSA-OAEP with sha256 and MGF1 with sha256"),
                    "{reason}"
                );
            }
        },
    );
}

/// Bleichenbacher's oracle, as in CVE-2020-25659 and its like: a token that removes the padding of
/// RSA 1.5 tells by its code whether it was right. So the token is asked for the number alone.
#[test]
fn a_wrong_padding_of_rsa_15_gives_the_substitute_that_every_opening_of_the_key_gives() {
    with_token(
        "operations::a_wrong_padding_of_rsa_15_gives_the_substitute_that_every_opening_of_the_key_gives",
        |token| {
            let (one, other) = (token.key("rsa"), token.key("rsa"));
            let oaep = OaepParameters::default();
            let algorithm = KeyTransport::Rsa15;
            let wrapped = one.public_key().wrap(algorithm, &oaep, &[7; 16]);
            let wrapped = wrapped.expect("it is wrapped");
            let opened = transported(&one, algorithm, &oaep, &wrapped).expect("a secret");
            assert_eq!(opened.expose(), &[7; 16]);
            for wrong in [vec![1; 256], vec![0; 256], vec![0xff; 256]] {
                let of = |key| {
                    let opened = transported(key, algorithm, &oaep, &wrong);
                    opened.expect("a substitute").expose().clone()
                };
                let substitute = of(&one);
                assert_eq!(substitute, of(&one));
                assert_eq!(substitute, of(&other));
                assert_eq!(&substitute, one.substitute(&wrong, 16).expose());
            }
        },
    );
}

#[test]
fn both_sides_of_an_agreement_have_the_same_secret() {
    with_token(
        "operations::both_sides_of_an_agreement_have_the_same_secret",
        |token| {
            for name in AGREEING {
                let key = token.key(name);
                let agree = |originator: &PublicKey| {
                    key.establish(&KeyEstablishment::Agreement {
                        algorithm: KeyAgreement::EcdhEs,
                        originator,
                    })
                };
                let made = key.public_key().agree_ephemeral(KeyAgreement::EcdhEs);
                let made = made.expect("a secret");
                let agreed = agree(&made.originator).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(agreed.expose(), made.secret.expose(), "{name}");
            }
        },
    );
}

/// SoftHSM imports keys on a curve for signatures alone.
#[test]
fn a_use_that_the_token_does_not_permit_is_told() {
    with_token(
        "operations::a_use_that_the_token_does_not_permit_is_told",
        |token| {
            let key = token.key("p256");
            let refused = key.establish(&KeyEstablishment::Agreement {
                algorithm: KeyAgreement::EcdhEs,
                originator: key.public_key(),
            });
            let Err(EstablishmentError::Unavailable { reason }) = refused else {
                panic!("{:?}", refused.map(drop));
            };
            assert!(
                reason.ends_with("the token does not permit the key to be used for ECDH"),
                "{reason}"
            );
        },
    );
}

#[test]
fn a_key_in_a_token_is_written_nowhere() {
    with_token("operations::a_key_in_a_token_is_written_nowhere", |token| {
        let key = token.key("rsa");
        let unsupported = soapstone_crypto::CryptoError::Unsupported {
            what: "writing a private key that is held elsewhere".to_owned(),
        };
        assert_eq!(key.to_pkcs8_der().map(drop), Err(unsupported.clone()));
        assert_eq!(key.to_pem(Some("password")).map(drop), Err(unsupported));
    });
}
