//! What the generic path signs it verifies, what it encrypts it decrypts; templates keep what their
//! author wrote.

use soapstone_crypto::{Curve, KeyKind, PrivateKey, SymmetricKey};
use soapstone_xmlsec::dsig::SignatureError;
use soapstone_xmlsec::enc::EncryptionError;
use soapstone_xmlsec::keyinfo::KeyInfoError;
use soapstone_xmltools::generic::{
    EnabledKeyData, GenericError, Key, Keys, Material, NoResolver, Options, PlainData, SecretKind,
    Session, SessionKey, StartNode, decrypt, encrypt, sign, verify,
};

const SIGNED_INFO_END: &str = "<DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"/><DigestValue/></Reference></SignedInfo><SignatureValue/>";

fn options() -> Options {
    Options::new("2026-01-01T00:00:00Z".parse().unwrap())
}

fn keys(name: Option<&str>, material: Material) -> Keys {
    let mut keys = Keys::new();
    keys.keys.push(Key::new(name.map(str::to_owned), material));
    keys
}

fn template(method: &str, transforms: &str, key_info: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<!-- kept -->\n<doc xmlns='urn:d'>\n  <data>text &amp; more</data>\n  <Signature xmlns=\"http://www.w3.org/2000/09/xmldsig#\">\
         <SignedInfo><CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/><SignatureMethod Algorithm=\"{method}\"/>\
         <Reference URI=\"\"><Transforms><Transform Algorithm=\"http://www.w3.org/2000/09/xmldsig#enveloped-signature\"/>{transforms}</Transforms>\
         {SIGNED_INFO_END}{key_info}</Signature>\n</doc>\n"
    )
}

fn sign_with(template: &str, keys: &Keys, options: &Options) -> Result<String, GenericError> {
    let signed = sign(
        template.as_bytes(),
        &mut Session::new(keys, options, &mut NoResolver),
    )?;
    Ok(String::from_utf8(signed).unwrap())
}

fn verify_with(document: &str, keys: &Keys, options: &Options) -> Result<(), GenericError> {
    verify(
        document.as_bytes(),
        &mut Session::new(keys, options, &mut NoResolver),
    )
    .map(drop)
}

#[test]
fn templates_are_signed_with_every_kind_of_key_and_verify() {
    let cases = [
        (
            "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
            KeyKind::Rsa { bits: 2048 },
        ),
        (
            "http://www.w3.org/2000/09/xmldsig#rsa-sha1",
            KeyKind::Rsa { bits: 2048 },
        ),
        (
            "http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1",
            KeyKind::Rsa { bits: 2048 },
        ),
        (
            "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256",
            KeyKind::Ec(Curve::P256),
        ),
        (
            "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha512",
            KeyKind::Ec(Curve::P521),
        ),
        (
            "http://www.w3.org/2021/04/xmldsig-more#eddsa-ed25519",
            KeyKind::Ed25519,
        ),
    ];
    for (method, kind) in cases {
        let keys = keys(
            Some("mine"),
            Material::Private(PrivateKey::generate(kind).unwrap()),
        );
        let signed = sign_with(
            &template(method, "", "<KeyInfo><KeyName/></KeyInfo>"),
            &keys,
            &options(),
        )
        .unwrap();
        assert!(signed.contains("<KeyName>mine</KeyName>"), "{signed}");
        assert!(
            signed.contains("<!-- kept -->") && signed.contains("text &amp; more"),
            "{signed}"
        );
        verify_with(&signed, &keys, &options()).unwrap();
        let altered = signed.replace("text", "test");
        assert!(matches!(
            verify_with(&altered, &keys, &options()),
            Err(GenericError::Signature(
                SignatureError::DigestMismatch { .. }
            ))
        ));
    }
}

