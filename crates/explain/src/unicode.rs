//! The little of Unicode that is needed: accented Latin letters in both normalization forms, and
//! Windows-1252.
//!
//! The rule kept here: letters beyond Latin-1 and Latin Extended-A are left as they are.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Each letter with its decomposition, separated by spaces.
const LETTERS: &str = "\
     ÀA\u{300} ÁA\u{301} ÂA\u{302} ÃA\u{303} ÄA\u{308} ÅA\u{30a} ÇC\u{327} ÈE\u{300} ÉE\u{301} \
     ÊE\u{302} ËE\u{308} ÌI\u{300} ÍI\u{301} ÎI\u{302} ÏI\u{308} ÑN\u{303} ÒO\u{300} ÓO\u{301} \
     ÔO\u{302} ÕO\u{303} ÖO\u{308} ÙU\u{300} ÚU\u{301} ÛU\u{302} ÜU\u{308} ÝY\u{301} àa\u{300} \
     áa\u{301} âa\u{302} ãa\u{303} äa\u{308} åa\u{30a} çc\u{327} èe\u{300} ée\u{301} êe\u{302} \
     ëe\u{308} ìi\u{300} íi\u{301} îi\u{302} ïi\u{308} ñn\u{303} òo\u{300} óo\u{301} ôo\u{302} \
     õo\u{303} öo\u{308} ùu\u{300} úu\u{301} ûu\u{302} üu\u{308} ýy\u{301} ÿy\u{308} ĀA\u{304} \
     āa\u{304} ĂA\u{306} ăa\u{306} ĄA\u{328} ąa\u{328} ĆC\u{301} ćc\u{301} ĈC\u{302} ĉc\u{302} \
     ĊC\u{307} ċc\u{307} ČC\u{30c} čc\u{30c} ĎD\u{30c} ďd\u{30c} ĒE\u{304} ēe\u{304} ĔE\u{306} \
     ĕe\u{306} ĖE\u{307} ėe\u{307} ĘE\u{328} ęe\u{328} ĚE\u{30c} ěe\u{30c} ĜG\u{302} ĝg\u{302} \
     ĞG\u{306} ğg\u{306} ĠG\u{307} ġg\u{307} ĢG\u{327} ģg\u{327} ĤH\u{302} ĥh\u{302} ĨI\u{303} \
     ĩi\u{303} ĪI\u{304} īi\u{304} ĬI\u{306} ĭi\u{306} ĮI\u{328} įi\u{328} İI\u{307} ĴJ\u{302} \
     ĵj\u{302} ĶK\u{327} ķk\u{327} ĹL\u{301} ĺl\u{301} ĻL\u{327} ļl\u{327} ĽL\u{30c} ľl\u{30c} \
     ŃN\u{301} ńn\u{301} ŅN\u{327} ņn\u{327} ŇN\u{30c} ňn\u{30c} ŌO\u{304} ōo\u{304} ŎO\u{306} \
     ŏo\u{306} ŐO\u{30b} őo\u{30b} ŔR\u{301} ŕr\u{301} ŖR\u{327} ŗr\u{327} ŘR\u{30c} řr\u{30c} \
     ŚS\u{301} śs\u{301} ŜS\u{302} ŝs\u{302} ŞS\u{327} şs\u{327} ŠS\u{30c} šs\u{30c} ŢT\u{327} \
     ţt\u{327} ŤT\u{30c} ťt\u{30c} ŨU\u{303} ũu\u{303} ŪU\u{304} ūu\u{304} ŬU\u{306} ŭu\u{306} \
     ŮU\u{30a} ůu\u{30a} ŰU\u{30b} űu\u{30b} ŲU\u{328} ųu\u{328} ŴW\u{302} ŵw\u{302} ŶY\u{302} \
     ŷy\u{302} ŸY\u{308} ŹZ\u{301} źz\u{301} ŻZ\u{307} żz\u{307} ŽZ\u{30c} žz\u{30c} \
     ";

