//! Distinguished names in the styles that peers write, compared and parsed.

use super::parse::EXPECTED;
use super::*;
use crate::hexadecimal;

/// A name with everything that is written differently by somebody, from a certificate made with
/// OpenSSL.
const NAME: &str = "\
    30820153310b3009060355040613024445311b301906035504080c12426164656e2d57c3bc727474656d62\
    6572673114301206035504070c0b74776f202073706163657331243022060355040a0c1b41636d652c2049\
    6e632e203c783e203b20613d62205c202b202331310e300c060355040b0c052368617368310e300c060355\
    040b0c055ac3bc72693113301106035504030c0a4d61782b4d6f7269747a310c300a06035504051303412d\
    31311e301c06092a864886f70d010901160f6d6178406578616d706c652e636f6d31123010060a09922689\
    93f22c6401010c02753131173015060a0992268993f22c64011916076578616d706c65310e300c06035504\
    090c055765672031310d300b06035504110c04383030303110300e06035504610c0756415444452d31310c\
    300a060355042a0c034d6178310f300d06035504040c064d7573746572310b3009060355040c0c024472";

fn name() -> DistinguishedName {
    DistinguishedName::from_der(&hexadecimal::decode(NAME).unwrap()).unwrap()
}

#[test]
fn a_name_is_written_as_java_writes_it() {
    assert_eq!(
        name().to_text(NameStyle::Rfc2253),
        "2.5.4.12=#0c024472,2.5.4.4=#0c064d7573746572,2.5.4.42=#0c034d6178,2.5.4.97=#0c0756415444452d31,\
         2.5.4.17=#0c0438303030,STREET=Weg 1,DC=example,UID=u1,\
         1.2.840.113549.1.9.1=#160f6d6178406578616d706c652e636f6d,2.5.4.5=#1303412d31,CN=Max\\+Moritz,OU=Züri,\
         OU=\\#hash,O=Acme\\, Inc. \\<x\\> \\; a\\=b \\\\ \\+ \\#1,L=two  spaces,ST=Baden-Württemberg,C=DE"
    );
}

#[test]
fn a_name_is_written_as_openssl_writes_it() {
    assert_eq!(
        name().to_text(NameStyle::OpenSsl),
        "title=Dr,SN=Muster,GN=Max,organizationIdentifier=VATDE-1,postalCode=8000,street=Weg 1,DC=example,UID=u1,\
         emailAddress=max@example.com,serialNumber=A-1,CN=Max\\+Moritz,OU=Z\\C3\\BCri,OU=\\#hash,\
         O=Acme\\, Inc. \\<x\\> \\; a=b \\\\ \\+ #1,L=two  spaces,ST=Baden-W\\C3\\BCrttemberg,C=DE"
    );
}

#[test]
fn a_name_is_written_as_windows_writes_it() {
    assert_eq!(
        name().to_text(NameStyle::Microsoft),
        "T=Dr, SN=Muster, G=Max, OID.2.5.4.97=VATDE-1, PostalCode=8000, STREET=Weg 1, DC=example, \
         OID.0.9.2342.19200300.100.1.1=u1, E=max@example.com, SERIALNUMBER=A-1, CN=\"Max+Moritz\", OU=Züri, \
         OU=\"#hash\", O=\"Acme, Inc. <x> ; a=b \\ + #1\", L=two  spaces, S=Baden-Württemberg, C=DE"
    );
}

#[test]
fn every_style_is_read_back_as_the_same_name() {
    for style in [NameStyle::Rfc2253, NameStyle::OpenSsl, NameStyle::Microsoft] {
        let read = DistinguishedName::parse(&name().to_text(style)).unwrap();
        assert!(read.matches(&name()), "{style:?}: {read}");
        assert!(name().matches(&read), "{style:?}");
    }
    assert!(
        DistinguishedName::parse(&name().to_string())
            .unwrap()
            .matches(&name())
    );
}