#[test]
fn a_key_value_in_the_message_counts_only_where_the_options_say_so() {
    let signer = keys(
        None,
        Material::Private(PrivateKey::generate(KeyKind::Ec(Curve::P384)).unwrap()),
    );
    let method = "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384";
    let signed = sign_with(
        &template(method, "", "<KeyInfo><KeyValue/></KeyInfo>"),
        &signer,
        &options(),
    )
    .unwrap();
    assert_eq!(
        verify_with(&signed, &Keys::new(), &options()),
        Err(GenericError::KeyNotFound)
    );
    let mut enabled = options();
    enabled.key_data = EnabledKeyData::from_list("key-value,ec").unwrap();
    assert_eq!(verify_with(&signed, &Keys::new(), &enabled), Ok(()));
    enabled.key_data = EnabledKeyData::from_list("key-value,rsa").unwrap();
    assert_eq!(
        verify_with(&signed, &Keys::new(), &enabled),
        Err(GenericError::KeyNotFound)
    );
}

#[test]
fn a_name_that_leads_to_no_key_needs_a_nameless_key_or_a_lax_search() {
    let hmac = "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256";
    let secret = || {
        Material::Secret(
            SecretKind::Hmac,
            SymmetricKey::new(b"secret".to_vec()).unwrap(),
        )
    };
    let signed = sign_with(
        &template(hmac, "", "<KeyInfo><KeyName/></KeyInfo>"),
        &keys(Some("theirs"), secret()),
        &options(),
    )
    .unwrap();
    let ours = keys(Some("ours"), secret());
    assert_eq!(
        verify_with(&signed, &ours, &options()),
        Err(GenericError::KeyNotFound)
    );
    assert_eq!(
        verify_with(&signed, &keys(None, secret()), &options()),
        Ok(())
    );
    let mut lax = options();
    lax.lax_key_search = true;
    assert_eq!(verify_with(&signed, &ours, &lax), Ok(()));
}

#[test]
fn an_aes_key_never_verifies_an_hmac() {
    let hmac = "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256";
    let secret = SymmetricKey::new(vec![7; 32]).unwrap();
    let signed = sign_with(
        &template(hmac, "", ""),
        &keys(None, Material::Secret(SecretKind::Hmac, secret.clone())),
        &options(),
    )
    .unwrap();
    let aes = keys(None, Material::Secret(SecretKind::Aes, secret));
    assert_eq!(
        verify_with(&signed, &aes, &options()),
        Err(GenericError::KeyNotFound)
    );
}

#[test]
fn references_to_each_other_and_to_a_manifest_are_signed_until_they_are_stable() {
    let hmac = keys(
        None,
        Material::Secret(
            SecretKind::Hmac,
            SymmetricKey::new(b"secret".to_vec()).unwrap(),
        ),
    );
    let digest = "<DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"/><DigestValue></DigestValue>";
    let template = format!(
        "<Signature xmlns=\"http://www.w3.org/2000/09/xmldsig#\"><SignedInfo>\
         <CanonicalizationMethod Algorithm=\"http://www.w3.org/TR/2001/REC-xml-c14n-20010315\"/>\
         <SignatureMethod Algorithm=\"http://www.w3.org/2000/09/xmldsig#hmac-sha1\"/>\
         <Reference URI=\"#second\">{digest}</Reference>\
         <Reference Id=\"second\" URI=\"#manifest\" Type=\"http://www.w3.org/2000/09/xmldsig#Manifest\">{digest}</Reference>\
         </SignedInfo><SignatureValue/><Object><Manifest Id=\"manifest\"><Reference URI=\"#data\">{digest}</Reference></Manifest></Object>\
         <Object Id=\"data\">some data</Object></Signature>"
    );
    let signed = sign_with(&template, &hmac, &options()).unwrap();
    let options = options();
    let report = verify(
        signed.as_bytes(),
        &mut Session::new(&hmac, &options, &mut NoResolver),
    )
    .unwrap();
    assert_eq!(report.references.len(), 2);
    assert_eq!(report.manifests[0].references[0].result, Ok(()));
    let altered = signed.replace("some data", "other data");
    let report = verify(
        altered.as_bytes(),
        &mut Session::new(&hmac, &options, &mut NoResolver),
    )
    .unwrap();
    assert!(matches!(
        report.manifests[0].references[0].result,
        Err(GenericError::Signature(
            SignatureError::DigestMismatch { .. }
        ))
    ));
}

