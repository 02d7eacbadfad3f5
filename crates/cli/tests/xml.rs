//! `soapstone xml`: canonical forms, and signing, verifying, encrypting and decrypting with the
//! flags of xmlsec1.

mod common;

use common::{Folder, SOAP11, envelope, key};

const DSIG: &str = "http://www.w3.org/2000/09/xmldsig#";
const MORE: &str = "http://www.w3.org/2001/04/xmldsig-more#";
const ENC: &str = "http://www.w3.org/2001/04/xmlenc#";
const ENC11: &str = "http://www.w3.org/2009/xmlenc11#";
const EXCLUSIVE: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";

/// An envelope with a signature template over its Body, by id.
fn template(method: &str, key_info: &str) -> String {
    let transform = format!("<Transforms><Transform Algorithm=\"{EXCLUSIVE}\"/></Transforms>");
    signature(method, key_info, "#body", &transform)
}

fn signature(method: &str, key_info: &str, uri: &str, transforms: &str) -> String {
    let key_info = if key_info.is_empty() {
        String::new()
    } else {
        format!("<KeyInfo>{key_info}</KeyInfo>")
    };
    let signature = format!(
        "<Signature xmlns=\"{DSIG}\"><SignedInfo><CanonicalizationMethod Algorithm=\"{EXCLUSIVE}\"/>\
         <SignatureMethod Algorithm=\"{method}\"/><Reference URI=\"{uri}\">{transforms}\
         <DigestMethod Algorithm=\"{ENC}sha256\"/><DigestValue/></Reference></SignedInfo><SignatureValue/>\
         {key_info}</Signature>"
    );
    envelope(SOAP11)
        .replace("<soap:Body>", "<soap:Body Id=\"body\">")
        .replace("</soap:Header>", &format!("{signature}</soap:Header>"))
}

fn encryption(cipher: &str, kind: &str, key_info: &str) -> String {
    format!(
        "<EncryptedData xmlns=\"{ENC}\" Type=\"{ENC}{kind}\"><EncryptionMethod Algorithm=\"{cipher}\"/>{key_info}\
         <CipherData><CipherValue/></CipherData></EncryptedData>"
    )
}

const ID: &str = "--id-attr:Id http://schemas.xmlsoap.org/soap/envelope/:Body";

#[test]
fn what_is_signed_verifies_and_what_is_altered_does_not() {
    let folder = Folder::new();
    for (method, name) in [
        ("rsa-sha256", "client"),
        ("ecdsa-sha256", "p256"),
        ("ecdsa-sha384", "p384"),
        ("ecdsa-sha512", "p521"),
    ] {
        folder.write("template.xml", template(&format!("{MORE}{method}"), ""));
        let (private, public) = (
            key(&format!("{name}.key.pem")),
            key(&format!("{name}.cert.pem")),
        );
        folder
            .run(&format!(
                "xml sign {ID} --privkey-pem {private} --output signed.xml template.xml"
            ))
            .succeeds();
        let verify = format!("xml verify {ID} --pubkey-cert-pem {public}");
        let told = folder.run(&format!("{verify} signed.xml")).succeeds();
        assert!(
            told.text().starts_with(&format!("verified: {method}")),
            "{}",
            told.text()
        );

        let signed = folder.read("signed.xml");
        folder.write(
            "altered.xml",
            signed.replace("<b:price>100<", "<b:price>001<"),
        );
        folder
            .run(&format!("{verify} altered.xml"))
            .refuses("digest-mismatch");
        let transform = format!("{EXCLUSIVE}\"/></Transforms>");
        let other_transform = transform.replace('#', "#WithComments");
        folder.write("altered.xml", signed.replace(&transform, &other_transform));
        folder
            .run(&format!("{verify} altered.xml"))
            .refuses("signature-mismatch");
        let other = key("stranger.cert.pem");
        let refused = folder.run(&format!(
            "xml verify {ID} --pubkey-cert-pem {other} signed.xml"
        ));
        assert_eq!(refused.status, 2, "{}", refused.err);
    }
}