#[test]
fn names_that_differ_only_in_spelling_match() {
    let name = DistinguishedName::parse("CN=Max Muster,O=Acme\\, Inc.,ST=Bern,C=CH").unwrap();
    for text in [
        "CN=Max Muster, O=\"Acme, Inc.\", S=Bern, C=CH",
        "cn=max  muster; o=Acme\\2C Inc. ; st=BERN ; c=ch",
        "C=CH, ST=Bern, O=\"Acme, Inc.\", CN=Max Muster",
        "2.5.4.3=Max Muster,OID.2.5.4.10=#0c0a41636d652c20496e632e,ST=Bern,C=CH",
        "  CN = \\ Max Muster\\  , O = Acme\\, Inc., ST=Bern, C=CH",
    ] {
        assert!(
            DistinguishedName::parse(text).unwrap().matches(&name),
            "{text}"
        );
    }
    for text in [
        "CN=Max Muster,O=Acme\\, Inc.,ST=Bern",
        "O=Acme\\, Inc.,CN=Max Muster,ST=Bern,C=CH",
        "CN=MaxMuster,O=Acme\\, Inc.,ST=Bern,C=CH",
        "CN=Max Muster+O=Acme\\, Inc.,ST=Bern,C=CH",
        "CN=Max Muster,O=Acme\\, Inc.,L=Bern,C=CH",
        "",
    ] {
        assert!(
            !DistinguishedName::parse(text).unwrap().matches(&name),
            "{text}"
        );
    }
}

#[test]
fn attributes_joined_in_one_set_may_stand_in_any_order_there() {
    let one = DistinguishedName::parse("CN=a+UID=b,O=c").unwrap();
    assert!(
        DistinguishedName::parse("UID=b + CN=a, O=c")
            .unwrap()
            .matches(&one)
    );
    assert!(
        !DistinguishedName::parse("UID=b,CN=a,O=c")
            .unwrap()
            .matches(&one)
    );
    assert_eq!(one.to_text(NameStyle::Rfc2253), "CN=a+UID=b,O=c");
}

#[test]
fn a_name_contains_a_pattern_all_of_whose_attributes_it_has() {
    let pattern = |text| DistinguishedName::parse(text).unwrap();
    for text in [
        "CN=max+moritz",
        "CN=Max\\+Moritz",
        "OU=Züri,OU=\\#hash,C=DE",
        "E=max@example.com",
    ] {
        let expected = !text.starts_with("CN=max+");
        if let Ok(pattern) = DistinguishedName::parse(text) {
            assert_eq!(name().contains(&pattern), expected, "{text}");
        } else {
            assert!(!expected);
        }
    }
    assert!(!name().contains(&pattern("OU=Züri,C=DE")));
    assert!(!name().contains(&pattern("L=two spaces,C=CH")));
    assert!(!name().contains(&pattern("")));
}

#[test]
fn a_type_of_the_pattern_occurs_in_the_name_as_often_as_in_the_pattern() {
    let contains = |name: &str, pattern: &str| {
        let parse = |text| DistinguishedName::parse(text).unwrap();
        parse(name).contains(&parse(pattern))
    };
    for (name, pattern, expected) in [
        ("CN=evil,CN=client", "CN=client", false),
        ("CN=evil+CN=client", "CN=client", false),
        ("CN=client,CN=client", "CN=client", false),
        ("CN=client,O=Evil,O=Example", "CN=client,O=Example", false),
        ("CN=client,O=Evil,O=Example", "CN=client", true),
        ("CN=client,DC=example,DC=org", "DC=example,DC=org", true),
        (
            "CN=client,DC=example,DC=org",
            "DC=example,DC=example",
            false,
        ),
        ("CN=client", "CN=client,CN=client", false),
    ] {
        assert_eq!(contains(name, pattern), expected, "{pattern} of {name}");
    }
}

#[test]
fn an_attribute_that_occurs_twice_does_not_stand_for_another_one() {
    let parse = |text| DistinguishedName::parse(text).unwrap();
    assert!(!parse("CN=a+CN=a").matches(&parse("CN=a+CN=b")));
    assert!(!parse("CN=a+CN=b").matches(&parse("CN=a+CN=a")));
    assert!(parse("CN=b+CN=a").matches(&parse("CN=a+CN=b")));
}

