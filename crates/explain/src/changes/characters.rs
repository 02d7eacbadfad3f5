//! Characters: line ends, escapes, encodings.

use soapstone_crypto::{DigestAlgorithm, base64, digest, hexadecimal};

use crate::search::Change;
use crate::tokens::{Kind, attributes, find, replaced, tokens, with_start_tags, with_text};
use crate::unicode;

fn replacing(kind: &'static str, says: &str, what: &'static [u8], by: &'static [u8]) -> Change {
    Change::new(kind, says, move |form| replaced(form, what, by))
}

pub(super) fn line_ends(changes: &mut Vec<Change>) {
    changes.push(Change::new(
        "line-ends",
        "line ends CR LF (&#xD; in the canonical form)",
        |form| {
            with_text(form, |text| {
                let plain = replaced(text, b"&#xD;\n", b"\n");
                replaced(plain.as_deref().unwrap_or(text), b"\n", b"&#xD;\n")
            })
        },
    ));
    changes.push(replacing(
        "line-ends",
        "line ends LF alone, without the CR (&#xD;) that the message has",
        b"&#xD;\n",
        b"\n",
    ));
    changes.push(replacing(
        "line-ends",
        "the CR (&#xD;) left out",
        b"&#xD;",
        b"",
    ));
    changes.push(replacing(
        "line-ends",
        "the CR (&#xD;) written as a line end",
        b"&#xD;",
        b"\n",
    ));
    changes.push(replacing(
        "line-ends",
        "line ends CR LF as bytes, not canonicalized",
        b"\n",
        b"\r\n",
    ));
    changes.push(replacing(
        "line-ends",
        "line ends CR alone (&#xD;)",
        b"\n",
        b"&#xD;",
    ));
    changes.push(replacing(
        "line-ends",
        "the CR as a byte, not as &#xD;",
        b"&#xD;",
        b"\r",
    ));
}

/// Line ends and tabs in attributes, where the message has spaces: whoever wrote them as they are
/// has the next parser read them so (XML 1.0, 3.3.3).
pub(super) fn normalized_values(changes: &mut Vec<Change>) {
    for (says, by) in [
        (
            "line ends (&#xA;) in attributes, which became spaces",
            &b"&#xA;"[..],
        ),
        ("tabs (&#x9;) in attributes, which became spaces", b"&#x9;"),
        (
            "CR LF (&#xD;&#xA;) in attributes, which became spaces",
            b"&#xD;&#xA;",
        ),
    ] {
        changes.push(Change::new("line-ends", says, move |form| {
            with_start_tags(form, |tag, out| {
                let mut copied = 0;
                let mut changed = false;
                for attribute in attributes(tag) {
                    let value = attribute.value;
                    if let Some(written) = replaced(&tag[value.clone()], b" ", by) {
                        out.extend_from_slice(&tag[copied..value.start]);
                        out.extend_from_slice(&written);
                        copied = value.end;
                        changed = true;
                    }
                }
                out.extend_from_slice(&tag[copied..]);
                changed
            })
        }));
    }
}

