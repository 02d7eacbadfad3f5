//! Names that hold a whole path of certificates (X.509 Token Profile 1.1.1, 3.1).

use super::*;

/// An identity whose certificate is not of the authority itself.
fn below_the_authority() -> Identity {
    let subject = Template::new("CN=between", keys::validity()).unwrap();
    let between = issue::identity(&PARTIES.authority, keys::RSA, &subject.for_authority()).unwrap();
    let end = leaf(&between, "CN=client", keys::validity());
    let chain = vec![between.certificate().clone()];
    Identity::new(end.key().clone(), end.certificate().clone(), chain).unwrap()
}

/// X.509 Token Profile 1.1.1, 3.1; BDEW AS4-Profil 1.1, 2.2.6.2.1; ICS2, HTI 4.6.2.
#[test]
fn a_path_is_sent_whole_and_leads_to_the_anchor() {
    let identity = Arc::new(below_the_authority());
    let keys = Keys {
        identity: Some(Arc::clone(&identity)),
        ..client_keys()
    };
    let sent = |way| {
        let secured = secure_with(&signing_by(way), keys.clone(), PLAIN, None);
        String::from_utf8(secured.bytes).unwrap()
    };
    let path = sent(KeyReference::PkiPath);
    open_by_anchor(&signing_by(KeyReference::PkiPath), &path).unwrap();
    let token = cut(&path, "wsse:BinarySecurityToken");
    assert!(token.contains(&format!("ValueType=\"{X509_PKI_PATH_V1}\"")));
    let reference = cut(&path, "wsse:SecurityTokenReference");
    assert!(reference.contains(&format!("wsse11:TokenType=\"{X509_PKI_PATH_V1}\"")));
    assert!(reference.contains(&format!(
        "ValueType=\"{X509_PKI_PATH_V1}\"></wsse:Reference>"
    )));
    let start = token.find('>').unwrap() + 1;
    let end = token.rfind('<').unwrap();
    let octets = base64::decode_xml_to_vec(&token.as_bytes()[start..end]).unwrap();
    let found = Certificate::from_pki_path(&octets).unwrap();
    assert_eq!(found[0].der(), identity.certificate().der());
    assert_eq!(found[1].der(), identity.chain()[0].der());

    let alone = sent(KeyReference::Direct);
    let refused = open_by_anchor(&signing_by(KeyReference::Direct), &alone).unwrap_err();
    assert_eq!(refused.name(), "untrusted");
}

/// XML-Signature 1.1, 4.5.4: certificates of a path come in any order.
#[test]
fn a_path_in_x509_data_is_read_in_any_order() {
    let identity = below_the_authority();
    let keys = Keys {
        identity: Some(Arc::new(identity.clone())),
        ..client_keys()
    };
    let policy = signing_by(KeyReference::X509Data);
    let secured = secure_with(&policy, keys, PLAIN, None);
    let message = String::from_utf8(secured.bytes).unwrap();
    let (end, between) = (
        embedded(identity.certificate()),
        embedded(&identity.chain()[0]),
    );
    let root = embedded(PARTIES.authority.certificate());
    for path in [
        [&end, &between, &root],
        [&root, &between, &end],
        [&between, &end, &root],
    ] {
        let path = path.map(String::as_str).concat();
        let message = message.replacen(&end, &path, 1);
        assert_eq!(open_by_anchor(&policy, &message).unwrap(), "CN=client");
    }
    // Two that have nothing to do with each other.
    let two = format!("{end}{}", embedded(stranger()));
    let refused = open_by_anchor(&policy, &message.replacen(&end, &two, 1)).unwrap_err();
    assert_eq!(refused.name(), "malformed");
}