#[test]
fn what_is_no_name_is_refused() {
    for text in [
        "CN",
        "=x",
        "CN=a,",
        "CN=a,,O=b",
        "CN=\"a",
        "CN=\"a\"b",
        "CN=a\\",
        "CN=#zz",
        "CN=#0c05",
        "CN=#",
        "1.2.x=a",
        "nobody=a",
        "CN=\\ff",
    ] {
        assert!(
            matches!(
                DistinguishedName::parse(text),
                Err(CryptoError::Malformed {
                    expected: EXPECTED,
                    ..
                })
            ),
            "{text}"
        );
    }
}

#[test]
fn names_survive_their_der() {
    let again = DistinguishedName::from_der(&name().to_der()).unwrap();
    assert!(again.matches(&name()));
    let parsed = DistinguishedName::parse(&name().to_string()).unwrap();
    assert!(
        DistinguishedName::from_der(&parsed.to_der())
            .unwrap()
            .matches(&name())
    );
}

#[test]
fn old_string_types_are_read() {
    let with = |tag: u8, octets: &[u8]| {
        let value = der::element(tag, &[octets]);
        let oid = der::element(der::OID, &[&[0x55, 4, 3]]);
        let attribute = der::element(der::SEQUENCE, &[&oid, &value]);
        let set = der::element(der::SET, &[&attribute]);
        DistinguishedName::from_der(&der::element(der::SEQUENCE, &[&set]))
            .unwrap()
            .to_string()
    };
    assert_eq!(with(0x14, b"Z\xfcri"), "CN=Züri");
    assert_eq!(with(0x1e, b"\0Z\0\xfc\0r\0i"), "CN=Züri");
    assert_eq!(with(0x1c, b"\0\0\0Z\0\0\0\xfc"), "CN=Zü");
    assert_eq!(with(0x1e, b"\0Z\0"), "CN=#1e03005a00");
    assert_eq!(with(0x02, b"\x05"), "CN=#020105");
}

#[test]
fn an_escaped_space_at_the_end_belongs_to_the_value() {
    let name = DistinguishedName::parse("CN=Soap\\ ").unwrap();
    assert_eq!(name.to_text(NameStyle::Rfc2253), "CN=Soap\\ ");
    let spaced = DistinguishedName::parse(" CN=Soap  ").unwrap();
    assert_eq!(spaced.to_text(NameStyle::Rfc2253), "CN=Soap");
    // The backslash itself is escaped, and the space is none of the value.
    let name = DistinguishedName::parse("CN=Soap\\\\ ").unwrap();
    assert_eq!(name.to_text(NameStyle::Rfc2253), "CN=Soap\\\\");
}

#[test]
fn names_that_match_have_one_folded_text() {
    let names = [
        "CN=Alice,O=Soap",
        "cn=ALICE, o=\" soap \"",
        "O=soap,CN=alice",
        "CN=Alice+UID=1,O=Soap",
        "UID=1+CN=alice,O=Soap",
        "CN=Alice,CN=Soap",
        "CN=Alice,O=So ap",
        "CN=Alice,O=So   AP",
        "CN=Alice",
        "CN=#0402abcd",
        "CN=#0402abce",
    ];
    let parsed = names.map(|name| DistinguishedName::parse(name).unwrap());
    for (one, first) in parsed.iter().zip(names) {
        for (two, second) in parsed.iter().zip(names) {
            let same = one.folded() == two.folded();
            assert_eq!(same, one.matches(two), "{first} {second}");
        }
    }
    assert!(parsed[0].matches(&parsed[1]) && parsed[0].matches(&parsed[2]));
}

#[test]
fn a_holder_is_named_with_its_issuer_or_without() {
    for (text, subject, issuer) in [
        ("CN=p1", "CN=p1", None),
        ("CN=p1 of CN=ca,O=Acme", "CN=p1", Some("CN=ca,O=Acme")),
        ("CN=Bank of Books,O=B", "CN=Bank of Books,O=B", None),
        (
            "CN=Bank of Books of CN=ca",
            "CN=Bank of Books",
            Some("CN=ca"),
        ),
        (
            "CN=\"a of CN=b\" of CN=ca",
            "CN=\"a of CN=b\"",
            Some("CN=ca"),
        ),
    ] {
        assert_eq!(HolderName::split(text), (subject, issuer));
        let name = HolderName::parse(text).expect(text);
        assert_eq!(name.has_issuer(), issuer.is_some(), "{text}");
    }
    for text in ["", "p1", "p1 of CN=ca", "*"] {
        let found = HolderName::parse(text).map(drop);
        assert!(
            matches!(found, Err(CryptoError::Malformed { .. })),
            "{text}: {found:?}"
        );
    }
}