pub(super) fn escapes(changes: &mut Vec<Change>) {
    changes.push(replacing(
        "escaping",
        "`>` digested as it is, not as `&gt;`",
        b"&gt;",
        b">",
    ));
    for (says, what, by) in [
        (
            "`&` digested as it is, not as `&amp;`",
            &b"&amp;"[..],
            &b"&"[..],
        ),
        ("`<` digested as it is, not as `&lt;`", b"&lt;", b"<"),
        (
            "`\"` in attributes digested as it is, not as `&quot;`",
            b"&quot;",
            b"\"",
        ),
        ("`&#xD;` written as `&#13;`", b"&#xD;", b"&#13;"),
        (
            "`&#xA;` in attributes written as a line end",
            b"&#xA;",
            b"\n",
        ),
        ("`&#xA;` in attributes written as a space", b"&#xA;", b" "),
        ("`&#x9;` in attributes written as a tab", b"&#x9;", b"\t"),
        ("`&#x9;` in attributes written as a space", b"&#x9;", b" "),
        (
            "what is escaped once in the message escaped twice",
            b"&",
            b"&amp;",
        ),
        (
            "what is escaped twice in the message escaped once",
            b"&amp;",
            b"&",
        ),
    ] {
        changes.push(replacing("escaping", says, what, by));
    }
    changes.push(Change::new(
        "escaping",
        "character references that are escaped, such as `&amp;amp;` or `&amp;lt;`, not escaped",
        escaped_once_less,
    ));
    for (says, what, by) in [
        ("`&quot;` written as `&#34;`", &b"&quot;"[..], &b"&#34;"[..]),
        ("`&amp;` written as `&#38;`", b"&amp;", b"&#38;"),
        ("`&gt;` written as `&#62;`", b"&gt;", b"&#62;"),
        ("`&lt;` written as `&#60;`", b"&lt;", b"&#60;"),
        ("`&#xA;` written as `&#10;`", b"&#xA;", b"&#10;"),
        ("`&#x9;` written as `&#9;`", b"&#x9;", b"&#9;"),
    ] {
        changes.push(replacing("escaping", says, what, by));
    }
    for (says, what, by) in [
        (
            "`\"` in texts written as `&quot;`",
            &b"\""[..],
            &b"&quot;"[..],
        ),
        ("`'` in texts written as `&apos;`", b"'", b"&apos;"),
        ("`'` in texts written as `&#39;`", b"'", b"&#39;"),
        ("`\"` in texts written as `&#34;`", b"\"", b"&#34;"),
        ("tabs in texts written as `&#x9;`", b"\t", b"&#x9;"),
        ("`/` in texts written as `&#x2F;`", b"/", b"&#x2F;"),
    ] {
        changes.push(Change::new("escaping", says, move |form| {
            with_text(form, |text| replaced(text, what, by))
        }));
    }
    for (says, what, by) in [
        (
            "`>` in attributes written as `&gt;`",
            &b">"[..],
            &b"&gt;"[..],
        ),
        ("`'` in attributes written as `&apos;`", b"'", b"&apos;"),
        ("`'` in attributes written as `&#39;`", b"'", b"&#39;"),
    ] {
        changes.push(Change::new("escaping", says, move |form| {
            with_start_tags(form, |tag, out| {
                let inner = replaced(&tag[..tag.len() - 1], what, by);
                let changed = inner.is_some();
                out.extend_from_slice(inner.as_deref().unwrap_or(&tag[..tag.len() - 1]));
                out.push(b'>');
                changed
            })
        }));
    }
    for (name, written) in REFERENCES {
        changes.push(Change::new(
            "escaping",
            format!("characters beyond ASCII written as {name}"),
            move |form| referenced(form, written),
        ));
    }
    changes.push(Change::new(
        "escaping",
        "text written as a CDATA section, not canonicalized",
        |form| {
            with_text(form, |text| {
                let plain = unescaped(text)?;
                Some([b"<![CDATA[", plain.as_slice(), b"]]>"].concat())
            })
        },
    ));
    changes.push(Change::new(
        "escaping",
        "nothing escaped in texts",
        |form| with_text(form, unescaped),
    ));
}

/// The form with each character reference that is escaped escaped once less, all in one pass, so
/// that none loses more; `None` if it has none.
fn escaped_once_less(form: &[u8]) -> Option<Vec<u8>> {
    const ESCAPE: &[u8] = b"&amp;";
    let names: [&[u8]; 6] = [b"amp;", b"lt;", b"gt;", b"quot;", b"apos;", b"#"];
    let mut out = Vec::with_capacity(form.len());
    let (mut rest, mut changed) = (form, false);
    while let Some(at) = find(rest, ESCAPE) {
        let (before, behind) = (&rest[..at], &rest[at + ESCAPE.len()..]);
        let is_reference = names.iter().any(|name| behind.starts_with(name));
        changed |= is_reference;
        out.extend_from_slice(before);
        out.extend_from_slice(if is_reference { b"&" } else { ESCAPE });
        rest = behind;
    }
    out.extend_from_slice(rest);
    changed.then_some(out)
}