/// 0x80 to 0x9F of Windows-1252; the bytes that it leaves out stand for themselves.
const WINDOWS_1252: [char; 32] = [
    '\u{20ac}', '\u{0081}', '\u{201a}', '\u{0192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{02c6}', '\u{2030}', '\u{0160}', '\u{2039}', '\u{0152}', '\u{008d}', '\u{017d}', '\u{008f}',
    '\u{0090}', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{02dc}', '\u{2122}', '\u{0161}', '\u{203a}', '\u{0153}', '\u{009d}', '\u{017e}', '\u{0178}',
];

/// The letters, found by what they are made of and by what they come apart into.
struct Letters {
    whole: HashMap<(char, char), char>,
    parts: HashMap<char, (char, char)>,
}

static TABLE: LazyLock<Letters> = LazyLock::new(|| {
    let rows = LETTERS.split_ascii_whitespace().filter_map(|row| {
        let mut row = row.chars();
        Some((row.next()?, (row.next()?, row.next()?)))
    });
    let parts: HashMap<char, (char, char)> = rows.collect();
    let whole = parts.iter().map(|(whole, parts)| (*parts, *whole));
    Letters {
        whole: whole.collect(),
        parts,
    }
});

/// Letters with their accents as one character; `None` if there is nothing to compose.
pub(crate) fn composed(text: &str) -> Option<String> {
    if !text.chars().any(|one| matches!(one, '\u{300}'..='\u{36f}')) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    for one in text.chars() {
        let last = out.chars().next_back();
        let whole = last.and_then(|last| TABLE.whole.get(&(last, one)).copied());
        match whole {
            Some(whole) => {
                out.pop();
                out.push(whole);
            }
            None => out.push(one),
        }
    }
    (out != text).then_some(out)
}

/// Letters and their accents apart; `None` if there is nothing to take apart.
pub(crate) fn decomposed(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let mut out = String::with_capacity(text.len() * 2);
    for one in text.chars() {
        match TABLE.parts.get(&one) {
            Some((base, accent)) => out.extend([*base, *accent]),
            None => out.push(one),
        }
    }
    (out != text).then_some(out)
}

/// The character of a byte in Windows-1252.
pub(crate) fn windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9F => WINDOWS_1252[usize::from(byte) - 0x80],
        byte => char::from(byte),
    }
}

/// The byte of a character in Windows-1252.
pub(crate) fn to_windows_1252(character: char) -> Option<u8> {
    let place = WINDOWS_1252.iter().position(|one| *one == character);
    match place {
        Some(place) => u8::try_from(place + 0x80).ok(),
        None => u8::try_from(u32::from(character)).ok(),
    }
}

/// The text in CESU-8: a character beyond the first 65,536 as the two halves that UTF-16 has of it,
/// each in three bytes. `None` if it has no such character.
pub(crate) fn cesu_8(text: &str) -> Option<Vec<u8>> {
    let is_beyond = |one: char| u32::from(one) > 0xFFFF;
    if !text.contains(is_beyond) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() * 2);
    let mut units = [0; 2];
    for one in text.chars() {
        if !is_beyond(one) {
            out.extend_from_slice(one.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        for half in one.encode_utf16(&mut units) {
            let [high, low] = half.to_be_bytes();
            out.extend([
                0xE0 | high >> 4,
                0x80 | (high & 0x0F) << 2 | low >> 6,
                0x80 | low & 0x3F,
            ]);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_go_together_and_apart() {
        assert_eq!(decomposed("Zürich").as_deref(), Some("Zu\u{308}rich"));
        assert_eq!(composed("Zu\u{308}rich").as_deref(), Some("Zürich"));
        assert_eq!(composed("Zürich"), None);
        assert_eq!(decomposed("Zug"), None);
    }

    #[test]
    fn halves_of_surrogate_pairs_have_three_bytes_each() {
        let bytes = cesu_8("ü\u{1f600}").unwrap();
        assert_eq!(bytes, [0xC3, 0xBC, 0xED, 0xA0, 0xBD, 0xED, 0xB8, 0x80]);
        assert_eq!(cesu_8("ü"), None);
    }

    #[test]
    fn windows_1252_has_the_euro() {
        assert_eq!(windows_1252(0x80), '€');
        assert_eq!(to_windows_1252('€'), Some(0x80));
        assert_eq!(to_windows_1252('ä'), Some(0xE4));
        assert_eq!(to_windows_1252('Ж'), None);
    }
}
