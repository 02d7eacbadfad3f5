//! SAML assertions that an issuer signs, written in canonical form by hand.

use jiff::Timestamp;
use soapstone_crypto::{
    Certificate, DigestAlgorithm, Identity, KeyTransport, OaepParameters, SignatureAlgorithm,
    base64, digest,
};

/// The issuer of all assertions of this module.
pub const ISSUER: &str = "https://idp.example";

/// What an assertion says beside who is meant.
pub struct Assertion<'a> {
    /// Whether it is one of SAML 2.0, and not of 1.1.
    pub is_20: bool,
    /// The end of the confirmation's URI: `bearer`, `holder-of-key`, `sender-vouches`.
    pub method: &'a str,
    /// The certificate of the holder's key.
    pub holder: Option<&'a Certificate>,
    /// Whom it is for.
    pub audience: Option<&'a str>,
    /// Attributes, each with one value.
    pub attributes: &'a [(&'a str, &'a str)],
}

/// The id of assertions, unless a test names another.
pub const ID: &str = "_assertion";

/// One assertion among several: its id, and when it holds.
pub struct Made<'m> {
    /// Its id.
    pub id: &'m str,
    /// From how many seconds after now, or before.
    pub begin: i64,
    /// To how many seconds after now, or before.
    pub end: i64,
    /// Whether it is for one use.
    pub once: bool,
    /// Attributes of the subject's identifier, in canonical form, each after a space.
    pub qualifiers: &'m str,
    /// Further conditions of an assertion of SAML 2.0, in canonical form.
    pub conditions: &'m str,
    /// To how many seconds after now, or before, a subject without a key is confirmed in SAML 2.0.
    pub confirmed: Option<i64>,
    /// The confirmations of a subject in SAML 2.0, in canonical form, instead of the one.
    pub confirmations: Option<&'m str>,
}

impl Default for Made<'_> {
    /// From half a minute ago, for ten minutes.
    fn default() -> Self {
        Self {
            id: ID,
            begin: -30,
            end: 600,
            once: false,
            qualifiers: "",
            conditions: "",
            confirmed: None,
            confirmations: None,
        }
    }
}