/// The text without escapes; `None` if it has none.
fn unescaped(text: &[u8]) -> Option<Vec<u8>> {
    let mut plain: Option<Vec<u8>> = None;
    for (what, by) in [
        (&b"&lt;"[..], &b"<"[..]),
        (b"&gt;", b">"),
        (b"&#xD;", b"\r"),
        (b"&amp;", b"&"),
    ] {
        plain = replaced(plain.as_deref().unwrap_or(text), what, by).or(plain);
    }
    plain
}

/// How a character beyond ASCII is written.
type Written = fn(char) -> String;

/// Character references as serializers write them. Some of them write a character beyond the first
/// 65,536 as the two halves that UTF-16 has of it.
const REFERENCES: [(&str, Written); 5] = [
    ("decimal references", |one| format!("&#{};", u32::from(one))),
    ("hexadecimal references", |one| {
        format!("&#x{:X};", u32::from(one))
    }),
    ("hexadecimal references in small letters", |one| {
        format!("&#x{:x};", u32::from(one))
    }),
    (
        "decimal references, one for each half of a surrogate pair",
        |one| halves(one, |half| format!("&#{half};")),
    ),
    (
        "hexadecimal references, one for each half of a surrogate pair",
        |one| halves(one, |half| format!("&#x{half:X};")),
    ),
];

fn halves(one: char, written: fn(u16) -> String) -> String {
    let halves = one.encode_utf16(&mut [0; 2]).to_vec();
    halves.into_iter().map(written).collect()
}

fn referenced(form: &[u8], written: Written) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(form)
        .ok()
        .filter(|text| !text.is_ascii())?;
    let mut out = String::with_capacity(form.len() * 2);
    for character in text.chars() {
        match character.is_ascii() {
            true => out.push(character),
            false => out.push_str(&written(character)),
        }
    }
    Some(out.into_bytes())
}

pub(super) fn encodings(changes: &mut Vec<Change>) {
    let mut add = |says: &str, change: fn(&str) -> Option<Vec<u8>>| {
        changes.push(Change::new("encoding", says, move |form| {
            let text = std::str::from_utf8(form).ok()?;
            (!text.is_ascii()).then(|| change(text)).flatten()
        }));
    };
    add("the text in ISO-8859-1, not in UTF-8", latin1);
    add("the text in Windows-1252, not in UTF-8", |text| {
        text.chars().map(unicode::to_windows_1252).collect()
    });
    add(
        "each half of a surrogate pair in three bytes (CESU-8), not UTF-8",
        unicode::cesu_8,
    );
    add(
        "the UTF-8 of the text taken for ISO-8859-1 and encoded once more",
        |text| {
            let twice: String = text.bytes().map(char::from).collect();
            Some(twice.into_bytes())
        },
    );
    add(
        "the UTF-8 of the text taken for Windows-1252 and encoded once more",
        |text| {
            Some(
                text.bytes()
                    .map(unicode::windows_1252)
                    .collect::<String>()
                    .into_bytes(),
            )
        },
    );
    add(
        "the text as it was before its UTF-8 was taken for ISO-8859-1",
        |text| latin1(text).filter(|bytes| std::str::from_utf8(bytes).is_ok()),
    );
    add(
        "the text as it was before its UTF-8 was taken for Windows-1252",
        |text| {
            let bytes: Option<Vec<u8>> = text.chars().map(unicode::to_windows_1252).collect();
            bytes.filter(|bytes| std::str::from_utf8(bytes).is_ok())
        },
    );
    add("`?` for every character beyond ASCII", |text| {
        let question = |character: char| if character.is_ascii() { character } else { '?' };
        Some(text.chars().map(question).collect::<String>().into_bytes())
    });
    add("characters beyond ASCII left out", |text| {
        Some(
            text.chars()
                .filter(char::is_ascii)
                .collect::<String>()
                .into_bytes(),
        )
    });
    for (says, change) in [
        (
            "accented letters as one character (normalization form C)",
            unicode::composed as fn(&str) -> Option<String>,
        ),
        (
            "accented letters as letter and accent (normalization form D)",
            unicode::decomposed,
        ),
    ] {
        changes.push(Change::new("unicode-form", says, move |form| {
            change(std::str::from_utf8(form).ok()?).map(String::into_bytes)
        }));
    }
    changes.push(Change::new(
        "byte-order-mark",
        "a byte order mark before it",
        |form| Some([b"\xEF\xBB\xBF", form].concat()),
    ));
    wide(changes);
    declarations(changes);
}

