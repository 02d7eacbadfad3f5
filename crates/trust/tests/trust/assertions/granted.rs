//! What the service grants.

use soapstone_crypto::{DigestAlgorithm, KeyTransport, OaepParameters, base64};
use soapstone_testkit::keys;
use soapstone_trust::{ACTOR_CLAIM, ClaimDialect, ComputedKey, Refusal};
use soapstone_wss::{AssertionToken, ConfirmationMethod, SamlVersion};

use super::{
    BOOKS, FRONT, IDENTITY, Sts, WST14, assertion_of, by_password, by_signature, certificate,
    claim, is_valid, issue, read, request,
};
use crate::support::{WST, WSU, entropy};

fn attribute(assertion: &soapstone_wss::Assertion, name: &str) -> Option<Vec<String>> {
    let mut attributes = assertion.attributes.iter();
    let found = attributes.find(|attribute| attribute.name == name);
    found.map(|attribute| attribute.values.clone())
}

#[test]
fn a_bearer_assertion_is_about_its_requester_for_one_service() {
    let sts = Sts::new();
    let answer = sts.answer(&issue(BOOKS, "Bearer", ""), &by_password("alice"));
    let answer = answer.expect("an answer");
    // Every reader of it is alice.
    assert!(answer.confidential);
    assert_eq!(answer.action, format!("{WST}/RSTRC/IssueFinal"));
    let said = read(&assertion_of(&answer), "CN=sts", sts.now);
    assert_eq!(said.version, SamlVersion::V20);
    assert_eq!(said.subject.value, "alice");
    assert_eq!(
        said.audiences().collect::<Vec<_>>(),
        ["https://books.example"]
    );
    assert_eq!(
        said.methods().collect::<Vec<_>>(),
        [ConfirmationMethod::Bearer]
    );
    assert_eq!(
        attribute(&said, &claim("role")),
        Some(vec!["reader".to_owned()])
    );
    assert_eq!(
        attribute(&said, &claim("emailaddress")),
        Some(vec!["alice@books.example".to_owned()])
    );
    let [issued] = &answer.issued[..] else {
        panic!("one assertion");
    };
    assert_eq!(
        (issued.what, issued.id.as_str()),
        ("issued", said.id.as_str())
    );
    assert_eq!(
        (issued.subject.as_str(), issued.requester.as_str()),
        ("alice", "alice")
    );
}

#[test]
fn the_token_type_chooses_the_version() {
    let sts = Sts::new();
    for version in SamlVersion::ALL {
        for token_type in [version.token_type(), version.namespace()] {
            let wanted = format!("<wst:TokenType>{token_type}</wst:TokenType>");
            let issued = sts.issued(&issue(BOOKS, "Bearer", &wanted), &by_password("bob"));
            let said = read(&issued, "CN=sts", sts.now);
            assert_eq!(said.version, version);
            let name = match version {
                SamlVersion::V20 => claim("role"),
                SamlVersion::V11 => "role".to_owned(),
            };
            assert_eq!(attribute(&said, &name), Some(vec!["reader".to_owned()]));
        }
    }
    let sts = Sts::with(|rules| rules.versions = vec![SamlVersion::V20]);
    let found = SamlVersion::V11.token_type().to_owned();
    let wanted = format!("<wst:TokenType>{found}</wst:TokenType>");
    let refusal = sts.refusal(&issue(BOOKS, "Bearer", &wanted), &by_password("bob"));
    assert_eq!(refusal, Refusal::TokenTypeNotOffered { found });
}

#[test]
fn an_assertion_with_a_public_key_names_the_key_that_signed_the_request() {
    let sts = Sts::new();
    for version in SamlVersion::ALL {
        let wanted = format!("<wst:TokenType>{}</wst:TokenType>", version.token_type());
        let request = issue(BOOKS, "PublicKey", &wanted);
        let answer = sts.answer(&request, &by_signature("CN=client"));
        let answer = answer.expect("an answer");
        assert!(!answer.confidential);
        let written = assertion_of(&answer);
        let said = read(&written, "CN=sts", sts.now);
        assert_eq!(
            said.methods().collect::<Vec<_>>(),
            [ConfirmationMethod::HolderOfKey]
        );
        let token = AssertionToken::parse(written.into_bytes()).expect("an assertion to send");
        assert_eq!(token.holder(), Some(&certificate("CN=client")));
    }
}

