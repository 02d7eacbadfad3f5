//! Cipher text that is too short to be signed without its key.
//!
//! A signature over cipher text in CBC says nothing of the key. Whoever can put another
//! `xenc:EncryptedKey` in the place of the sender's makes another text of it: each key gives one
//! that looks random. Most of those are no XML. The shorter the cipher text is, the fewer keys have
//! to be tried until one gives a text that a receiver takes.
//!
//! The rule kept here: cipher text is short if fewer than 2^64 tries are expected. The tests count
//! them, from above and without the details of XML that make them more.
//!
//! With `n` blocks of `b` bytes, the last byte `N` of the last block is the length of the padding,
//! of which nothing else is looked at (XML-Enc 1.1, 5.2). The text is what stands before. One key
//! in `1 / A` gives a text that is taken:
//!
//! ```text
//! A(n) = 1/256 · Σ p(b·n − N), N from 1 to b       p(L): how many strings of L bytes are texts,
//!                                                  of all 256^L that there are
//! ```
//!
//! | log2 of the expected tries | 1 block | 2 | 3 | 4 | 5 | 6 | 7 | 8 |
//! |---|---:|---:|---:|---:|---:|---:|---:|---:|
//! | content in ASCII, 16 bytes | 7.3 | 30.0 | 52.6 | 75.2 | | | | |
//! | content in UTF-8, 16 bytes | 7.2 | 24.9 | 42.4 | 59.9 | **77.4** | | | |
//! | content in UTF-8, 8 bytes | 7.2 | 16.1 | 24.9 | 33.6 | 42.4 | 51.2 | 59.9 | **68.7** |
//! | an element in UTF-8, 16 bytes | 33.1 | 49.3 | **66.3** | | | | | |
//! | an element in UTF-8, 8 bytes | 33.2 | 38.6 | 49.3 | 58.2 | **66.3** | | | |

use soapstone_crypto::DataEncryption;
use soapstone_xmlsec::enc::ContentType;

/// What the use of short cipher text is called where it is counted
/// ([`Evidence::weak`](crate::Evidence::weak)) and where it ends
/// ([`Retirement`](crate::Retirement)).
pub const SHORT_CIPHER_TEXT: &str = "short-cipher-text";

/// Blocks of AES, and of Triple DES, that content has at least which is not short.
const BLOCKS_OF_CONTENT: [usize; 2] = [5, 8];

/// Those that a whole element has: it begins and ends with a tag, which few random texts do.
const BLOCKS_OF_ELEMENT: [usize; 2] = [3, 5];

