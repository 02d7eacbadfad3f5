//! Files of gateways that ask a token service, and policies that name one.

use super::*;

#[test]
fn files_that_would_lose_a_token_are_refused() {
    let folder = folder();
    let nobody: SocketAddr = "127.0.0.1:9".parse().expect("an address");
    let problems = |text: &str| {
        let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        read.err().map(|it| it.to_string()).unwrap_or_default()
    };
    let right = file(nobody, nobody, "bearer", "");
    assert_eq!(problems(&right), "");
    let encrypting = "security = { mechanism = \"sign-encrypt\" }\n";
    let inbound = right.replace("routes.outbound", "routes.inbound");
    let cases = [
        (
            right.replace(encrypting, "security = { mechanism = \"sign\" }\n"),
            "everybody on the way could read an assertion, or its key, and use it",
        ),
        (
            file(nobody, nobody, "holder-of-key", "")
                .replace(encrypting, "security = { mechanism = \"none\" }\n"),
            "everybody on the way could write the answers of the token service",
        ),
        (
            file(nobody, nobody, "bearer", "key = \"public-key\""),
            "the assertion is asked for with the confirmation holder-of-key, which `confirmation` does not name",
        ),
        (
            right.replace(
                "[routes.outbound.saml]",
                "[routes.outbound.saml]\nfrom_request = true",
            ),
            "`from_request` and `token_service` say of different assertions that they are sent",
        ),
        (
            right.replace("applies_to", "apply_to"),
            "`applies_to` is missing in [routes.outbound.saml.token_service]",
        ),
        (
            right.replace("url = \"http://127.0.0.1:9/issue\"", ""),
            "`url` is missing in [routes.outbound.saml.token_service]",
        ),
        (
            file(nobody, nobody, "bearer", "tls = { ca = \"ca.cert.pem\" }"),
            "`tls` is for a token service behind https, and this one is behind http",
        ),
        (
            inbound,
            "a token service is asked by whoever sends requests and waits for their answers",
        ),
    ];
    for (text, expected) in cases {
        let told = problems(&text);
        assert!(told.contains(expected), "{expected}\n{told}");
    }
}

/// A policy is somebody else's word: our keys and users would be shown to whomever it names.
#[tokio::test]
async fn a_policy_names_no_token_service_that_the_file_does_not() {
    let folder = folder();
    let sts = Sts::honest(&folder, false, true).await;
    let address = sts.backend.address;
    let policy = |issuer: &str| {
        format!(
            "<wsp:Policy xmlns:wsp=\"http://schemas.xmlsoap.org/ws/2004/09/policy\" xmlns:sp=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702\">\
             <sp:AsymmetricBinding><wsp:Policy>\
             <sp:InitiatorToken><wsp:Policy>{}</wsp:Policy></sp:InitiatorToken>\
             <sp:RecipientToken><wsp:Policy><sp:X509Token sp:IncludeToken=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/Always\"/></wsp:Policy></sp:RecipientToken>\
             <sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/>\
             </wsp:Policy></sp:AsymmetricBinding><sp:SignedParts><sp:Body/></sp:SignedParts></wsp:Policy>",
            format_args!(
                "<sp:IssuedToken sp:IncludeToken=\"http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702/IncludeToken/AlwaysToRecipient\">\
                 <sp:Issuer><a:Address xmlns:a=\"http://www.w3.org/2005/08/addressing\">{issuer}</a:Address></sp:Issuer>\
                 <sp:RequestSecurityTokenTemplate xmlns:t=\"{WST}\"><t:TokenType>{}</t:TokenType><t:KeyType>{WST}/PublicKey</t:KeyType>\
                 <t:Claims Dialect=\"urn:d\"><c:Type xmlns:c=\"urn:c\" Uri=\"urn:role\"/></t:Claims></sp:RequestSecurityTokenTemplate>\
                 <wsp:Policy/></sp:IssuedToken>",
                SamlVersion::V11.token_type()
            )
        )
    };
    let service_tables = format!(
        "identity = {{ key = \"server.key.pem\", certificate = \"server.cert.pem\" }}\n\
         security = {{ policy = \"policy.xml\" }}\n[saml]\naudience = [\"{AUDIENCE}\"]\nconfirmation = [\"holder-of-key\"]\n\
         versions = [\"1.1\"]\nissuers = [{{ name = \"{ISSUER}\", pinned = [\"idp.cert.pem\"] }}]\n"
    );
    folder.write("policy.xml", policy(&format!("http://{address}/issue")));
    let backend = behind(&folder, &service_tables, SoapVersion::V11, |_, _| {
        ENVELOPE.to_owned()
    });
    let backend = backend.await;
    let right = file(backend.address, address, "holder-of-key", "")
        .replacen(
            "security = { mechanism = \"sign\" }",
            "security = { policy = \"policy.xml\" }",
            1,
        )
        .replacen(
            "confirmation = [\"holder-of-key\"]",
            "confirmation = [\"holder-of-key\"]\nversions = [\"1.1\"]",
            1,
        )
        .replacen(
            &format!("url = \"http://{address}/issue\""),
            &format!("hosts = [\"{address}\"]"),
            1,
        );
    let gateway = folder.gateway(&right).await;
    let answer = ask(&gateway).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(sts.asked(), 1);
    let problems = |text: &str| {
        let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
        let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        read.err().map(|it| it.to_string()).unwrap_or_default()
    };
    for stranger in [
        "http://stranger.example/issue".to_owned(),
        format!("http://{address}@stranger.example/issue"),
        format!("http://stranger.example/{address}"),
        format!("http://stranger.example#{address}"),
        format!("http://stranger.example\\{address}"),
        "urn:nowhere".to_owned(),
    ] {
        folder.write("policy.xml", policy(&stranger));
        let told = problems(&right);
        assert!(
            told.contains("the policy names a token service at"),
            "{stranger}: {told}"
        );
    }
    assert_eq!(sts.asked(), 1);
}

