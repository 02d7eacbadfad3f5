//! Sealed data opens to the same bytes; changed data gives the single decryption failure.

use super::*;
use crate::testing::hex;

const ALL: &[DataEncryption] = DataEncryption::ALL;

fn key_for(algorithm: DataEncryption) -> SymmetricKey {
    SymmetricKey::generate(algorithm.key_length()).unwrap()
}

#[test]
fn what_is_sealed_opens_to_the_same_octets_at_every_length() {
    for &algorithm in ALL {
        let key = key_for(algorithm);
        for length in [0, 1, 7, 8, 15, 16, 17, 1000] {
            let plain: Vec<u8> = (0..length).map(|index| index as u8).collect();
            let sealed = seal(algorithm, &key, &plain).unwrap();
            assert_eq!(
                sealed.len(),
                algorithm.ciphertext_length(length),
                "{algorithm} {length}"
            );
            assert_eq!(
                open(algorithm, &key, &sealed).unwrap(),
                plain,
                "{algorithm} {length}"
            );
        }
    }
}

#[test]
fn what_is_sealed_apart_leaves_alone_what_stands_around_it() {
    for &algorithm in ALL {
        let key = key_for(algorithm);
        for length in [0, 1, 7, 8, 15, 16, 17, 1000] {
            let plain: Vec<u8> = (0..length).map(|index| index as u8).collect();
            let mut octets = [b"before", &plain[..], b"behind"].concat();
            let place = 6..6 + length;
            let sealed = seal_apart(
                algorithm,
                &key,
                &mut octets[place.clone()],
                &mut Supply::default(),
            )
            .unwrap();
            assert!(octets.starts_with(b"before") && octets.ends_with(b"behind"));
            let enciphered = &octets[place][..sealed.length()];
            let value = [sealed.before(), enciphered, sealed.after()].concat();
            assert_eq!(value.len(), algorithm.ciphertext_length(length));
            assert_eq!(open(algorithm, &key, &value).unwrap(), plain);
        }
    }
}

#[test]
fn sealing_leaves_what_stands_before_alone() {
    for &algorithm in ALL {
        let key = key_for(algorithm);
        let mut buffer = b"before".to_vec();
        buffer.resize(6 + algorithm.iv_length(), 0);
        buffer.extend_from_slice(b"plaintext");
        seal_in_place(algorithm, &key, &mut buffer, 6, &mut Supply::default()).unwrap();
        assert!(buffer.starts_with(b"before"));
        let sealed = &mut buffer[6..];
        let plain = open_in_place(algorithm, &key, sealed).unwrap();
        assert_eq!(&sealed[plain], b"plaintext");
    }
}

#[test]
fn one_key_serves_several_algorithms_in_turn() {
    let algorithms = [
        DataEncryption::Aes128Cbc,
        DataEncryption::Aes128Gcm,
        DataEncryption::Aes128Cbc,
    ];
    for rotation in 0..algorithms.len() {
        let key = SymmetricKey::generate(16).unwrap();
        for &algorithm in algorithms[rotation..].iter().chain(&algorithms) {
            let fresh = SymmetricKey::new(key.expose().to_vec()).unwrap();
            let sealed = seal(algorithm, &key, b"plaintext").unwrap();
            assert_eq!(open(algorithm, &fresh, &sealed).unwrap(), b"plaintext");
            let sealed = seal(algorithm, &fresh, b"plaintext").unwrap();
            assert_eq!(open(algorithm, &key, &sealed).unwrap(), b"plaintext");
        }
    }
}

#[test]
fn every_way_to_fail_is_the_same_failure() {
    for &algorithm in ALL {
        let key = key_for(algorithm);
        let sealed = seal(algorithm, &key, b"attack at dawn").unwrap();
        for length in 0..sealed.len() {
            let cut = open(algorithm, &key, &sealed[..length]);
            // A cut at a block's end may leave a byte that passes for padding: CBC cannot tell.
            if algorithm.is_authenticated()
                || (length - algorithm.iv_length().min(length)) % algorithm.block_length() != 0
            {
                assert_eq!(cut, Err(DecryptFailed), "{algorithm} {length}");
            }
        }
        let other_length = SymmetricKey::generate(algorithm.key_length() + 8).unwrap();
        assert_eq!(open(algorithm, &other_length, &sealed), Err(DecryptFailed));
    }
}

#[test]
fn an_altered_octet_is_noticed_by_gcm() {
    for algorithm in [
        DataEncryption::Aes128Gcm,
        DataEncryption::Aes192Gcm,
        DataEncryption::Aes256Gcm,
    ] {
        let key = key_for(algorithm);
        let sealed = seal(algorithm, &key, b"attack at dawn").unwrap();
        for index in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[index] ^= 1;
            assert_eq!(open(algorithm, &key, &altered), Err(DecryptFailed));
        }
    }
}

/// Encrypts whole blocks without adding padding, so that a test can choose the last byte.
fn blocks_ending_in(algorithm: DataEncryption, key: &SymmetricKey, last: u8) -> Vec<u8> {
    let (start, block) = (algorithm.iv_length(), algorithm.block_length());
    let mut buffer = vec![0x55; start + 2 * block];
    let end = buffer.len() - 1;
    buffer[end] = last;
    let (vector, body) = buffer.split_at_mut(start);
    encrypt_blocks(algorithm, key, vector, body).unwrap();
    buffer
}

