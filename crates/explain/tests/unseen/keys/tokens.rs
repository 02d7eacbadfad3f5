//! Assertions that name the key of a signature, and signed tokens.

use soapstone::crypto::{SignatureAlgorithm, base64};
use soapstone::xml::Canonicalization;
use soapstone_explain::Known;

use crate::cases::{Cases, Sender, inclusive, lines, of_soap12, rich};
use crate::support::{
    self, Signer, as_it_is, certificate, document, form, private_key, secured, signed_anew,
    with_value,
};

/// A message that the holder of an assertion's key signs.
fn held(version_20: bool) -> String {
    let (name, id, assertion) = match version_20 {
        true => (
            "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLID",
            "_a20",
            "<saml:Assertion xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\" ID=\"_a20\" Version=\"2.0\"><saml:Subject><saml:SubjectConfirmation \
             Method=\"urn:oasis:names:tc:SAML:2.0:cm:holder-of-key\"><saml:SubjectConfirmationData>{info}</saml:SubjectConfirmationData>\
             </saml:SubjectConfirmation></saml:Subject></saml:Assertion>",
        ),
        false => (
            "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.0#SAMLAssertionID",
            "_a11",
            "<saml:Assertion xmlns:saml=\"urn:oasis:names:tc:SAML:1.0:assertion\" AssertionID=\"_a11\" MajorVersion=\"1\" MinorVersion=\"1\">\
             <saml:AuthenticationStatement><saml:Subject><saml:SubjectConfirmation><saml:ConfirmationMethod>urn:oasis:names:tc:SAML:1.0:cm:holder-of-key\
             </saml:ConfirmationMethod>{info}</saml:SubjectConfirmation></saml:Subject></saml:AuthenticationStatement></saml:Assertion>",
        ),
    };
    let der = base64::encode(certificate("client").der());
    let info = format!(
        "<ds:KeyInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><ds:X509Data><ds:X509Certificate>{der}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
    );
    let assertion = assertion.replace("{info}", &info);
    let message = Sender::new(0, &rich()).message;
    let start = message.find("<ds:KeyInfo>").expect("a KeyInfo");
    let end = message.find("</ds:KeyInfo>").expect("a KeyInfo");
    let reference = format!(
        "<ds:KeyInfo><wsse:SecurityTokenReference xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">\
         <wsse:KeyIdentifier ValueType=\"{name}\">{id}</wsse:KeyIdentifier></wsse:SecurityTokenReference>"
    );
    let message = format!("{}{reference}{}", &message[..start], &message[end..]);
    message.replacen("<ds:Signature ", &format!("{assertion}<ds:Signature "), 1)
}

/// A message whose signature covers the signer's token through a reference to it (SOAP Message
/// Security 1.1.1, 8.3). The digest is that of what `how` makes of the token's exclusive form.
fn by_reference(how: &dyn Fn(&str) -> String) -> String {
    let lines = lines("rsa-sha256").replace("\"Timestamp\",", "\"Timestamp\", \"Token\",");
    let message = secured("client", &lines, &of_soap12(&rich()));
    let token = |read: &soapstone::xml::Document| {
        let mut all = read.root().descendants();
        let token = all.find(|element| element.local() == "BinarySecurityToken");
        token.expect("a token").id()
    };
    let read = document(&message);
    let namespace =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    let id = read.element(token(&read)).attribute(namespace, "Id");
    let id = id.expect("an id").into_owned();
    let start = message
        .find(&format!("<ds:Reference URI=\"#{id}\">"))
        .expect("a reference");
    let (from, to) = ("<ds:Transforms>", "</ds:Transforms>");
    let from = start + message[start..].find(from).expect("transforms");
    let to = from + message[from..].find(to).expect("transforms");
    let transform = "<ds:Transforms><ds:Transform Algorithm=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#STR-Transform\">\
        <wsse:TransformationParameters xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">\
        <ds:CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\"/></wsse:TransformationParameters></ds:Transform>";
    let message = format!(
        "{}<ds:Reference URI=\"#STR\">{transform}{}",
        &message[..start],
        &message[to..]
    );
    let named = "<wsse:SecurityTokenReference";
    let with_id = format!("{named} xmlns:wsu=\"{namespace}\" wsu:Id=\"STR\"");
    let message = message.replacen(named, &with_id, 1);
    let digested: support::Digested<'_> = &|read, _, _| {
        let form = form(read, token(read), Canonicalization::Exclusive, &[], &[]);
        how(std::str::from_utf8(&form).expect("UTF-8")).into_bytes()
    };
    let parts = [("SecurityTokenReference", digested)];
    signed_anew(&message, &Signer::client(), &parts, &as_it_is)
}