#[test]
fn a_holder_is_one_however_its_name_is_written() {
    let read = |text: &str| DistinguishedName::parse(text).unwrap();
    let (own, ca, other) = (read("CN=p1,O=Acme"), read("CN=ca"), read("CN=other"));
    let with = HolderName::parse("o=acme, cn = P1 of cn=CA").unwrap();
    assert!(with.is(&own, Some(&ca)));
    assert!(!with.is(&own, Some(&other)));
    assert!(!with.is(&own, None));
    assert!(!with.is(&read("CN=p1"), Some(&ca)));
    let without = HolderName::parse("cn=p1;o=Acme").unwrap();
    assert!(without.is(&own, Some(&ca)) && without.is(&own, None));
}

#[test]
fn a_name_reads_as_two_where_the_word_is_outside_of_quotes() {
    for (text, expected) in [
        ("CN=p1 of authority", true),
        ("CN=p1 of CN=authority", true),
        ("CN=\"p1\" of authority", true),
        ("CN=p1", false),
        ("CN=p1of authority", false),
        ("CN=\"Bank of Books\"", false),
        ("CN=\"Bank \"\"of\"\" and of Books\"", false),
        ("CN=Bank\\ of Books", false),
        ("CN=Bank\\\\ of Books", true),
    ] {
        assert_eq!(HolderName::reads_as_two(text), expected, "{text}");
        let is_half = expected && text != "CN=p1 of CN=authority";
        assert_eq!(HolderName::has_half_a_name(text), is_half, "{text}");
    }
}

/// RFC 2253, 3, has pairs of hexadecimal digits in quotes, as OpenSSL's `oneline` writes them.
/// Windows has a backslash there for itself.
#[test]
fn pairs_in_quotes_are_characters_above_ascii_or_themselves() {
    let quoted = |value: &str| format!("C = HR, O = \"{value}\"");
    let named = |value: &str| DistinguishedName::parse(&format!("O={value},C=HR")).unwrap();
    for (value, character) in [
        (r"Grad \C4\8C, x", "Grad Č\\, x"),
        (r"Grad \c4\8c\C4\8D, x", "Grad Čč\\, x"),
        (r"\E2\82\AC, x", "€\\, x"),
        (r"\F0\9F\92\A7, x", "💧\\, x"),
        (r"a \C4\8C\41\C4, x", "a Č\\\\41\\\\C4\\, x"),
    ] {
        let (text, meant) = (quoted(value), named(character));
        let itself = DistinguishedName::parse(&text).unwrap();
        assert!(meant.is_meant_by(&text), "{text}");
        assert!(itself.is_meant_by(&text), "{text}");
        assert!(!meant.matches(&itself), "{text}");
        // What this side writes of a name means no other one.
        for name in [&meant, &itself] {
            let other = if name.matches(&meant) {
                &itself
            } else {
                &meant
            };
            for style in [NameStyle::Rfc2253, NameStyle::OpenSsl] {
                let written = name.to_text(style);
                assert!(name.is_meant_by(&written) && !other.is_meant_by(&written));
            }
        }
    }
    for value in [
        // Neither a part of a character, nor one that is written too long, is a character.
        r"Grad \C4, x",
        r"Grad \C4\8, x",
        r"Grad \8C\C4, x",
        r"\ED\A0\80, x",
        r"\C0\A2, x",
        r"\C0\80, x",
        r"\E0\80\A2, x",
        r"\F5\80\80\80, x",
        // ASCII, and so a quote and a backslash, are written in other ways.
        r"Grad \41, x",
        r"Grad \22\5C, x",
        r"Grad \\C4\8C, x",
    ] {
        let text = quoted(value);
        let read = DistinguishedName::parse_with(&text, QuotedPairs::Bytes).unwrap();
        let itself = DistinguishedName::parse(&text).unwrap();
        assert!(read.matches(&itself), "{text}: {read}");
    }
}
