//! Policies whose messages have tokens that somebody else makes: assertions and tickets.

use super::*;

/// Policies with tokens that neither side makes, by the folder's name.
fn tokens_of_others() -> Vec<(&'static str, String)> {
    let token = |name: &str, inside: &str| {
        format!(
            "<wsp:Policy><sp:{name} sp:IncludeToken='{SP}/IncludeToken/AlwaysToRecipient'>{inside}</sp:{name}></wsp:Policy>"
        )
    };
    let saml = token(
        "SamlToken",
        "<wsp:Policy><sp:WssSamlV20Token11/></wsp:Policy>",
    );
    let issued = |key: &str| {
        let template = format!(
            "<sp:Issuer><a:Address xmlns:a='http://www.w3.org/2005/08/addressing'>https://evil.example/issue</a:Address></sp:Issuer>\
             <sp:RequestSecurityTokenTemplate xmlns:t='http://docs.oasis-open.org/ws-sx/ws-trust/200512'>\
             <t:TokenType>http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-1.1#SAMLV2.0</t:TokenType>\
             <t:KeyType>http://docs.oasis-open.org/ws-sx/ws-trust/200512/{key}</t:KeyType></sp:RequestSecurityTokenTemplate><wsp:Policy/>"
        );
        token("IssuedToken", &template)
    };
    let kerberos = token(
        "KerberosToken",
        "<wsp:Policy><sp:WssGssKerberosV5ApReqToken11/></wsp:Policy>",
    );
    let ends = "<sp:IncludeTimestamp/></wsp:Policy>";
    let asymmetric = |initiator: &str, more: &str| {
        format!(
            "<wsp:Policy><sp:AsymmetricBinding><wsp:Policy>{initiator}{}{}{ends}</sp:AsymmetricBinding>{PARTS}{more}</wsp:Policy>",
            certificate("RecipientToken", "Never"),
            suite("Basic256Sha256"),
        )
    };
    let symmetric = |token: &str| {
        format!(
            "<wsp:Policy><sp:SymmetricBinding><wsp:Policy><sp:ProtectionToken>{token}</sp:ProtectionToken>{}{ends}</sp:SymmetricBinding>{PARTS}</wsp:Policy>",
            suite("Basic256")
        )
    };
    let transport = |token: &str| {
        format!(
            "<wsp:Policy><sp:TransportBinding><wsp:Policy><sp:TransportToken><wsp:Policy><sp:HttpsToken><wsp:Policy/></sp:HttpsToken></wsp:Policy>\
             </sp:TransportToken>{}{ends}</sp:TransportBinding><sp:SupportingTokens>{token}</sp:SupportingTokens></wsp:Policy>",
            suite("Basic256")
        )
    };
    let holder = format!("<sp:InitiatorToken>{saml}</sp:InitiatorToken>");
    let issued_key = issued("PublicKey");
    let issued_key = format!("<sp:InitiatorToken>{issued_key}</sp:InitiatorToken>");
    let vouched = format!("<sp:SignedSupportingTokens>{saml}</sp:SignedSupportingTokens>");
    let issued_beside = issued("Bearer");
    let issued_beside =
        format!("<sp:SignedSupportingTokens>{issued_beside}</sp:SignedSupportingTokens>");
    let certified = certificate("InitiatorToken", "AlwaysToRecipient");
    vec![
        ("holder", asymmetric(&holder, "")),
        (
            "vouched",
            asymmetric(
                &certificate("InitiatorToken", "AlwaysToRecipient"),
                &vouched,
            ),
        ),
        ("bearer", transport(&saml)),
        (
            "bearer-alone",
            format!("<wsp:Policy><sp:SupportingTokens>{saml}</sp:SupportingTokens></wsp:Policy>"),
        ),
        ("issued-beside", asymmetric(&certified, &issued_beside)),
        ("issued", transport(&issued("Bearer"))),
        ("issued-key", asymmetric(&issued_key, "")),
        ("proof", symmetric(&issued("SymmetricKey"))),
        ("ticket", symmetric(&kerberos)),
    ]
}

/// Both files can be read as they stand, and say what only the parties know.
#[test]
fn tokens_that_somebody_else_makes_are_to_be_filled_in() {
    let folder = Folder::new();
    for (name, policy) in tokens_of_others() {
        folder.write("books.wsdl", books("http://127.0.0.1:1/books", &policy));
        let (_, places) = places();
        let said = folder
            .run(&format!("init {name} --wsdl books.wsdl {places}"))
            .succeeds();
        assert!(said.text().contains("FILL IN"), "{name}: {}", said.text());
        let is_ticket = name == "ticket";
        for (file, exists) in [
            ("issuer.cert.pem", !is_ticket),
            ("issuer.key.pem", !is_ticket),
            ("http.keytab", is_ticket),
        ] {
            assert_eq!(folder.path(&format!("{name}/{file}")).exists(), exists);
        }
        for file in ["gateway.toml", "client-gateway.toml"] {
            let words = format!("gateway --config {name}/{file} --check");
            folder.run(&words).succeeds();
            let text = folder.read(&format!("{name}/{file}"));
            let is_marked = text.contains("# FILL IN:");
            // A plain request may bring the assertion: then the client has nothing to fill in.
            assert!(is_marked || text.contains("from_request"), "{name}: {text}");
            // WS-SecurityPolicy 1.3, 5.4.3: whose policy it is says where tokens are asked for. An
            // attacker's would have our keys shown to the attacker.
            assert!(!text.contains("evil.example"), "{name}: {text}");
        }
        let confirmation = match name {
            "holder" | "issued-key" | "proof" => "[\"holder-of-key\"]",
            "vouched" => "[\"sender-vouches\"]",
            "ticket" => continue,
            _ => "[\"bearer\"]",
        };
        for file in ["gateway.toml", "client-gateway.toml"] {
            let text = folder.read(&format!("{name}/{file}"));
            assert!(text.contains(confirmation), "{name}: {text}");
        }
    }
}