#[test]
fn only_the_last_octet_of_the_padding_counts() {
    for algorithm in [
        DataEncryption::TripleDesCbc,
        DataEncryption::Aes128Cbc,
        DataEncryption::Aes192Cbc,
        DataEncryption::Aes256Cbc,
    ] {
        let key = key_for(algorithm);
        let block = algorithm.block_length();
        for last in 0..=255_u8 {
            let opened = open(algorithm, &key, &blocks_ending_in(algorithm, &key, last));
            let padding = usize::from(last);
            if (1..=block).contains(&padding) {
                assert_eq!(opened.unwrap(), vec![0x55; 2 * block - padding]);
            } else {
                assert_eq!(opened, Err(DecryptFailed), "{algorithm} {last}");
            }
        }
    }
}

#[test]
fn a_key_of_the_wrong_length_is_refused_by_name() {
    let key = SymmetricKey::generate(16).unwrap();
    assert_eq!(
        seal(DataEncryption::Aes256Gcm, &key, b""),
        Err(CryptoError::KeyLength {
            algorithm: "aes256-gcm",
            expected: 32,
            found: 16
        })
    );
}

#[test]
fn a_buffer_without_room_for_the_vector_is_refused() {
    let algorithm = DataEncryption::Aes128Gcm;
    assert_eq!(
        seal_in_place(
            algorithm,
            &key_for(algorithm),
            &mut vec![0; 11],
            0,
            &mut Supply::default()
        ),
        Err(CryptoError::Library {
            operation: "encrypting without room for the vector"
        })
    );
}

/// NIST SP 800-38A F.2 (AES) and the GCM specification's test cases 2, 8 and 14, with padding or
/// tag as they fall.
#[test]
fn published_ciphertexts_decrypt() {
    let vector = hex("000102030405060708090a0b0c0d0e0f");
    let plain = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
    for (algorithm, key, cipher) in [
        (
            DataEncryption::Aes128Cbc,
            "2b7e151628aed2a6abf7158809cf4f3c",
            "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2",
        ),
        (
            DataEncryption::Aes192Cbc,
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            "4f021db243bc633d7178183a9fa071e8b4d9ada9ad7dedf4e5e738763f69145a",
        ),
        (
            DataEncryption::Aes256Cbc,
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d",
        ),
    ] {
        let key = SymmetricKey::new(hex(key)).unwrap();
        let mut body = plain.clone();
        encrypt_blocks(algorithm, &key, &vector, &mut body).unwrap();
        assert_eq!(body, hex(cipher), "{algorithm}");
        decrypt_blocks(algorithm, &key, &vector, &mut body).unwrap();
        assert_eq!(body, plain, "{algorithm}");
    }
    for (algorithm, cipher) in [
        (
            DataEncryption::Aes128Gcm,
            "0388dace60b6a392f328c2b971b2fe78ab6e47d42cec13bdf53a67b21257bddf",
        ),
        (
            DataEncryption::Aes192Gcm,
            "98e7247c07f0fe411c267e4384b0f6002ff58d80033927ab8ef4d4587514f0fb",
        ),
        (
            DataEncryption::Aes256Gcm,
            "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919",
        ),
    ] {
        let key = SymmetricKey::new(vec![0; algorithm.key_length()]).unwrap();
        let message = [vec![0; 12], hex(cipher)].concat();
        assert_eq!(
            open(algorithm, &key, &message).unwrap(),
            vec![0; 16],
            "{algorithm}"
        );
    }
}

/// NIST SP 800-67's sample keys with the ciphertext of its ECB example turned into one CBC block by
/// a zero vector.
#[test]
fn triple_des_encrypts_the_published_block() {
    let algorithm = DataEncryption::TripleDesCbc;
    let key = SymmetricKey::new(hex("0123456789abcdef23456789abcdef01456789abcdef0123")).unwrap();
    let mut block = hex("5468652071756663");
    encrypt_blocks(algorithm, &key, &[0; 8], &mut block).unwrap();
    assert_eq!(block, hex("a826fd8ce53b855f"));
    decrypt_blocks(algorithm, &key, &[0; 8], &mut block).unwrap();
    assert_eq!(block, hex("5468652071756663"));
}

/// SP 800-67 section 2: the three keys are different, and none is one of the weak keys of DES.
#[test]
fn a_triple_des_key_that_is_weaker_than_three_keys_is_refused() {
    let algorithm = DataEncryption::TripleDesCbc;
    let (one, two, three, weak) = (
        "0123456789abcdef",
        "23456789abcdef01",
        "456789abcdef0123",
        "0101010101010101",
    );
    for parts in [
        [one, one, two],
        [one, two, two],
        [one, two, one],
        [one, one, one],
        [weak, two, three],
    ] {
        let key = SymmetricKey::new(hex(&parts.concat())).unwrap();
        assert_eq!(
            seal(algorithm, &key, b"plain"),
            Err(CryptoError::Unsupported {
                what: "a Triple DES key with equal or weak parts".to_owned()
            }),
            "{parts:?}"
        );
        assert_eq!(open(algorithm, &key, &[7; 24]), Err(DecryptFailed));
    }
}
