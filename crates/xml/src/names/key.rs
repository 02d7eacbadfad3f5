//! What names are compared by: two words each.

/// Names shorter than this are short: they and the `>` behind them fit into a key.
pub(crate) const SHORT: usize = 16;

/// `MASKS[n]` keeps the first n + 1 of 16 bytes.
const MASKS: [[u64; 2]; SHORT] = {
    let mut masks = [[0; 2]; SHORT];
    let mut length = 0;
    while length < SHORT {
        let mask = u128::MAX >> (8 * (SHORT - 1 - length));
        masks[length] = [mask as u64, (mask >> 64) as u64];
        length += 1;
    }
    masks
};

/// What names are compared by: the bytes of a short one and `>`; of others the first and the last
/// bytes, so that equal keys need another look.
pub(crate) type Key = [u64; 2];

/// The first `length` bytes of `window` and the one behind them: the key of a short name if that is
/// `>`.
#[inline(always)]
pub(crate) fn mask_name(window: &[u8; SHORT], length: usize) -> Key {
    let whole = u128::from_le_bytes(*window);
    let mask = &MASKS[length % SHORT];
    [whole as u64 & mask[0], (whole >> 64) as u64 & mask[1]]
}

/// The key of the name of `length` bytes at `at`.
#[inline]
pub(crate) fn key_at(source: &[u8], at: usize, length: usize) -> Key {
    match source.get(at..).and_then(<[u8]>::first_chunk) {
        Some(window) if (1..SHORT).contains(&length) => {
            let [low, high] = mask_name(window, length - 1);
            let end = u128::from(b'>') << (8 * length);
            [low | end as u64, high | (end >> 64) as u64]
        }
        _ => key_of(&source[at..at + length]),
    }
}

/// The key of a name. No two names have the same key if one of them is short.
#[inline]
pub(crate) fn key_of(name: &[u8]) -> Key {
    let mut key = [0; SHORT];
    if let (Some(first), Some(last), true) = (
        name.first_chunk::<8>(),
        name.last_chunk::<8>(),
        name.len() >= SHORT,
    ) {
        // The first byte is 0, which no name has.
        let last = u64::from_le_bytes(*last).wrapping_add((name.len() as u64) << 56);
        return [u64::from_le_bytes(*first) & !0xFF, last];
    }
    for (place, &byte) in key.iter_mut().zip(name) {
        *place = byte;
    }
    key[name.len() % SHORT] = b'>';
    mask_name(&key, name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_short_names_hold_the_name_and_its_end() {
        let window = b"abcdefgh>jklmnop";
        assert_eq!(
            key_of(b"abcdefgh"),
            [u64::from_le_bytes(*b"abcdefgh"), u64::from(b'>')]
        );
        assert_eq!(mask_name(window, 8), key_of(b"abcdefgh"));
        assert_ne!(mask_name(window, 7), key_of(b"abcdefg"));
        assert_eq!(
            mask_name(b"abcdefghijklmno>", 15),
            key_of(b"abcdefghijklmno")
        );
        for length in 1..=window.len() {
            assert_eq!(key_at(window, 0, length), key_of(&window[..length]));
        }
    }

    #[test]
    fn keys_of_long_names_are_no_short_names_keys() {
        assert_eq!(key_of(b"abcdefghijklmnop")[0] & 0xFF, 0);
        assert_ne!(key_of(b"abcdefghijklmnop"), key_of(b"abcdefghijklmnopq"));
    }
}
