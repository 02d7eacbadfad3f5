//! Base64 (RFC 4648 section 4), as XML carries it.
//!
//! XML signatures and ciphertexts are `xsd:base64Binary`: white space may stand anywhere, and many
//! peers wrap lines at 76 or 64 characters. [`decode_xml`] takes all of that. Text without white
//! space, and text in lines of one length, goes through the vector decoder in large blocks;
//! anything else is compacted first. Everything else about the encoding is strict: padding is
//! required, stands only at the end, and unused bits are zero.

use std::fmt;
use std::sync::LazyLock;

use base64::Engine as _;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use base64::engine::Simd;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

/// The standard alphabet, with padding that must be there and unused bits that must be zero: the
/// defaults of the library.
const STRICT: GeneralPurposeConfig = GeneralPurposeConfig::new();

/// The engine with the widest vectors of this processor, which are looked up once.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
static STANDARD: LazyLock<Simd> = LazyLock::new(|| Simd::standard(STRICT));
/// Other processors have no vectors here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
static STANDARD: LazyLock<GeneralPurpose> =
    LazyLock::new(|| GeneralPurpose::new(&base64::alphabet::STANDARD, STRICT));

/// What short text is decoded with: vectors take longer to set up than its few groups take.
static SHORT: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, STRICT);

/// Characters of the longest text that is short: a digest of SHA-256 has 44.
const LONGEST_SHORT: usize = 64;

/// Characters that are decoded at once, whole groups of four: few enough to stay in the first-level
/// cache, which makes it cheap that safe code clears the room for the result first.
const BLOCK: usize = 8 * 1024;

/// The text is not base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Base64Error;

impl fmt::Display for Base64Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("expected base64, found a character outside the alphabet, wrong padding or an incomplete group")
    }
}

impl std::error::Error for Base64Error {}

/// Number of characters that `octets` bytes become.
#[must_use]
pub const fn encoded_length(octets: usize) -> usize {
    octets.div_ceil(3) * 4
}

/// Appends the encoding of `octets`, without line breaks.
pub fn encode_into(octets: &[u8], output: &mut Vec<u8>) {
    output.reserve(encoded_length(octets.len()));
    for piece in octets.chunks(BLOCK / 4 * 3) {
        let before = output.len();
        output.resize(before + encoded_length(piece.len()), 0);
        STANDARD
            .encode_slice(piece, &mut output[before..])
            .expect("the room is as long as the encoding");
    }
}

/// The encoding of `octets`, without line breaks.
#[must_use]
pub fn encode(octets: &[u8]) -> String {
    STANDARD.encode(octets)
}

/// Appends what `text` encodes. White space is not accepted.
///
/// # Errors
///
/// [`Base64Error`]; `output` is then as it was.
pub fn decode(text: &[u8], output: &mut Vec<u8>) -> Result<(), Base64Error> {
    let before = output.len();
    let decoded = match text.len() {
        ..=LONGEST_SHORT => SHORT.decode_vec(text, output),
        _ => STANDARD.decode_vec(text, output),
    };
    if decoded.is_err() {
        output.truncate(before);
    }
    decoded.map_err(|_| Base64Error)
}

/// Appends what `text` encodes, skipping XML white space (space, tab, CR, LF) wherever it stands.
///
/// # Errors
///
/// [`Base64Error`]; `output` is then as it was.
///
/// ```
/// let mut bytes = Vec::new();
/// soapstone_crypto::base64::decode_xml(b" c29h\n cHN0\n b25l ", &mut bytes)?;
/// assert_eq!(bytes, b"soapstone");
/// # Ok::<(), soapstone_crypto::base64::Base64Error>(())
/// ```
pub fn decode_xml(text: &[u8], output: &mut Vec<u8>) -> Result<(), Base64Error> {
    let before = output.len();
    let result = decode_trimmed(trim(text), output);
    if result.is_err() {
        output.truncate(before);
    }
    result
}

/// What `text` encodes, as [`decode_xml`] reads it, in a new vector.
///
/// # Errors
///
/// [`Base64Error`].
pub fn decode_xml_to_vec(text: &[u8]) -> Result<Vec<u8>, Base64Error> {
    let mut output = Vec::with_capacity(text.len() / 4 * 3);
    decode_xml(text, &mut output)?;
    Ok(output)
}