/// The bytes of a unit of UTF-16.
type Order = fn(u16) -> [u8; 2];

fn wide(changes: &mut Vec<Change>) {
    let orders: [(&str, Order); 2] = [
        ("little-endian", u16::to_le_bytes),
        ("big-endian", u16::to_be_bytes),
    ];
    for (name, order) in orders {
        for (mark, says) in [("", ""), ("\u{feff}", " with a byte order mark")] {
            changes.push(Change::new(
                "encoding",
                format!("the text in UTF-16 ({name}){says}"),
                move |form| {
                    let text = std::str::from_utf8(form).ok()?;
                    let units = mark.encode_utf16().chain(text.encode_utf16());
                    Some(units.flat_map(order).collect())
                },
            ));
        }
    }
}

/// What serializers write before a document, alone and with a line end behind it.
const DECLARATIONS: [&str; 6] = [
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>",
    "<?xml version=\"1.0\" encoding=\"utf-8\"?>",
    "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>",
    "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>",
    "<?xml version='1.0' encoding='UTF-8'?>",
    "<?xml version=\"1.0\"?>",
];

fn declarations(changes: &mut Vec<Change>) {
    for declaration in DECLARATIONS {
        for (end, says) in [("", ""), ("\n", " and a line end")] {
            changes.push(Change::new(
                "declaration",
                format!("the XML declaration {declaration}{says} before it"),
                move |form| Some([declaration.as_bytes(), end.as_bytes(), form].concat()),
            ));
        }
    }
}

fn latin1(text: &str) -> Option<Vec<u8>> {
    text.chars()
        .map(|character| u8::try_from(u32::from(character)).ok())
        .collect()
}

pub(super) fn digests_of_digests(changes: &mut Vec<Change>) {
    for algorithm in [
        DigestAlgorithm::Sha1,
        DigestAlgorithm::Sha256,
        DigestAlgorithm::Sha512,
    ] {
        let name = algorithm.short_name();
        let hashed = move |form: &[u8]| digest(algorithm, form).ok();
        changes.push(
            Change::new(
                "digested-twice",
                format!("its {name} digest digested once more"),
                move |form| Some(hashed(form)?.as_ref().to_vec()),
            )
            .alone(),
        );
        changes.push(
            Change::new(
                "digested-twice",
                format!("the hexadecimal form of its {name} digest digested once more"),
                move |form| Some(hexadecimal::encode(hashed(form)?.as_ref()).into_bytes()),
            )
            .alone(),
        );
        changes.push(
            Change::new(
                "digested-twice",
                format!("the base64 of its {name} digest digested once more"),
                move |form| Some(base64::encode(hashed(form)?.as_ref()).into_bytes()),
            )
            .alone(),
        );
    }
    changes.push(
        Change::new("text-only", "the text alone, without tags", |form| {
            let texts = tokens(form).filter(|(kind, _)| *kind == Kind::Text);
            Some(texts.flat_map(|(_, text)| text.to_vec()).collect())
        })
        .alone(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped_loses_one_level() {
        for (form, expected) in [
            ("&amp;amp;lt;", Some("&amp;lt;")),
            ("&amp;amp;amp;#xD;", Some("&amp;amp;#xD;")),
            ("a&amp;lt;b &amp; &amp;#13;", Some("a&lt;b &amp; &#13;")),
            ("&amp;&amp;quot;", Some("&amp;&quot;")),
            ("&amp; &lt;", None),
            ("", None),
        ] {
            let found = escaped_once_less(form.as_bytes());
            let found = found.map(|form| String::from_utf8(form).expect("text"));
            assert_eq!(found.as_deref(), expected, "{form}");
        }
    }
}