#[test]
fn a_shared_key_signs_and_verifies() {
    let folder = Folder::new();
    folder.write("template.xml", template(&format!("{MORE}hmac-sha256"), ""));
    let shared = key("shared.key.bin");
    folder
        .run(&format!(
            "xml --sign {ID} --hmackey {shared} -o signed.xml template.xml"
        ))
        .succeeds();
    folder
        .run(&format!("xml --verify {ID} --hmackey {shared} signed.xml"))
        .succeeds();
    folder.write("other.bin", [7; 32]);
    folder
        .run(&format!("xml verify {ID} --hmackey other.bin signed.xml"))
        .refuses("signature-mismatch");
}

#[test]
fn keys_are_found_by_the_name_after_the_colon() {
    let folder = Folder::new();
    folder.write(
        "template.xml",
        template(&format!("{MORE}rsa-sha256"), "<KeyName/>"),
    );
    let (private, public) = (key("client.key.pem"), key("client.cert.pem"));
    folder
        .run(&format!(
            "xml sign {ID} --privkey-pem:partner {private} -o signed.xml template.xml"
        ))
        .succeeds();
    assert!(
        folder
            .read("signed.xml")
            .contains("<KeyName>partner</KeyName>")
    );
    folder
        .run(&format!(
            "xml verify {ID} --pubkey-cert-pem:partner {public} signed.xml"
        ))
        .succeeds();
    folder
        .run(&format!(
            "xml verify {ID} --pubkey-cert-pem:stranger {public} signed.xml"
        ))
        .refuses("key-not-found");
    folder
        .run(&format!(
            "xml verify {ID} --lax-key-search --pubkey-cert-pem:stranger {public} signed.xml"
        ))
        .succeeds();
}

#[test]
fn a_certificate_in_the_message_counts_only_when_it_leads_to_an_anchor() {
    let folder = Folder::new();
    folder.write(
        "template.xml",
        template(&format!("{MORE}rsa-sha256"), "<X509Data/>"),
    );
    let pair = format!("{},{}", key("client.key.pem"), key("client.cert.pem"));
    folder
        .run(&format!(
            "xml sign {ID} --privkey-pem {pair} -o signed.xml template.xml"
        ))
        .succeeds();
    let (ca, other) = (key("ca.cert.pem"), key("other-ca.cert.pem"));
    let verify = |rest: &str| {
        folder.run(&format!(
            "xml verify {ID} --enabled-key-data x509 {rest} signed.xml"
        ))
    };
    let told = verify(&format!("--trusted-pem {ca}")).succeeds();
    assert!(told.text().contains("CN=client"), "{}", told.text());
    verify(&format!("--trusted-pem {ca} --verify-crls")).succeeds();
    assert_eq!(verify(&format!("--trusted-pem {other}")).status, 2);
    assert_eq!(verify("--pubkey-pem nowhere.pem").status, 1);
    let late = format!("--trusted-pem {ca} --verification-gmt-time 2099-01-01+00:00:00");
    assert_eq!(verify(&late).status, 2);
    verify(&format!("{late} --X509-skip-time-checks")).succeeds();
    verify("--insecure").succeeds();
}

#[test]
fn references_outside_the_document_are_followed_only_when_they_are_enabled() {
    let folder = Folder::new();
    folder.write("part.xml", "<part>1</part>");
    let shared = key("shared.key.bin");
    let method = format!("{MORE}hmac-sha256");
    for (uri, option) in [
        ("part.xml", "--enabled-reference-uris local"),
        (
            "http://example.org/part",
            "--url-map:http://example.org/part part.xml",
        ),
    ] {
        folder.write("template.xml", signature(&method, "", uri, ""));
        folder
            .run(&format!(
                "xml sign --hmackey {shared} -o signed.xml template.xml"
            ))
            .refuses("reference-not-enabled");
        folder
            .run(&format!(
                "xml sign {option} --hmackey {shared} -o signed.xml template.xml"
            ))
            .succeeds();
        folder
            .run(&format!(
                "xml verify {option} --hmackey {shared} signed.xml"
            ))
            .succeeds();
        folder
            .run(&format!("xml verify --hmackey {shared} signed.xml"))
            .refuses("reference-not-enabled");
        folder.write("part.xml", "<part>2</part>");
        folder
            .run(&format!(
                "xml verify {option} --hmackey {shared} signed.xml"
            ))
            .refuses("digest-mismatch");
        folder.write("part.xml", "<part>1</part>");
    }
}