#[test]
fn ids_that_a_dtd_declares_survive_signing() {
    let hmac = keys(
        None,
        Material::Secret(
            SecretKind::Hmac,
            SymmetricKey::new(b"secret".to_vec()).unwrap(),
        ),
    );
    let template = template("http://www.w3.org/2000/09/xmldsig#hmac-sha1", "", "")
        .replace(
            "<!-- kept -->",
            "<!DOCTYPE doc [<!ATTLIST data key ID #IMPLIED>]>",
        )
        .replace("<data>", "<data key='d'>")
        .replace("URI=\"\"", "URI=\"#d\"");
    let signed = sign_with(&template, &hmac, &options()).unwrap();
    assert!(
        signed.contains("<!ATTLIST data key ID #IMPLIED>"),
        "{signed}"
    );
    assert_eq!(verify_with(&signed, &hmac, &options()), Ok(()));
}

#[test]
fn xslt_is_refused_by_name() {
    let hmac = keys(
        None,
        Material::Secret(
            SecretKind::Hmac,
            SymmetricKey::new(b"secret".to_vec()).unwrap(),
        ),
    );
    let uri = "http://www.w3.org/TR/1999/REC-xslt-19991116";
    let template = template(
        "http://www.w3.org/2000/09/xmldsig#hmac-sha1",
        &format!("<Transform Algorithm=\"{uri}\"/>"),
        "",
    );
    assert_eq!(
        sign_with(&template, &hmac, &options()),
        Err(GenericError::TransformRefused {
            uri: uri.to_owned()
        })
    );
}

#[test]
fn a_reference_outside_the_document_is_not_followed_by_default() {
    let hmac = keys(
        None,
        Material::Secret(
            SecretKind::Hmac,
            SymmetricKey::new(b"secret".to_vec()).unwrap(),
        ),
    );
    for uri in ["file:///etc/passwd", "other.xml", "http://example.org/"] {
        let template = template("http://www.w3.org/2000/09/xmldsig#hmac-sha1", "", "")
            .replace("URI=\"\"", &format!("URI=\"{uri}\""));
        assert_eq!(
            sign_with(&template, &hmac, &options()),
            Err(GenericError::UriNotEnabled {
                uri: uri.to_owned()
            })
        );
    }
}

const ENCRYPTED: &str = "<?xml version=\"1.0\"?><xenc:EncryptedData xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\" Type=\"TYPE\">\
    <xenc:EncryptionMethod Algorithm=\"DATA\"/><KeyInfo xmlns=\"http://www.w3.org/2000/09/xmldsig#\">KEYINFO</KeyInfo>\
    <xenc:CipherData><xenc:CipherValue/></xenc:CipherData></xenc:EncryptedData>";

fn encryption_template(kind: &str, data: &str, key_info: &str) -> String {
    ENCRYPTED
        .replace("TYPE", &format!("http://www.w3.org/2001/04/xmlenc#{kind}"))
        .replace("DATA", data)
        .replace("KEYINFO", key_info)
}

fn encrypted_key(method: &str) -> String {
    format!(
        "<xenc:EncryptedKey><xenc:EncryptionMethod Algorithm=\"{method}\"/><KeyInfo><KeyName/></KeyInfo>\
         <xenc:CipherData><xenc:CipherValue/></xenc:CipherData></xenc:EncryptedKey>"
    )
}

const DATA: [&str; 7] = [
    "http://www.w3.org/2001/04/xmlenc#tripledes-cbc",
    "http://www.w3.org/2001/04/xmlenc#aes128-cbc",
    "http://www.w3.org/2001/04/xmlenc#aes192-cbc",
    "http://www.w3.org/2001/04/xmlenc#aes256-cbc",
    "http://www.w3.org/2009/xmlenc11#aes128-gcm",
    "http://www.w3.org/2009/xmlenc11#aes192-gcm",
    "http://www.w3.org/2009/xmlenc11#aes256-gcm",
];

const PLAIN: &str = "<a xmlns='urn:a'><!-- c --><b id='1'>text<c/></b></a>";