/// WS-Trust 1.4, 4.4.4: both sides contribute, and the service has the key by its own private key.
#[test]
fn a_symmetric_key_is_computed_from_both_sides_and_encrypted_to_the_service() {
    let sts = Sts::new();
    let wanted = issue(BOOKS, "SymmetricKey", &entropy(32));
    let answer = sts
        .answer(&wanted, &by_signature("CN=client"))
        .expect("an answer");
    assert!(answer.confidential);
    let body = String::from_utf8(answer.body.clone()).expect("text");
    let between = |text: &str, start: &str, end: &str| {
        let from = text
            .find(start)
            .unwrap_or_else(|| panic!("{start}: {text}"))
            + start.len();
        let length = text[from..].find(end).expect("an end");
        text[from..from + length].to_owned()
    };
    let written = assertion_of(&answer);
    read(&written, "CN=sts", sts.now);
    let cipher_value = between(&written, "<xenc:CipherValue>", "</xenc:CipherValue>");
    let decoded = |text: &str| {
        let mut bytes = Vec::new();
        base64::decode(text.as_bytes(), &mut bytes).expect("base64");
        bytes
    };
    let cipher_value = decoded(&cipher_value);
    let oaep = OaepParameters::new(DigestAlgorithm::Sha256, DigestAlgorithm::Sha1);
    let books = keys::identity("CN=books", keys::RSA);
    let key = books
        .key()
        .unwrap(KeyTransport::RsaOaepMgf1p, &oaep, &cipher_value, None);
    let key = key.expect("a key");
    let theirs = between(&body, "/Nonce\">", "</wst:BinarySecret>");
    let theirs = decoded(&theirs);
    assert_eq!(theirs.len(), 32);
    let computed = ComputedKey::PSha1
        .compute(&[7; 32], &theirs, 32)
        .expect("a key");
    assert_eq!(key.expose(), computed.expose());
    assert!(
        body.contains("<wst:RequestedProofToken><wst:ComputedKey>"),
        "{body}"
    );
}

#[test]
fn claims_choose_among_what_may_be_said() {
    let sts = Sts::new();
    let asked = |claims: &str| {
        let claims = format!(
            "<wst:Claims Dialect='{}'>{claims}</wst:Claims>",
            super::IDENTITY
        );
        issue(BOOKS, "Bearer", &claims)
    };
    let one = |name: &str, optional: bool| {
        format!(
            "<ic:ClaimType Uri='{}' Optional='{optional}'/>",
            claim(name)
        )
    };
    let wanted = asked(&(one("role", false) + &one("gender", true)));
    let said = read(
        &sts.issued(&wanted, &by_password("alice")),
        "CN=sts",
        sts.now,
    );
    let names: Vec<_> = said.attributes.iter().map(|it| it.name.clone()).collect();
    assert_eq!(names, [claim("role")]);
    // What others may be called is as unknown as what nobody is.
    for (name, who) in [("gender", "alice"), ("emailaddress", "bob")] {
        let refusal = sts.refusal(&asked(&one(name, false)), &by_password(who));
        assert_eq!(refusal, Refusal::ClaimNotOffered { claim: claim(name) });
    }
}