/// Bytes of the shortest cipher text that is not short, with its initialization vector. 0 with an
/// authentication: under another key its tag does not fit.
pub(crate) fn least_bytes(method: DataEncryption, kind: &ContentType) -> usize {
    if method.is_authenticated() {
        return 0;
    }
    let [of_aes, of_triple_des] = match kind {
        ContentType::Element => BLOCKS_OF_ELEMENT,
        _ => BLOCKS_OF_CONTENT,
    };
    let blocks = match method {
        DataEncryption::TripleDesCbc => of_triple_des,
        _ => of_aes,
    };
    method.iv_length() + blocks * method.block_length()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many characters of XML 1.0 have 1, 2, 3 and 4 bytes in UTF-8 (production 2, `Char`).
    const CHARACTERS: [f64; 4] = [99.0, 1920.0, 61_438.0, 1_048_576.0];
    /// Characters of text in ASCII that begin no markup and no reference.
    const ASCII_TEXT: [f64; 4] = [96.0, 0.0, 0.0, 0.0];
    /// What may stand in a start tag without an attribute: names in ASCII with their colons and
    /// white space, and every longer character.
    const IN_TAG: [f64; 4] = [70.0, 1920.0, 61_438.0, 1_048_576.0];
    const WHITE_SPACE: f64 = 4.0 / 256.0;
    /// Longest text that is counted.
    const LONGEST: usize = 256;

    /// The share of strings of each length that are characters of this set alone.
    fn shares(characters: [f64; 4]) -> Vec<f64> {
        let mut shares = vec![1.0];
        for length in 1..LONGEST {
            let ending = characters.iter().enumerate().map(|(at, count)| {
                let before = length.checked_sub(at + 1).map_or(0.0, |rest| shares[rest]);
                count * before * 256_f64.powi(-(at as i32) - 1)
            });
            shares.push(ending.sum());
        }
        shares
    }

    /// The share of strings of a length that may be one element, from above. White space may stand
    /// around it.
    ///
    /// With one `<` alone, the element ends with `/>`. Its tag has an attribute, with `=` and two
    /// quotes, or none. With several, the text begins with one `<` and ends with one `>`. Between
    /// them are another `>`, and a `<` behind it. A `/` is beside one of these, in one of three
    /// places.
    fn share_of_elements(length: usize) -> f64 {
        let (all, in_tag) = (shares(CHARACTERS), shares(IN_TAG));
        let share = |fixed: i32| 256_f64.powi(-fixed);
        let choose = |from: usize, count: usize| -> f64 {
            (0..count).fold(1.0, |product, at| {
                product * from.saturating_sub(at) as f64 / (at + 1) as f64
            })
        };
        let of_element = |length: usize| {
            let named = length.checked_sub(3).filter(|inside| *inside > 0);
            let empty = named.map_or(0.0, |inside| {
                let attributes = inside
                    .checked_sub(3)
                    .map_or(0.0, |rest| 2.0 * choose(inside, 3) * share(6) * all[rest]);
                share(3) * in_tag[inside] + attributes
            });
            let tags = length.checked_sub(5).filter(|rest| *rest > 1);
            let several = tags.map_or(0.0, |rest| {
                3.0 * choose(length - 2, 2) * share(5) * all[rest]
            });
            empty + several
        };
        (0..length)
            .map(|around| {
                let places = (around + 1) as f64;
                places * WHITE_SPACE.powi(around as i32) * of_element(length - around)
            })
            .sum()
    }

    /// log2 of the tries that are expected for cipher text of so many blocks.
    fn tries(blocks: usize, block: usize, share: impl Fn(usize) -> f64) -> f64 {
        let texts = (1..=block).map(|padding| share(blocks * block - padding));
        -(texts.sum::<f64>() / 256.0).log2()
    }

    /// The fewest blocks for which 2^64 tries are expected.
    fn least_blocks(block: usize, share: impl Fn(usize) -> f64) -> usize {
        let mut blocks = 1..;
        blocks
            .find(|blocks| tries(*blocks, block, &share) >= 64.0)
            .unwrap()
    }

    #[test]
    fn nobody_finds_a_key_for_cipher_text_that_is_not_short() {
        let all = shares(CHARACTERS);
        let content = |length: usize| all[length];
        for (at, block) in [16, 8].into_iter().enumerate() {
            assert_eq!(least_blocks(block, content), BLOCKS_OF_CONTENT[at]);
            assert_eq!(
                least_blocks(block, share_of_elements),
                BLOCKS_OF_ELEMENT[at]
            );
        }
    }

    #[test]
    fn the_table_says_how_many_tries_are_expected() {
        let near = |found: f64, told: f64| assert!((found - told).abs() < 0.06, "{found} {told}");
        let (all, ascii) = (shares(CHARACTERS), shares(ASCII_TEXT));
        let content = |length: usize| all[length];
        let in_ascii = |length: usize| ascii[length];
        for (at, told) in [7.3, 30.0, 52.6, 75.2].into_iter().enumerate() {
            near(tries(at + 1, 16, in_ascii), told);
        }
        for (at, told) in [7.2, 24.9, 42.4, 59.9, 77.4].into_iter().enumerate() {
            near(tries(at + 1, 16, content), told);
        }
        let short_blocks = [7.2, 16.1, 24.9, 33.6, 42.4, 51.2, 59.9, 68.7];
        for (at, told) in short_blocks.into_iter().enumerate() {
            near(tries(at + 1, 8, content), told);
        }
        for (at, told) in [33.1, 49.3, 66.3].into_iter().enumerate() {
            near(tries(at + 1, 16, share_of_elements), told);
        }
        for (at, told) in [33.2, 38.6, 49.3, 58.2, 66.3].into_iter().enumerate() {
            near(tries(at + 1, 8, share_of_elements), told);
        }
    }

    #[test]
    fn what_is_authenticated_is_never_short() {
        let content = ContentType::Content;
        assert_eq!(least_bytes(DataEncryption::Aes256Gcm, &content), 0);
        assert_eq!(least_bytes(DataEncryption::Aes128Cbc, &content), 96);
        assert_eq!(least_bytes(DataEncryption::TripleDesCbc, &content), 72);
        let element = ContentType::Element;
        assert_eq!(least_bytes(DataEncryption::Aes256Cbc, &element), 64);
        assert_eq!(least_bytes(DataEncryption::TripleDesCbc, &element), 48);
    }
}