/// Conversations that begin with an assertion, however it is confirmed: one stands in for one of
/// the issuer's, and both gateways run with it as it stands.
#[test]
fn conversations_that_assertions_begin_run_as_they_are_written() {
    let folder = Folder::new();
    let (_services, backend) = services(&folder);
    for (name, bootstrap) in tokens_of_others() {
        if !["holder", "vouched", "bearer"].contains(&name) {
            continue;
        }
        folder.write("books.wsdl", books(&backend, &conversing(&bootstrap)));
        let (client_port, places) = places();
        let said = folder
            .run(&format!("init {name} --wsdl books.wsdl {places}"))
            .succeeds();
        assert!(said.text().contains("client.saml.xml"), "{}", said.text());
        let text = folder.read(&format!("{name}/client-gateway.toml"));
        assert!(!text.contains("from_request"), "{name}: {text}");
        assert!(
            text.contains("# FILL IN: client.saml.xml"),
            "{name}: {text}"
        );
        for file in ["gateway.toml", "client-gateway.toml"] {
            let words = format!("gateway --config {name}/{file} --check");
            folder.run(&words).succeeds();
        }
        runs(&folder, name, client_port);
    }
}

/// The request to try brings an assertion that stands in for one of the issuer's.
#[test]
fn requests_that_bring_an_assertion_run_as_they_are_written() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    let (_services, backend) = services(&folder);
    for (name, policy) in tokens_of_others() {
        if !["holder", "vouched", "bearer"].contains(&name) {
            continue;
        }
        // The older version has its signature elsewhere.
        for (version, token) in [("20", "WssSamlV20Token11"), ("11", "WssSamlV11Token11")] {
            let name = format!("{name}{version}");
            let policy = policy.replace("WssSamlV20Token11", token);
            folder.write("books.wsdl", books(&backend, &policy));
            let (client_port, places) = places();
            let said = folder
                .run(&format!("init {name} --wsdl books.wsdl {places}"))
                .succeeds();
            let line = "made from the schema, with an assertion of issuer.key.pem";
            assert!(said.text().contains(line), "{}", said.text());
            // Whoever reads the assertion of a bearer is its subject.
            let file = folder.path(&format!("{name}/request.xml"));
            let about = file.metadata().expect("it is there");
            assert_eq!(about.permissions().mode() & 0o077, 0, "{name}");
            runs(&folder, &name, client_port);
        }
    }
}

/// The token service that the file of a client is to name.
fn token_service(folder: &Folder, name: &str) -> (Server, String) {
    let port = free_port();
    let key =
        |owner: &str| format!("key = \"{owner}.key.pem\", certificate = \"{owner}.cert.pem\"");
    let text = format!(
        "listen = \"127.0.0.1:{port}\"\n[tls]\ncertificate = \"service.cert.pem\"\nkey = \"service.key.pem\"\n\
         [[routes]]\npath = \"/issue\"\n[routes.inbound]\nidentity = {{ {issuer} }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN=client\"] }}\nsecurity = {{ mechanism = \"sign\" }}\n\
         [routes.sts]\nissuer = \"https://issuer.example\"\nidentity = {{ {issuer} }}\n\
         key_types = [\"bearer\", \"public-key\", \"symmetric-key\"]\n\
         services = [{{ address = \"https://service.example\", certificate = \"service.cert.pem\", suite = \"Basic256\" }}]\n",
        issuer = key("issuer")
    );
    folder.write(&format!("{name}/sts.toml"), text);
    let words = format!("gateway --config {name}/sts.toml");
    let server = Server::start(folder, &words, "gateway at");
    (server, format!("https://127.0.0.1:{port}/issue"))
}

/// Filled in with the address of a token service alone, the files run: each request has its
/// assertion, or a conversation begins with it.
#[test]
fn issued_assertions_run_with_their_token_service() {
    let folder = Folder::new();
    let (_services, backend) = services(&folder);
    for (name, policy) in tokens_of_others() {
        if !["issued", "issued-key", "proof"].contains(&name) {
            continue;
        }
        let forms = [
            (name.to_owned(), policy.clone()),
            (format!("{name}-begins"), conversing(&policy)),
        ];
        for (name, policy) in &forms {
            folder.write("books.wsdl", books(&backend, policy));
            let (client_port, places) = places();
            let init = format!("init {name} --wsdl books.wsdl {places}");
            folder.run(&init).succeeds();
            for file in ["gateway.toml", "client-gateway.toml"] {
                let words = format!("gateway --config {name}/{file} --check");
                folder.run(&words).succeeds();
            }
            let (_issuer, url) = token_service(&folder, name);
            let file = format!("{name}/client-gateway.toml");
            let text = folder.read(&file);
            let unfilled = "url = \"https://issuer.example/issue\"";
            assert!(text.contains(unfilled), "{text}");
            let filled = format!("url = \"{url}\"\ntls = {{ ca = [\"ca.cert.pem\"] }}");
            folder.write(&file, text.replace(unfilled, &filled));
            runs(&folder, name, client_port);
        }
    }
}