const fn is_space(octet: u8) -> bool {
    matches!(octet, b' ' | b'\t' | b'\r' | b'\n')
}

fn trim(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_space(*first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && is_space(*last)
    {
        text = rest;
    }
    text
}

/// How far to look for the first line break: beyond the longest line anybody wraps at.
const LOOKAHEAD: usize = 1024;

fn decode_trimmed(mut text: &[u8], output: &mut Vec<u8>) -> Result<(), Base64Error> {
    output.reserve(text.len() / 4 * 3 + 3);
    // Most text has no white space inside. The decoder soon meets white space that is there; what
    // it decoded before that stays.
    while let Some((block, rest)) = text.split_at_checked(BLOCK) {
        let before = output.len();
        if decode(block, output).is_err() {
            break;
        }
        let padded = output.len() - before != BLOCK / 4 * 3;
        if padded && !rest.is_empty() {
            return Err(Base64Error);
        }
        text = rest;
    }
    if text.len() < BLOCK && decode(text, output).is_ok() {
        return Ok(());
    }
    let mut blocks = Blocks::new(output);
    while !text.is_empty() {
        let rest = match line_length(text) {
            Some(line) => {
                let separator = text[line..]
                    .iter()
                    .take_while(|&&octet| is_space(octet))
                    .count();
                blocks.take_equal_lines(text, line, &text[line..line + separator])?
            }
            None => blocks.take_run(text)?,
        };
        text = rest;
    }
    blocks.finish()
}

/// Characters before the first white space, if it is near.
fn line_length(text: &[u8]) -> Option<usize> {
    let near = &text[..text.len().min(LOOKAHEAD)];
    near.iter().position(|&octet| is_space(octet))
}

/// Gathers characters and decodes them block by block.
struct Blocks<'o> {
    gathered: [u8; BLOCK],
    length: usize,
    padded: bool,
    output: &'o mut Vec<u8>,
}

impl<'o> Blocks<'o> {
    fn new(output: &'o mut Vec<u8>) -> Self {
        Self {
            gathered: [0; BLOCK],
            length: 0,
            padded: false,
            output,
        }
    }