/// WS-Trust 1.4, 9.3: the names of a dialect mean what its rule says, and choose among what may be
/// said of the subject.
#[test]
fn claims_of_another_dialect_go_by_its_rule() {
    const DIALECT: &str = "http://docs.oasis-open.org/wsfed/authorization/200706/authclaims";
    let sts = Sts::with(|rules| {
        rules.dialects = vec![ClaimDialect {
            dialect: DIALECT.to_owned(),
            claims: vec![
                ("urn:group".to_owned(), claim("role")),
                ("{urn:a}mail".to_owned(), claim("emailaddress")),
            ],
        }];
    });
    let asked = |dialect: &str, claims: &str| {
        let claims = format!(
            "<wst:Claims Dialect='{dialect}' xmlns:auth='urn:auth' xmlns:a='urn:a'>{claims}</wst:Claims>"
        );
        issue(BOOKS, "Bearer", &claims)
    };
    let alice = by_password("alice");
    let named = |claims: &str| {
        let said = read(
            &sts.issued(&asked(DIALECT, claims), &alice),
            "CN=sts",
            sts.now,
        );
        let names = said.attributes.into_iter().map(|it| it.name);
        names.collect::<Vec<_>>()
    };
    let group = "<auth:ClaimType Uri='urn:group'/>";
    let unknown = "<auth:ClaimType Uri='urn:clearance' Optional='true'/>";
    assert_eq!(named(&format!("{group}{unknown}")), [claim("role")]);
    assert_eq!(named("<a:mail/>"), [claim("emailaddress")]);
    let refused = |dialect: &str, claims: &str| sts.refusal(&asked(dialect, claims), &alice);
    let not_offered = |name: &str| Refusal::ClaimNotOffered {
        claim: name.to_owned(),
    };
    let needed = unknown.replace(" Optional='true'", "");
    assert_eq!(refused(DIALECT, &needed), not_offered("urn:clearance"));
    // The name that the token has elsewhere is no name of this dialect.
    let own = format!("<auth:ClaimType Uri='{}'/>", claim("role"));
    assert_eq!(refused(DIALECT, &own), not_offered(&claim("role")));
    // A value would be the requester's own word about the subject.
    for more in [
        "<auth:ClaimType Uri='urn:group'><auth:Value>admin</auth:Value></auth:ClaimType>",
        "<auth:ClaimType Uri='urn:group'>admin</auth:ClaimType>",
        "<auth:ClaimType Uri='urn:group' Value='admin'/>",
    ] {
        assert_eq!(refused(DIALECT, more), not_offered("{urn:auth}ClaimType"));
    }
    // So would be text beside the names, or an attribute of all of them.
    let whole = format!("{{{WST}}}Claims");
    for more in [format!("admin{group}"), format!("{group}<![CDATA[admin]]>")] {
        assert_eq!(refused(DIALECT, &more), not_offered(&whole));
    }
    let attribute = asked(DIALECT, group).replace("<wst:Claims ", "<wst:Claims Value='admin' ");
    assert_eq!(sts.refusal(&attribute, &alice), not_offered(&whole));
    // Bob has no such attribute, whatever it is called.
    let bobs = sts.refusal(&asked(DIALECT, "<a:mail/>"), &by_password("bob"));
    assert_eq!(bobs, not_offered(&claim("emailaddress")));
    let element = format!("{{{WST}}}Claims");
    assert_eq!(
        refused("urn:other", group),
        Refusal::NotUnderstood { element }
    );
}

#[test]
fn a_lifetime_is_honoured_between_the_shortest_and_the_longest() {
    let sts = Sts::new();
    for (asked, granted) in [(120, 120), (3600, 3600), (86_400, 3600)] {
        let expires = sts.now + jiff::SignedDuration::from_secs(asked);
        let life = format!(
            "<wst:Lifetime><wsu:Created xmlns:wsu='{WSU}'>{}</wsu:Created><wsu:Expires xmlns:wsu='{WSU}'>{expires}</wsu:Expires></wst:Lifetime>",
            sts.now
        );
        let issued = sts.issued(&issue(BOOKS, "Bearer", &life), &by_password("alice"));
        let said = read(&issued, "CN=sts", sts.now);
        let end = said.expires(&super::rules(&keys::identity("CN=sts", keys::RSA)).policy);
        assert_eq!((end.as_second() - sts.now.as_second()), granted, "{asked}");
    }
}