#[test]
fn elements_and_content_come_back_as_they_were() {
    let keys = keys(
        Some("ours"),
        Material::Private(PrivateKey::generate(KeyKind::Rsa { bits: 2048 }).unwrap()),
    );
    let transports = [
        "http://www.w3.org/2001/04/xmlenc#rsa-1_5",
        "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p",
        "http://www.w3.org/2009/xmlenc11#rsa-oaep",
    ];
    let mut options = options();
    options.start = StartNode::XPath("/*/*".to_owned());
    for (index, data) in DATA.into_iter().enumerate() {
        for kind in ["Element", "Content"] {
            let template = encryption_template(kind, data, &encrypted_key(transports[index % 3]));
            let mut resolver = NoResolver;
            let mut session = Session::new(&keys, &options, &mut resolver);
            let encrypted = encrypt(
                template.as_bytes(),
                PlainData::Xml(PLAIN.as_bytes()),
                None,
                &mut session,
            )
            .unwrap();
            let text = String::from_utf8(encrypted.clone()).unwrap();
            assert!(
                !text.contains("text<c/>") && text.contains("<KeyName>ours</KeyName>"),
                "{text}"
            );
            assert_eq!(text.contains("<b id='1'>"), kind == "Content", "{text}");
            let options = self::options();
            let decrypted = decrypt(
                &encrypted,
                &mut Session::new(&keys, &options, &mut NoResolver),
            )
            .unwrap();
            assert_eq!(String::from_utf8(decrypted.octets).unwrap(), PLAIN);
            assert!(decrypted.replaced);
        }
    }
}

#[test]
fn octets_come_back_as_they_were_under_each_key_wrap() {
    let octets: Vec<u8> = (0..=255).collect();
    for (wrap, length, kind) in [
        (
            "http://www.w3.org/2001/04/xmlenc#kw-tripledes",
            24,
            SecretKind::TripleDes,
        ),
        (
            "http://www.w3.org/2001/04/xmlenc#kw-aes128",
            16,
            SecretKind::Aes,
        ),
        (
            "http://www.w3.org/2001/04/xmlenc#kw-aes192",
            24,
            SecretKind::Aes,
        ),
        (
            "http://www.w3.org/2001/04/xmlenc#kw-aes256",
            32,
            SecretKind::Aes,
        ),
    ] {
        let keys = keys(
            Some("shared"),
            Material::Secret(kind, SymmetricKey::generate(length).unwrap()),
        );
        let template = encryption_template("Octets", DATA[6], &encrypted_key(wrap))
            .replace(" Type=\"http://www.w3.org/2001/04/xmlenc#Octets\"", "");
        let options = options();
        let mut resolver = NoResolver;
        let mut session = Session::new(&keys, &options, &mut resolver);
        let session_key = Some(SessionKey::parse("aes-256").unwrap());
        let encrypted = encrypt(
            template.as_bytes(),
            PlainData::Octets(&octets),
            session_key,
            &mut session,
        )
        .unwrap();
        let decrypted = decrypt(&encrypted, &mut session).unwrap();
        assert_eq!(
            (decrypted.octets, decrypted.replaced),
            (octets.clone(), false)
        );
    }
}

#[test]
fn every_failure_to_decrypt_is_the_same() {
    let keys = keys(
        Some("k"),
        Material::Secret(SecretKind::Aes, SymmetricKey::generate(16).unwrap()),
    );
    let options = options();
    let mut resolver = NoResolver;
    let mut session = Session::new(&keys, &options, &mut resolver);
    let failed = Err(GenericError::Encryption(EncryptionError::Failed));
    for data in [DATA[1], DATA[4]] {
        let template = encryption_template("Element", data, "<KeyName>k</KeyName>");
        // A plaintext that is no element.
        let encrypted = encrypt(
            template.as_bytes(),
            PlainData::Octets(b"<a><b></a>"),
            None,
            &mut session,
        )
        .unwrap();
        assert_eq!(decrypt(&encrypted, &mut session), failed);
        // A ciphertext that is no ciphertext.
        let text = String::from_utf8(encrypted).unwrap();
        let start = text.find("<xenc:CipherValue>").unwrap() + "<xenc:CipherValue>".len();
        let end = text.find("</xenc:CipherValue>").unwrap();
        for value in [
            "",
            "AAAA",
            "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ] {
            let altered = format!("{}{value}{}", &text[..start], &text[end..]);
            assert_eq!(decrypt(altered.as_bytes(), &mut session), failed, "{value}");
        }
    }
}