impl Assertion<'_> {
    /// The assertion about a subject, for ten minutes from now, signed with an RSA key.
    ///
    /// # Panics
    /// If the issuer's key signs nothing by RSA.
    pub fn about(&self, subject: &str, issuer: &Identity) -> String {
        self.made(subject, issuer, &Made::default())
    }

    /// As [`about`](Self::about), and the holder's key is symmetric, wrapped to its receiver by
    /// RSA-OAEP with SHA-256.
    ///
    /// # Panics
    /// If a key is no RSA key.
    pub fn proving(
        &self,
        subject: &str,
        issuer: &Identity,
        receiver: &Certificate,
        secret: &[u8],
    ) -> String {
        let sha256 = DigestAlgorithm::Sha256;
        let oaep = OaepParameters::new(sha256, sha256);
        self.proving_by(
            (KeyTransport::RsaOaep, oaep),
            subject,
            issuer,
            receiver,
            secret,
        )
    }

    /// As [`proving`](Self::proving), and the key is wrapped by this algorithm.
    ///
    /// # Panics
    /// If a key is no RSA key.
    pub fn proving_by(
        &self,
        (algorithm, oaep): (KeyTransport, OaepParameters),
        subject: &str,
        issuer: &Identity,
        receiver: &Certificate,
        secret: &[u8],
    ) -> String {
        let key = receiver.public_key();
        let wrapped = key.wrap(algorithm, &oaep, secret);
        let wrapped = base64::encode(&wrapped.expect("a wrapped key"));
        let (method, digest) = (algorithm.uri(), oaep.digest.uri());
        let mask = match algorithm {
            KeyTransport::RsaOaep => {
                "<xenc11:MGF xmlns:xenc11=\"http://www.w3.org/2009/xmlenc11#\" Algorithm=\"http://www.w3.org/2009/xmlenc11#mgf1sha256\"></xenc11:MGF>"
            }
            _ => "",
        };
        let info = format!(
            "<ds:KeyInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><xenc:EncryptedKey xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\"><xenc:EncryptionMethod Algorithm=\"{method}\"><ds:DigestMethod Algorithm=\"{digest}\"></ds:DigestMethod>{mask}</xenc:EncryptionMethod><xenc:CipherData><xenc:CipherValue>{wrapped}</xenc:CipherValue></xenc:CipherData></xenc:EncryptedKey></ds:KeyInfo>"
        );
        self.with_key_info(subject, issuer, &Made::default(), Some(info))
    }

    /// As [`about`](Self::about), with an id and a life of its own.
    ///
    /// # Panics
    /// If the issuer's key signs nothing by RSA.
    pub fn made(&self, subject: &str, issuer: &Identity, made: &Made<'_>) -> String {
        self.with_key_info(subject, issuer, made, self.key_info())
    }

    fn with_key_info(
        &self,
        subject: &str,
        issuer: &Identity,
        made: &Made<'_>,
        info: Option<String>,
    ) -> String {
        let (unsigned, place) = match self.is_20 {
            true => (self.unsigned_20(subject, made, info), "<saml:Subject>"),
            false => (self.unsigned_11(subject, made, info), "</saml:Assertion>"),
        };
        let id = made.id;
        let sha256 = DigestAlgorithm::Sha256;
        let digest = digest(sha256, unsigned.as_bytes()).expect("a digest");
        let digest = base64::encode(digest.as_ref());
        let method = SignatureAlgorithm::RsaSha256;
        let (uri, ds) = (method.uri(), "http://www.w3.org/2000/09/xmldsig#");
        let exclusive = "http://www.w3.org/2001/10/xml-exc-c14n#";
        let info = |declared: &str| {
            format!(
                "<ds:SignedInfo{declared}><ds:CanonicalizationMethod Algorithm=\"{exclusive}\"></ds:CanonicalizationMethod><ds:SignatureMethod Algorithm=\"{uri}\"></ds:SignatureMethod><ds:Reference URI=\"#{id}\"><ds:Transforms><ds:Transform Algorithm=\"{ds}enveloped-signature\"></ds:Transform><ds:Transform Algorithm=\"{exclusive}\"></ds:Transform></ds:Transforms><ds:DigestMethod Algorithm=\"{}\"></ds:DigestMethod><ds:DigestValue>{digest}</ds:DigestValue></ds:Reference></ds:SignedInfo>",
                sha256.uri()
            )
        };
        let signed = info(&format!(" xmlns:ds=\"{ds}\""));
        let value = issuer.key().sign(method, signed.as_bytes());
        let value = base64::encode(&value.expect("a signature"));
        let signature = format!(
            "<ds:Signature xmlns:ds=\"{ds}\">{}<ds:SignatureValue>{value}</ds:SignatureValue></ds:Signature>",
            info("")
        );
        unsigned.replacen(place, &format!("{signature}{place}"), 1)
    }

    fn unsigned_20(&self, subject: &str, made: &Made<'_>, info: Option<String>) -> String {
        let (begin, end) = made.life();
        let (id, once) = (made.id, made.once);
        let method = self.method;
        let data = match (info, made.confirmed.map(moment)) {
            (Some(info), _) => {
                format!("<saml:SubjectConfirmationData>{info}</saml:SubjectConfirmationData>")
            }
            (None, Some(end)) => format!(
                "<saml:SubjectConfirmationData NotOnOrAfter=\"{end}\"></saml:SubjectConfirmationData>"
            ),
            (None, None) => String::new(),
        };
        let one = format!(
            "<saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:{method}\">{data}</saml:SubjectConfirmation>"
        );
        let confirmations = made.confirmations.unwrap_or(&one);
        let (qualifiers, conditions) = (made.qualifiers, made.conditions);
        let audience = self.audience.map(|audience| {
            format!("<saml:AudienceRestriction><saml:Audience>{audience}</saml:Audience></saml:AudienceRestriction>")
        });
        let audience = audience.unwrap_or_default();
        let once = if once {
            "<saml:OneTimeUse></saml:OneTimeUse>"
        } else {
            ""
        };
        let attributes = self.attributes.iter().map(|(name, value)| {
            format!("<saml:Attribute Name=\"{name}\"><saml:AttributeValue>{value}</saml:AttributeValue></saml:Attribute>")
        });
        let attributes: String = attributes.collect();
        format!(
            "<saml:Assertion xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\" ID=\"{id}\" IssueInstant=\"{begin}\" Version=\"2.0\"><saml:Issuer>{ISSUER}</saml:Issuer><saml:Subject><saml:NameID{qualifiers}>{subject}</saml:NameID>{confirmations}</saml:Subject><saml:Conditions NotBefore=\"{begin}\" NotOnOrAfter=\"{end}\">{audience}{once}{conditions}</saml:Conditions><saml:AttributeStatement>{attributes}</saml:AttributeStatement></saml:Assertion>"
        )
    }

    fn unsigned_11(&self, subject: &str, made: &Made<'_>, info: Option<String>) -> String {
        let (begin, end) = made.life();
        let (id, once, qualifiers) = (made.id, made.once, made.qualifiers);
        let method = self.method;
        let info = info.unwrap_or_default();
        let audience = self.audience.map(|audience| {
            format!("<saml:AudienceRestrictionCondition><saml:Audience>{audience}</saml:Audience></saml:AudienceRestrictionCondition>")
        });
        let audience = audience.unwrap_or_default();
        let once = if once {
            "<saml:DoNotCacheCondition></saml:DoNotCacheCondition>"
        } else {
            ""
        };
        let attributes = self.attributes.iter().map(|(name, value)| {
            format!("<saml:Attribute AttributeName=\"{name}\" AttributeNamespace=\"urn:names\"><saml:AttributeValue>{value}</saml:AttributeValue></saml:Attribute>")
        });
        let attributes: String = attributes.collect();
        format!(
            "<saml:Assertion xmlns:saml=\"urn:oasis:names:tc:SAML:1.0:assertion\" AssertionID=\"{id}\" IssueInstant=\"{begin}\" Issuer=\"{ISSUER}\" MajorVersion=\"1\" MinorVersion=\"1\"><saml:Conditions NotBefore=\"{begin}\" NotOnOrAfter=\"{end}\">{audience}{once}</saml:Conditions><saml:AttributeStatement><saml:Subject><saml:NameIdentifier{qualifiers}>{subject}</saml:NameIdentifier><saml:SubjectConfirmation><saml:ConfirmationMethod>urn:oasis:names:tc:SAML:1.0:cm:{method}</saml:ConfirmationMethod>{info}</saml:SubjectConfirmation></saml:Subject>{attributes}</saml:AttributeStatement></saml:Assertion>"
        )
    }

    fn key_info(&self) -> Option<String> {
        let certificate = base64::encode(self.holder?.der());
        Some(format!(
            "<ds:KeyInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><ds:X509Data><ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
        ))
    }
}

impl Made<'_> {
    fn life(&self) -> (Timestamp, Timestamp) {
        (moment(self.begin), moment(self.end))
    }
}

/// So many seconds after now, or before.
fn moment(seconds: i64) -> Timestamp {
    let now = Timestamp::now().as_second();
    Timestamp::from_second(now + seconds).expect("a moment")
}