/// The assertion of a token service is shown at the beginning of a conversation and nowhere else.
#[test]
fn a_policy_whose_conversations_want_an_issued_assertion_in_messages_is_refused() {
    const SP: &str = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";
    let folder = folder();
    let nobody = Nobody::new().address;
    let suite = "<sp:AlgorithmSuite><wsp:Policy><sp:Basic256Sha256/></wsp:Policy></sp:AlgorithmSuite><sp:IncludeTimestamp/>";
    let parts = "<sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts>";
    let certificate = |include: &str| {
        format!(
            "<wsp:Policy><sp:X509Token sp:IncludeToken=\"{SP}/IncludeToken/{include}\"/></wsp:Policy>"
        )
    };
    let first = format!(
        "<sp:AsymmetricBinding><wsp:Policy><sp:InitiatorToken>{}</sp:InitiatorToken>\
         <sp:RecipientToken>{}</sp:RecipientToken>{suite}</wsp:Policy></sp:AsymmetricBinding>{parts}",
        certificate("AlwaysToRecipient"),
        certificate("Never")
    );
    let policy = format!(
        "<wsp:Policy xmlns:wsp=\"http://schemas.xmlsoap.org/ws/2004/09/policy\" xmlns:sp=\"{SP}\">\
         <sp:SymmetricBinding><wsp:Policy><sp:ProtectionToken><wsp:Policy>\
         <sp:SecureConversationToken sp:IncludeToken=\"{SP}/IncludeToken/AlwaysToRecipient\"><wsp:Policy><sp:RequireDerivedKeys/>\
         <sp:BootstrapPolicy><wsp:Policy>{first}</wsp:Policy></sp:BootstrapPolicy></wsp:Policy></sp:SecureConversationToken>\
         </wsp:Policy></sp:ProtectionToken>{suite}</wsp:Policy></sp:SymmetricBinding>\
         <sp:SignedSupportingTokens><wsp:Policy>\
         <sp:SamlToken sp:IncludeToken=\"{SP}/IncludeToken/AlwaysToRecipient\"><wsp:Policy><sp:WssSamlV20Token11/></wsp:Policy>\
         </sp:SamlToken></wsp:Policy></sp:SignedSupportingTokens>{parts}</wsp:Policy>"
    );
    folder.write("policy.xml", policy);
    let single = "trust = { anchors = [\"ca.cert.pem\"] }\nsecurity = { mechanism = \"sign\" }\n";
    let text = file(nobody, nobody, "bearer", "");
    assert!(text.contains(single), "{text}");
    let text = text.replacen(
        single,
        "trust = { pinned = [\"server.cert.pem\"] }\npeer = { certificate = \"server.cert.pem\" }\n\
         security = { policy = \"policy.xml\" }\n",
        1,
    );
    let text = text.replace("LISTEN", "listen = \"127.0.0.1:0\"");
    let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
    let told = read.err().map(|it| it.to_string()).unwrap_or_default();
    let expected = "the messages of conversations want the assertion of a token service";
    assert!(told.contains(expected), "{told}");
}