/// As it should be: the default namespace is declared.
fn token_as_it_is(form: &str) -> String {
    form.replacen(
        "<wsse:BinarySecurityToken",
        "<wsse:BinarySecurityToken xmlns=\"\"",
        1,
    )
}

pub(super) fn tokens(cases: &mut Cases) {
    let client = || Signer::client();
    let server = private_key("server");
    let by_server = |bytes: &[u8]| {
        server
            .sign(SignatureAlgorithm::RsaSha256, bytes)
            .expect("a signature")
    };
    let peer = || Known {
        certificates: vec![("`peer`".to_owned(), certificate("server"))],
        ..Known::default()
    };
    for (version_20, name) in [(true, "2.0"), (false, "1.1")] {
        let good = held(version_20);
        let mut add = |what: &str, kinds, message, known| {
            cases.add(&format!("SAML {name}: {what}"), kinds, message, known);
        };
        add(
            "another holder",
            "other-certificate",
            with_value(&good, by_server, &as_it_is),
            peer(),
        );
        add(
            "a key of nobody",
            "other-key",
            with_value(&good, by_server, &as_it_is),
            Known::default(),
        );
        add(
            "SignedInfo inclusive",
            "canonicalization",
            with_value(&good, |bytes| client().sign(bytes), &|read, node, _| {
                inclusive(read, node).into_bytes()
            }),
            Known::default(),
        );
        add(
            "the Body with CR LF",
            "line-ends",
            signed_anew(
                &good,
                &client(),
                &[("Body", &|_, _, form: &str| {
                    form.replace('\n', "&#xD;\n").into_bytes()
                })],
                &as_it_is,
            ),
            Known::default(),
        );
    }
    let mut add = |name, kinds, message| cases.add(name, kinds, message, Known::default());
    let good = by_reference(&token_as_it_is);
    let reference = [("SecurityTokenReference", &as_it_is as support::Digested<'_>)];
    add(
        "STR transform: the reference itself",
        "str-transform",
        signed_anew(&good, &client(), &reference, &as_it_is),
    );
    add(
        "STR transform: no default namespace",
        "prefix-declaration",
        by_reference(&str::to_owned),
    );
    add(
        "STR transform: base64 in lines of 64",
        "base64-white-space",
        by_reference(&|form| {
            let form = token_as_it_is(form);
            let start = form.find('>').expect("a tag") + 1;
            let end = form.find("</").expect("a tag");
            let text = form.as_bytes()[start..end].chunks(64);
            let text: Vec<&str> = text
                .map(|line| std::str::from_utf8(line).expect("text"))
                .collect();
            format!("{}{}{}", &form[..start], text.join("\n"), &form[end..])
        }),
    );
}

/// Good messages, each with what the reader's side knows.
pub(super) fn good() -> Vec<(&'static str, String, Known)> {
    vec![
        ("SAML 2.0", held(true), Known::default()),
        ("SAML 1.1", held(false), Known::default()),
        (
            "a signed token",
            by_reference(&token_as_it_is),
            Known::default(),
        ),
    ]
}