#[test]
fn who_acts_for_a_subject_is_named_where_that_is_the_form() {
    let sts = Sts::new();
    let presented = sts.issued(&issue(FRONT, "Bearer", ""), &by_password("alice"));
    for (element, actors) in [
        ("wst:OnBehalfOf", None),
        ("wst14:ActAs", Some(vec!["certificate CN=front".to_owned()])),
    ] {
        let more = format!("<{element}>{presented}</{element}>");
        let answer = sts.answer(&issue(BOOKS, "PublicKey", &more), &by_signature("CN=front"));
        let answer = answer.unwrap_or_else(|fault| panic!("{element}: {fault}"));
        let written = assertion_of(&answer);
        let said = read(&written, "CN=sts", sts.now);
        assert_eq!(said.subject.value, "alice");
        assert_eq!(attribute(&said, ACTOR_CLAIM), actors);
        assert_eq!(
            attribute(&said, &claim("role")),
            Some(vec!["reader".to_owned()])
        );
        let token = AssertionToken::parse(written.into_bytes()).expect("an assertion to send");
        assert_eq!(token.holder(), Some(&certificate("CN=front")));
        assert_eq!(answer.issued[0].requester, "CN=front");
    }
}

#[test]
fn a_subject_renews_its_assertion_until_it_has_to_authenticate_anew() {
    let sts = Sts::new();
    let old = sts.issued(&issue(BOOKS, "PublicKey", ""), &by_signature("CN=client"));
    let renew = request(
        "Renew",
        &format!("<wst:RenewTarget>{old}</wst:RenewTarget>"),
    );
    let authenticated = sts.now;
    let sts = sts.later(300);
    let answer = sts
        .answer(&renew, &by_signature("CN=client"))
        .expect("an answer");
    assert_eq!(answer.issued[0].what, "renewed");
    let said = read(&assertion_of(&answer), "CN=sts", sts.now);
    let then = said.authenticated.expect("a moment").as_second();
    assert_eq!(then, authenticated.as_second());
    assert_eq!(
        attribute(&said, &claim("role")),
        Some(vec!["writer".to_owned()])
    );
    let nobody = |refusal: Refusal, problem: &str| {
        let problem = problem.to_owned();
        assert_eq!(refusal, Refusal::NotRenewable { problem });
    };
    nobody(
        sts.refusal(&renew, &by_signature("CN=other")),
        "it was not issued here about the requester",
    );
    let mut without_key = by_signature("CN=client");
    without_key.signers.clear();
    nobody(
        sts.refusal(&renew, &without_key),
        "its key did not sign the request",
    );
    let short = Sts::with(|rules| rules.renewable = Some(std::time::Duration::from_secs(200)));
    nobody(
        short.later(300).refusal(&renew, &by_signature("CN=client")),
        "its subject has to authenticate anew",
    );
    let never = Sts::with(|rules| rules.renewable = None);
    let operation = soapstone_trust::Operation::Renew;
    let refusal = never.refusal(&renew, &by_signature("CN=client"));
    assert_eq!(refusal, Refusal::OperationNotOffered { operation });
}

