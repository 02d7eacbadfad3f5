//! What types of attributes are called.

/// One attribute type and what it is called.
pub(super) struct Keyword {
    pub(super) oid: &'static [u8],
    /// In RFC 2253's table.
    pub(super) rfc2253: Option<&'static str>,
    pub(super) openssl: &'static str,
    pub(super) microsoft: Option<&'static str>,
    /// Other names it has when read.
    pub(super) aliases: &'static [&'static str],
}

macro_rules! keyword {
    ([$($oid:literal),*], $rfc:expr, $openssl:literal, $microsoft:expr $(, $alias:literal)*) => {
        Keyword { oid: &[$($oid),*], rfc2253: $rfc, openssl: $openssl, microsoft: $microsoft, aliases: &[$($alias),*] }
    };
}

/// X.520, RFC 4519, PKCS#9 and the extended validation guidelines.
pub(super) const KEYWORDS: &[Keyword] = &[
    keyword!([0x55, 4, 3], Some("CN"), "CN", Some("CN"), "commonName"),
    keyword!([0x55, 4, 4], None, "SN", Some("SN"), "surname"),
    keyword!([0x55, 4, 5], None, "serialNumber", Some("SERIALNUMBER")),
    keyword!([0x55, 4, 6], Some("C"), "C", Some("C"), "countryName"),
    keyword!([0x55, 4, 7], Some("L"), "L", Some("L"), "localityName"),
    keyword!(
        [0x55, 4, 8],
        Some("ST"),
        "ST",
        Some("S"),
        "stateOrProvinceName"
    ),
    keyword!(
        [0x55, 4, 9],
        Some("STREET"),
        "street",
        Some("STREET"),
        "streetAddress"
    ),
    keyword!([0x55, 4, 10], Some("O"), "O", Some("O"), "organizationName"),
    keyword!(
        [0x55, 4, 11],
        Some("OU"),
        "OU",
        Some("OU"),
        "organizationalUnitName"
    ),
    keyword!([0x55, 4, 12], None, "title", Some("T")),
    keyword!([0x55, 4, 13], None, "description", Some("Description")),
    keyword!([0x55, 4, 15], None, "businessCategory", None),
    keyword!([0x55, 4, 17], None, "postalCode", Some("PostalCode")),
    keyword!([0x55, 4, 41], None, "name", None),
    keyword!([0x55, 4, 42], None, "GN", Some("G"), "givenName"),
    keyword!([0x55, 4, 43], None, "initials", Some("I")),
    keyword!(
        [0x55, 4, 44],
        None,
        "generationQualifier",
        None,
        "generation"
    ),
    keyword!(
        [0x55, 4, 46],
        None,
        "dnQualifier",
        Some("dnQualifier"),
        "DNQ"
    ),
    keyword!([0x55, 4, 65], None, "pseudonym", None),
    keyword!([0x55, 4, 97], None, "organizationIdentifier", None),
    keyword!(
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1],
        None,
        "emailAddress",
        Some("E"),
        "email"
    ),
    keyword!(
        [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 2],
        None,
        "unstructuredName",
        None
    ),
    keyword!(
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1],
        Some("UID"),
        "UID",
        None,
        "userId"
    ),
    keyword!(
        [0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25],
        Some("DC"),
        "DC",
        Some("DC"),
        "domainComponent"
    ),
    keyword!(
        [0x2b, 6, 1, 4, 1, 0x82, 0x37, 0x3c, 2, 1, 1],
        None,
        "jurisdictionL",
        None
    ),
    keyword!(
        [0x2b, 6, 1, 4, 1, 0x82, 0x37, 0x3c, 2, 1, 2],
        None,
        "jurisdictionST",
        None
    ),
    keyword!(
        [0x2b, 6, 1, 4, 1, 0x82, 0x37, 0x3c, 2, 1, 3],
        None,
        "jurisdictionC",
        None
    ),
];

pub(super) fn keyword_of(oid: &[u8]) -> Option<&'static Keyword> {
    KEYWORDS.iter().find(|keyword| keyword.oid == oid)
}