#[test]
fn an_encrypted_key_that_leads_to_itself_ends() {
    let keys = Keys::new();
    let options = options();
    let retrieval = "<RetrievalMethod xmlns=\"http://www.w3.org/2000/09/xmldsig#\" URI=\"#loop\" Type=\"http://www.w3.org/2001/04/xmlenc#EncryptedKey\"/>";
    let looped = encrypted_key("http://www.w3.org/2001/04/xmlenc#kw-aes128")
        .replace("<xenc:EncryptedKey>", "<xenc:EncryptedKey Id=\"loop\">")
        .replace("<KeyName/>", retrieval)
        .replace(
            "<xenc:CipherValue/>",
            "<xenc:CipherValue>AAAA</xenc:CipherValue>",
        );
    let document = encryption_template("Element", DATA[1], &looped).replace(
        "<xenc:CipherValue/>",
        "<xenc:CipherValue>AAAA</xenc:CipherValue>",
    );
    let refused = decrypt(
        document.as_bytes(),
        &mut Session::new(&keys, &options, &mut NoResolver),
    );
    assert_eq!(
        refused,
        Err(GenericError::TooDeep {
            what: "ds:RetrievalMethod"
        })
    );
}

#[test]
fn agreed_keys_work_in_both_directions() {
    let pair = || PrivateKey::generate(KeyKind::Ec(Curve::P256)).unwrap();
    let (sender, recipient) = (pair(), pair());
    let agreement = "<xenc:EncryptedKey><xenc:EncryptionMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#kw-aes128\"/><KeyInfo>\
        <xenc:AgreementMethod Algorithm=\"http://www.w3.org/2009/xmlenc11#ECDH-ES\">\
        <x:KeyDerivationMethod xmlns:x=\"http://www.w3.org/2009/xmlenc11#\" Algorithm=\"http://www.w3.org/2009/xmlenc11#ConcatKDF\">\
        <x:ConcatKDFParams AlgorithmID=\"0012\" PartyUInfo=\"0034\" PartyVInfo=\"0056\"><DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"/>\
        </x:ConcatKDFParams></x:KeyDerivationMethod>\
        <xenc:OriginatorKeyInfo><KeyName>sender</KeyName></xenc:OriginatorKeyInfo>\
        <xenc:RecipientKeyInfo><KeyName>recipient</KeyName></xenc:RecipientKeyInfo></xenc:AgreementMethod></KeyInfo>\
        <xenc:CipherData><xenc:CipherValue/></xenc:CipherData></xenc:EncryptedKey>";
    let template = encryption_template("Element", DATA[4], agreement);
    let side = |private: (&str, &PrivateKey), public: (&str, &PrivateKey)| {
        let mut keys = keys(Some(private.0), Material::Private(private.1.clone()));
        keys.keys.push(Key::new(
            Some(public.0.to_owned()),
            Material::Public(public.1.public_key().clone()),
        ));
        keys
    };
    let options = options();
    let ours = side(("sender", &sender), ("recipient", &recipient));
    let encrypted = encrypt(
        template.as_bytes(),
        PlainData::Octets(b"<a/>"),
        None,
        &mut Session::new(&ours, &options, &mut NoResolver),
    )
    .unwrap();
    let theirs = side(("recipient", &recipient), ("sender", &sender));
    let decrypted = decrypt(
        &encrypted,
        &mut Session::new(&theirs, &options, &mut NoResolver),
    )
    .unwrap();
    assert_eq!(decrypted.octets, b"<a/>");
}

#[test]
fn key_information_that_branches_without_end_ends() {
    let keys = Keys::new();
    let options = options();
    let retrieval =
        "<RetrievalMethod xmlns=\"http://www.w3.org/2000/09/xmldsig#\" URI=\"#again\"/>".repeat(60);
    let document = encryption_template("Element", DATA[1], &retrieval)
        .replace("<KeyInfo ", "<KeyInfo Id=\"again\" ")
        .replace(
            "<xenc:CipherValue/>",
            "<xenc:CipherValue>AAAA</xenc:CipherValue>",
        );
    let refused = decrypt(
        document.as_bytes(),
        &mut Session::new(&keys, &options, &mut NoResolver),
    );
    assert!(
        matches!(
            refused,
            Err(GenericError::TooDeep { .. } | GenericError::KeyInfo(KeyInfoError::TooMany { .. }))
        ),
        "{refused:?}"
    );
}