/// WS-Trust 1.4, 3.1: nothing that is asked for is silently not done.
#[test]
fn renewals_and_validations_do_what_they_are_asked_for_or_are_refused() {
    let sts = Sts::new();
    let client = by_signature("CN=client");
    let old = sts.issued(&issue(BOOKS, "PublicKey", ""), &client);
    let renew = |more: &str| {
        let target = format!("<wst:RenewTarget>{old}</wst:RenewTarget>");
        request("Renew", &format!("{target}{more}"))
    };
    let validate = |more: &str| {
        let target = format!("<wst:ValidateTarget>{old}</wst:ValidateTarget>");
        request("Validate", &format!("{target}{more}"))
    };
    let der = base64::encode(certificate("CN=client").der());
    let token_type =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509v3";
    let key = format!(
        "<wst:UseKey><wsse:BinarySecurityToken ValueType='{token_type}'>{der}</wsse:BinarySecurityToken></wst:UseKey>"
    );
    let role = claim("role");
    let claims =
        format!("<wst:Claims Dialect='{IDENTITY}'><ic:ClaimType Uri='{role}'/></wst:Claims>");
    let other = sts.issued(&issue(FRONT, "Bearer", ""), &by_password("alice"));
    let on_behalf_of = format!("<wst:OnBehalfOf>{other}</wst:OnBehalfOf>");
    let act_as = format!("<wst14:ActAs>{other}</wst14:ActAs>");
    for (more, namespace, local) in [
        (&key, WST, "UseKey"),
        (&claims, WST, "Claims"),
        (&on_behalf_of, WST, "OnBehalfOf"),
        (&act_as, WST14, "ActAs"),
    ] {
        let element = format!("{{{namespace}}}{local}");
        for request in [renew(more), validate(more)] {
            let refusal = sts.answer(&request, &client).map_err(|fault| fault.refusal);
            let element = element.clone();
            assert_eq!(refusal.err(), Some(Refusal::NotUnderstood { element }));
        }
    }
    let element = format!("{{{WST}}}Entropy");
    let refusal = sts.refusal(&renew(&entropy(32)), &client);
    assert_eq!(refusal, Refusal::NotUnderstood { element });
    let key_type = |local: &str| format!("<wst:KeyType>{WST}/{local}</wst:KeyType>");
    for other in ["Bearer", "SymmetricKey"] {
        let refusal = sts.refusal(&renew(&key_type(other)), &client);
        let found = format!("{WST}/{other}");
        assert_eq!(refusal, Refusal::KeyTypeNotOffered { found });
    }
    let token_type = |version: SamlVersion| {
        let uri = version.token_type();
        format!("<wst:TokenType>{uri}</wst:TokenType>")
    };
    let found = SamlVersion::V11.token_type().to_owned();
    let refusal = sts.refusal(&renew(&token_type(SamlVersion::V11)), &client);
    assert_eq!(refusal, Refusal::TokenTypeNotOffered { found });
    let same = key_type("PublicKey") + &token_type(SamlVersion::V20);
    let answer = sts.answer(&renew(&same), &client).expect("an answer");
    assert_eq!(answer.issued[0].what, "renewed");
}

#[test]
fn a_status_is_told_of_assertions_of_ours() {
    let sts = Sts::new();
    let assertion = sts.issued(&issue(BOOKS, "Bearer", ""), &by_password("alice"));
    let target = format!("<wst:ValidateTarget>{assertion}</wst:ValidateTarget>");
    let validate = request("Validate", &target);
    let answer = sts
        .answer(&validate, &by_signature("CN=books"))
        .expect("an answer");
    assert!(is_valid(&answer));
    let over = sts.later(3600 + 120);
    let answer = over
        .answer(&validate, &by_signature("CN=books"))
        .expect("an answer");
    assert!(!is_valid(&answer));
}

/// WS-Trust 1.4, 4.2: all of a batch, or nothing.
#[test]
fn a_batch_issues_several_assertions() {
    let sts = Sts::new();
    let one = |address: &str| {
        let one = issue(address, "Bearer", "");
        one.replace(&format!("{WST}/Issue<"), &format!("{WST}/BatchIssue<"))
    };
    let collection = |second: &str| {
        format!(
            "<wst:RequestSecurityTokenCollection xmlns:wst='{WST}'>{}{}</wst:RequestSecurityTokenCollection>",
            one(BOOKS),
            one(second)
        )
    };
    let answer = sts
        .answer(&collection(FRONT), &by_password("alice"))
        .expect("an answer");
    assert_eq!(answer.issued.len(), 2);
    let refusal = sts.refusal(&collection("urn:unknown"), &by_password("alice"));
    let address = "urn:unknown".to_owned();
    assert_eq!(refusal, Refusal::ScopeNotOffered { address });
}