/// SECURITY.md: files are read below the input's folder. The working folder of these commands is
/// the one above it.
#[test]
fn files_below_the_working_folder_alone_are_not_read() {
    let folder = Folder::new();
    folder.write("part.xml", "<part/>");
    folder.write("inside/part.xml", "<part/>");
    let shared = key("shared.key.bin");
    let method = format!("{MORE}hmac-sha256");
    let sign = |uri: &str| {
        folder.write("inside/template.xml", signature(&method, "", uri, ""));
        folder.run(&format!(
            "xml sign --enabled-reference-uris any --hmackey {shared} -o signed.xml inside/template.xml"
        ))
    };
    let absolute = folder.path("part.xml");
    for outside in ["../part.xml", absolute.to_str().unwrap()] {
        sign(outside).refuses("reference-not-found");
    }
    sign("part.xml").succeeds();
    sign("../inside/part.xml").succeeds();
}

#[test]
fn xslt_is_refused_as_unsupported() {
    let folder = Folder::new();
    let xslt = "http://www.w3.org/TR/1999/REC-xslt-19991116";
    let transforms = format!(
        "<Transforms><Transform Algorithm=\"{xslt}\"><x:stylesheet version=\"1.0\" \
         xmlns:x=\"http://www.w3.org/1999/XSL/Transform\"/></Transform></Transforms>"
    );
    folder.write(
        "template.xml",
        signature(&format!("{MORE}hmac-sha256"), "", "", &transforms),
    );
    let refused = folder
        .run(&format!(
            "xml sign --hmackey {} template.xml",
            key("shared.key.bin")
        ))
        .refuses("transform-refused");
    assert!(
        refused.err.contains(&format!("\nunsupported: {xslt}\n")),
        "{}",
        refused.err
    );
}

#[test]
fn what_is_encrypted_decrypts_to_the_same_document() {
    let folder = Folder::new();
    folder.write("in.xml", envelope(SOAP11));
    let (public, private) = (key("server.cert.pem"), key("server.key.pem"));
    let canonical = folder.run("xml c14n in.xml").succeeds().out;
    for (cipher, session) in [
        (format!("{ENC}aes256-cbc"), "aes-256"),
        (format!("{ENC11}aes128-gcm"), "aes-128"),
        (format!("{ENC}tripledes-cbc"), "des-192"),
    ] {
        for kind in ["Content", "Element"] {
            let key_info = format!(
                "<KeyInfo xmlns=\"{DSIG}\"><EncryptedKey xmlns=\"{ENC}\"><EncryptionMethod Algorithm=\"{ENC}rsa-oaep-mgf1p\"/>\
                 <CipherData><CipherValue/></CipherData></EncryptedKey></KeyInfo>"
            );
            folder.write("template.xml", encryption(&cipher, kind, &key_info));
            folder
                .run(&format!(
                    "xml encrypt --session-key {session} --pubkey-cert-pem {public} --xml-data in.xml --node-name {SOAP11}:Body \
                     --output encrypted.xml template.xml"
                ))
                .succeeds();
            let encrypted = folder.read("encrypted.xml");
            assert!(
                !encrypted.contains("tajné") && encrypted.contains("urn:books</a:To>"),
                "{encrypted}"
            );
            folder
                .run(&format!(
                    "xml decrypt --privkey-pem {private} -o plain.xml encrypted.xml"
                ))
                .succeeds();
            assert_eq!(
                folder.run("xml c14n plain.xml").succeeds().out,
                canonical,
                "{cipher} {kind}"
            );
            folder
                .run(&format!(
                    "xml decrypt --privkey-pem {} encrypted.xml",
                    key("client.key.pem")
                ))
                .refuses("decryption-failed");
        }
    }
}