    /// Takes lines of `line` characters, each followed by exactly `separator`, at least one;
    /// returns what is left.
    fn take_equal_lines<'t>(
        &mut self,
        mut text: &'t [u8],
        line: usize,
        separator: &[u8],
    ) -> Result<&'t [u8], Base64Error> {
        let step = line + separator.len();
        while let Some((row, rest)) = text.split_at_checked(step)
            && row[line..] == *separator
        {
            if self.length + line > BLOCK {
                self.flush()?;
            }
            self.gathered[self.length..self.length + line].copy_from_slice(&row[..line]);
            self.length += line;
            text = rest;
        }
        Ok(text)
    }

    /// Takes characters that are known to be free of white space: a stretch without any in sight,
    /// or the end of the text.
    fn take_run<'t>(&mut self, text: &'t [u8]) -> Result<&'t [u8], Base64Error> {
        let (run, rest) = text.split_at(text.len().min(LOOKAHEAD));
        if self.length + run.len() > BLOCK {
            self.flush()?;
        }
        self.gathered[self.length..self.length + run.len()].copy_from_slice(run);
        self.length += run.len();
        Ok(rest)
    }

    /// Decodes the whole groups gathered so far and keeps the rest.
    fn flush(&mut self) -> Result<(), Base64Error> {
        let whole = self.length / 4 * 4;
        self.decode_gathered(whole)?;
        self.gathered.copy_within(whole..self.length, 0);
        self.length -= whole;
        Ok(())
    }

    fn finish(mut self) -> Result<(), Base64Error> {
        self.decode_gathered(self.length)
    }

    fn decode_gathered(&mut self, characters: usize) -> Result<(), Base64Error> {
        if characters == 0 {
            return Ok(());
        }
        if self.padded {
            return Err(Base64Error);
        }
        let before = self.output.len();
        decode(&self.gathered[..characters], self.output)?;
        self.padded = (self.output.len() - before) != characters / 4 * 3;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(length: usize) -> Vec<u8> {
        (0..length)
            .map(|index| (index * 31 + index / 7) as u8)
            .collect()
    }

    fn wrapped(text: &str, line: usize, separator: &str) -> String {
        text.as_bytes()
            .chunks(line)
            .map(|row| std::str::from_utf8(row).unwrap())
            .collect::<Vec<_>>()
            .join(separator)
    }

    #[test]
    fn the_examples_of_rfc_4648_hold() {
        for (plain, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(plain.as_bytes()), encoded);
            assert_eq!(encoded.len(), encoded_length(plain.len()));
            assert_eq!(
                decode_xml_to_vec(encoded.as_bytes()).unwrap(),
                plain.as_bytes()
            );
        }
    }

    #[test]
    fn any_wrapping_decodes_to_the_same_octets() {
        for length in [0, 1, 2, 3, 47, 48, 57, 58, 100, 6143, 6144, 6145, 20_000] {
            let plain = octets(length);
            let text = encode(&plain);
            for line in [1, 3, 4, 19, 60, 64, 76, 77, 1000, 5000] {
                for separator in ["\n", "\r\n", " ", "\n      ", "\t\r\n"] {
                    let text = wrapped(&text, line, separator);
                    assert_eq!(
                        decode_xml_to_vec(text.as_bytes()).unwrap(),
                        plain,
                        "{length} {line}"
                    );
                    let padded = format!("\n  {text}\r\n");
                    assert_eq!(decode_xml_to_vec(padded.as_bytes()).unwrap(), plain);
                }
            }
        }
    }

    #[test]
    fn lines_that_change_their_length_decode_too() {
        let plain = octets(30_000);
        let text = encode(&plain);
        let (first, second) = text.split_at(20_001);
        let text = format!(
            "{}\n{}",
            wrapped(first, 76, "\n"),
            wrapped(second, 64, "\r\n")
        );
        assert_eq!(decode_xml_to_vec(text.as_bytes()).unwrap(), plain);
    }

    #[test]
    fn padding_before_the_end_is_refused_wherever_it_stands() {
        for text in [
            "Zg==Zm9v",
            "Zg==\nZm9v",
            "Zg=\n=Zm9v",
            "Zg==\nZg==",
            "=",
            "Zg=",
            "Zg",
            "Zh==",
            "Zm9v\n=",
        ] {
            assert_eq!(
                decode_xml_to_vec(text.as_bytes()),
                Err(Base64Error),
                "{text}"
            );
        }
        let mut long = wrapped(&encode(&octets(BLOCK)), 64, "\n").into_bytes();
        long[40_00 / 65 * 65 + 63] = b'=';
        assert_eq!(decode_xml_to_vec(&long), Err(Base64Error));
    }

    #[test]
    fn padding_that_ends_a_block_exactly_and_is_followed_by_more_is_refused() {
        let mut text = wrapped(&encode(&octets(BLOCK / 4 * 3 - 1)), 64, "\n");
        assert!(text.ends_with('='));
        text.push_str("\nZm9v");
        assert_eq!(decode_xml_to_vec(text.as_bytes()), Err(Base64Error));
    }

    #[test]
    fn white_space_after_whole_blocks_without_any_is_skipped() {
        let plain = octets(3 * BLOCK);
        let text = encode(&plain);
        for at in [1, 4, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, text.len() - 1] {
            let mut broken = text.clone();
            broken.insert(at, '\n');
            assert_eq!(decode_xml_to_vec(broken.as_bytes()).unwrap(), plain, "{at}");
        }
        let mut long = text.into_bytes();
        long[BLOCK - 1] = b'=';
        assert_eq!(decode_xml_to_vec(&long), Err(Base64Error));
    }

    #[test]
    fn characters_outside_the_alphabet_are_refused() {
        for text in [
            "Zm9-",
            "Zm9v\u{b}",
            "Zm\09v",
            "Zm9v&#13;\nZm9v",
            "Zm9\u{fc}",
        ] {
            assert_eq!(
                decode_xml_to_vec(text.as_bytes()),
                Err(Base64Error),
                "{text}"
            );
        }
    }

    #[test]
    fn a_failure_leaves_the_output_as_it_was() {
        let mut output = b"kept".to_vec();
        assert_eq!(decode_xml(b"Zm9v\nZm9v\n?", &mut output), Err(Base64Error));
        assert_eq!(output, b"kept");
        assert_eq!(decode(b"Zm9v Zm9v", &mut output), Err(Base64Error));
        assert_eq!(output, b"kept");
    }
}