#[test]
fn octets_are_encrypted_and_come_back_as_they_were() {
    let folder = Folder::new();
    let octets: Vec<u8> = (0..=255).collect();
    folder.write("octets", &octets);
    let template =
        encryption(&format!("{ENC11}aes256-gcm"), "", "").replace(&format!(" Type=\"{ENC}\""), "");
    folder.write("template.xml", template);
    let shared = key("shared.key.bin");
    folder
        .run(&format!(
            "xml encrypt --aeskey {shared} --binary-data octets -o encrypted.xml template.xml"
        ))
        .succeeds();
    assert_eq!(
        folder
            .run(&format!("xml decrypt --aeskey {shared} encrypted.xml"))
            .succeeds()
            .out,
        octets
    );
    folder.write("other.bin", [7; 32]);
    folder
        .run("xml decrypt --aeskey other.bin encrypted.xml")
        .refuses("decryption-failed");
}

#[test]
fn canonical_forms_of_documents_and_parts_are_written() {
    let folder = Folder::new();
    folder.write(
        "in.xml",
        "<?xml version='1.0'?>\n<!-- c --><a b='2'  a='1' xmlns:x='urn:x'><x:y xml:id='y'/></a>",
    );
    let c14n = |words: &[&str]| {
        let words = [&["xml", "c14n"], words, &["in.xml"]].concat();
        folder.run_words(&words, b"").succeeds().text().to_owned()
    };
    assert_eq!(
        c14n(&[]),
        "<a xmlns:x=\"urn:x\" a=\"1\" b=\"2\"><x:y xml:id=\"y\"></x:y></a>"
    );
    let with_comments = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments";
    assert_eq!(
        c14n(&["--algorithm", with_comments]),
        format!("<!-- c -->\n{}", c14n(&[]))
    );
    let whole = "<x:y xmlns:x=\"urn:x\" xml:id=\"y\"></x:y>";
    assert_eq!(c14n(&["--subtree", "y"]), whole);
    assert_eq!(
        c14n(&["--algorithm", EXCLUSIVE, "--subtree", "{urn:x}y"]),
        whole
    );
    let nodes = "(//. | //@* | //namespace::*)[ancestor-or-self::p:y]";
    assert_eq!(c14n(&["--xpath", nodes, "--xpath-ns", "p=urn:x"]), whole);
    assert_eq!(
        c14n(&[
            "--algorithm",
            "exc-c14n",
            "--inclusive-prefixes",
            "x",
            "--xpath",
            "/a"
        ]),
        "<a></a>"
    );
    folder
        .run_words(&["xml", "c14n", "--subtree", "z", "in.xml"], b"")
        .fails("no element with the id or the name z");
    folder
        .run_words(&["xml", "c14n", "--xpath", "//[", "in.xml"], b"")
        .fails("the expression of --xpath");
    folder
        .run_words(&["xml", "c14n", "--algorithm", "c15n", "in.xml"], b"")
        .fails("expected a URI or one of c14n,");
}

#[test]
fn a_dtd_is_applied_and_reaches_no_file_outside_the_folder_of_the_input() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("inside")).unwrap();
    folder
        .write("secret", "secret")
        .write("inside/part.ent", "<part/>");
    let document = |entity: &str| {
        format!(
            "<!DOCTYPE a [<!ATTLIST a lang CDATA \"cs\" key ID #IMPLIED><!ENTITY e SYSTEM \"{entity}\"><!ENTITY i \"in\">]>\
             <a key=\"k\">&i;&e;</a>"
        )
    };
    folder.write("inside/in.xml", document("part.ent"));
    let expected = "<a key=\"k\" lang=\"cs\">in<part></part></a>";
    assert_eq!(
        folder.run("xml c14n inside/in.xml").succeeds().text(),
        expected
    );
    assert_eq!(
        folder
            .run("xml c14n --subtree k inside/in.xml")
            .succeeds()
            .text(),
        expected
    );
    let absolute = folder.path("secret");
    for outside in [
        "../secret",
        absolute.to_str().unwrap(),
        "http://127.0.0.1:1/",
    ] {
        folder.write("inside/in.xml", document(outside));
        folder.run("xml c14n inside/in.xml").refuses("dtd");
    }
}

#[test]
fn a_document_that_is_not_well_formed_is_refused() {
    let folder = Folder::new();
    for command in ["c14n", "verify"] {
        for (octets, told) in [
            (
                &b"<a><b></a>"[..],
                "refused (not-well-formed): start and end tags do not match, at line 1, column 11",
            ),
            (
                b"hello",
                "refused (not-well-formed): expected only markup and white space outside the root element, found `hello`",
            ),
            (
                b"<a>&nbsp;</a>",
                "refused (not-well-formed): entity `&nbsp;` is not declared, at line 1",
            ),
            (b"<a>\0</a>", "refused (not-well-formed): character U+0000"),
            (b"\xff\xfe\xfd", "refused (malformed-encoding): "),
        ] {
            let run = folder.run_words(&["xml", command], octets);
            assert_eq!(run.status, 2, "{}", run.err);
            assert_eq!(run.out, b"");
            assert!(run.err.contains(told), "{}", run.err);
        }
    }
}

#[test]
fn every_element_may_have_an_id_attribute_of_any_name() {
    let folder = Folder::new();
    let shared = key("shared.key.bin");
    let template =
        template(&format!("{MORE}hmac-sha256"), "").replace("<soap:Body Id=", "<soap:Body key=");
    folder.write("template.xml", template);
    let sign = format!("--hmackey {shared} -o signed.xml template.xml");
    folder
        .run(&format!("xml sign {sign}"))
        .refuses("reference-not-found");
    folder
        .run(&format!("xml sign --id-attr:key * {sign}"))
        .succeeds();
    folder
        .run(&format!(
            "xml verify --id-attr:key {SOAP11}:Body --hmackey {shared} signed.xml"
        ))
        .succeeds();
    folder
        .run(&format!(
            "xml verify --id-attr:key {SOAP11}:Header --hmackey {shared} signed.xml"
        ))
        .refuses("reference-not-found");
}

#[test]
fn the_octets_that_were_digested_are_shown_on_demand() {
    let folder = Folder::new();
    let shared = key("shared.key.bin");
    folder.write("template.xml", template(&format!("{MORE}hmac-sha256"), ""));
    folder
        .run(&format!(
            "xml sign {ID} --hmackey {shared} -o signed.xml template.xml"
        ))
        .succeeds();
    let shown = folder
        .run(&format!(
            "xml verify {ID} --store-references --hmackey {shared} signed.xml"
        ))
        .succeeds();
    let digested = folder
        .run("xml c14n --algorithm exc-c14n --id-attribute Id --subtree body signed.xml")
        .succeeds();
    assert!(shown.text().contains(digested.text()), "{}", shown.text());

    // Nobody needs them more than whoever looks for what was changed.
    let signed = folder.read("signed.xml");
    folder.write(
        "altered.xml",
        signed.replace("<b:price>100<", "<b:price>001<"),
    );
    let refused = folder
        .run(&format!(
            "xml verify {ID} --store-references --hmackey {shared} altered.xml"
        ))
        .refuses("digest-mismatch");
    let digested = folder
        .run("xml c14n --algorithm exc-c14n --id-attribute Id --subtree body altered.xml")
        .succeeds();
    assert!(
        refused.text().contains(digested.text()),
        "{}",
        refused.text()
    );
    assert!(!refused.text().contains("matches"), "{}", refused.text());
}
