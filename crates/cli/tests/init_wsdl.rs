//! `soapstone init --wsdl`: what is written for the service of a WSDL runs as it stands.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

mod common;
#[path = "init_wsdl/imports.rs"]
mod imports;
#[path = "common/server.rs"]
mod server;
#[path = "init_wsdl/tokens_of_others.rs"]
mod tokens_of_others;

use common::Folder;
use server::{Server, free_port, post};

const WSP: &str = "http://www.w3.org/ns/ws-policy";
const SP: &str = "http://docs.oasis-open.org/ws-sx/ws-securitypolicy/200702";

/// A WSDL like that of the sample books, with its schema inside and this policy at its binding.
fn books(address: &str, policy: &str) -> String {
    format!(
        "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:t='urn:soapstone:services:books' \
         targetNamespace='urn:soapstone:services:books' xmlns:x='http://www.w3.org/2001/XMLSchema' xmlns:wsp='{WSP}' xmlns:sp='{SP}' \
         xmlns:soap='http://schemas.xmlsoap.org/wsdl/soap/'>\
         <types><x:schema targetNamespace='urn:soapstone:services:books' elementFormDefault='qualified'>\
         <x:element name='getBooks'><x:complexType><x:sequence><x:element name='n' type='x:int'/></x:sequence></x:complexType></x:element>\
         <x:element name='getBooksResponse'/></x:schema></types>\
         <message name='in'><part name='p' element='t:getBooks'/></message><message name='out'><part name='p' element='t:getBooksResponse'/></message>\
         <portType name='T'><operation name='getBooks'><input message='t:in'/><output message='t:out'/></operation></portType>\
         <binding name='B' type='t:T'>{policy}<soap:binding style='document' transport='http://schemas.xmlsoap.org/soap/http'/>\
         <operation name='getBooks'><soap:operation soapAction=''/><input><soap:body use='literal'/></input>\
         <output><soap:body use='literal'/></output></operation></binding>\
         <service name='S'><port name='Books' binding='t:B'><soap:address location='{address}'/></port></service></definitions>"
    )
}

fn suite(name: &str) -> String {
    format!("<sp:AlgorithmSuite><wsp:Policy><sp:{name}/></wsp:Policy></sp:AlgorithmSuite>")
}

fn certificate(role: &str, inclusion: &str) -> String {
    format!(
        "<sp:{role}><wsp:Policy><sp:X509Token sp:IncludeToken='{SP}/IncludeToken/{inclusion}'><wsp:Policy>\
         <sp:WssX509V3Token10/></wsp:Policy></sp:X509Token></wsp:Policy></sp:{role}>"
    )
}

const PARTS: &str =
    "<sp:SignedParts><sp:Body/></sp:SignedParts><sp:EncryptedParts><sp:Body/></sp:EncryptedParts>";
const USER: &str = "<sp:SignedSupportingTokens><wsp:Policy><sp:UsernameToken><wsp:Policy/></sp:UsernameToken></wsp:Policy></sp:SignedSupportingTokens>";

/// A policy of each kind, and the files that it takes beside those of all.
fn policies() -> Vec<(&'static str, String, &'static [&'static str])> {
    let of = |content: &str| format!("<wsp:Policy>{content}</wsp:Policy>");
    let keys = &["client.cert.pem", "client.key.pem"][..];
    let asymmetric = format!(
        "<sp:AsymmetricBinding><wsp:Policy>{}{}{}<sp:IncludeTimestamp/></wsp:Policy></sp:AsymmetricBinding>{PARTS}",
        certificate("InitiatorToken", "AlwaysToRecipient"),
        certificate("RecipientToken", "Never"),
        suite("Basic256Sha256"),
    );
    // Nothing is encrypted, and certificates are named alone.
    let named = format!(
        "<sp:AsymmetricBinding><wsp:Policy>{}{}{}<sp:IncludeTimestamp/></wsp:Policy></sp:AsymmetricBinding>\
         <sp:SignedParts><sp:Body/></sp:SignedParts>",
        certificate("InitiatorToken", "Never"),
        certificate("RecipientToken", "Never"),
        suite("Basic256Sha256"),
    );
    let symmetric = format!(
        "<sp:SymmetricBinding><wsp:Policy>{}{}<sp:IncludeTimestamp/></wsp:Policy></sp:SymmetricBinding>{PARTS}{USER}",
        certificate("ProtectionToken", "Never"),
        suite("Basic128"),
    );
    let transport = |certificate: &str| {
        format!(
            "<sp:TransportBinding><wsp:Policy><sp:TransportToken><wsp:Policy><sp:HttpsToken><wsp:Policy>{certificate}</wsp:Policy></sp:HttpsToken>\
             </wsp:Policy></sp:TransportToken>{}<sp:IncludeTimestamp/></wsp:Policy></sp:TransportBinding>{USER}",
            suite("Basic256")
        )
    };
    let conversation = format!(
        "<sp:SymmetricBinding><wsp:Policy><sp:ProtectionToken><wsp:Policy><sp:SecureConversationToken sp:IncludeToken='{SP}/IncludeToken/AlwaysToRecipient'>\
         <wsp:Policy><sp:RequireDerivedKeys/><sp:BootstrapPolicy>{}</sp:BootstrapPolicy></wsp:Policy></sp:SecureConversationToken></wsp:Policy>\
         </sp:ProtectionToken>{}<sp:IncludeTimestamp/></wsp:Policy></sp:SymmetricBinding>{PARTS}",
        of(&asymmetric),
        suite("Basic256"),
    );
    vec![
        ("asymmetric", of(&asymmetric), keys),
        ("symmetric", of(&symmetric), &["alice.password"]),
        ("transport", of(&transport("")), &["alice.password"]),
        (
            "mutual",
            of(&transport("<sp:RequireClientCertificate/>")),
            &["alice.password", "client.cert.pem", "client.key.pem"],
        ),
        ("conversation", of(&conversation), keys),
        ("named", of(&named), keys),
    ]
}

/// The policy says who may call: anybody. A gateway gives no context to anybody by itself.
#[test]
fn conversations_that_nobody_is_shown_to_begin_are_told_and_open_by_one_line() {
    let folder = Folder::new();
    let (_services, backend) = services(&folder);
    let nobody = format!(
        "<wsp:Policy><sp:SymmetricBinding><wsp:Policy>{}{}<sp:IncludeTimestamp/></wsp:Policy></sp:SymmetricBinding>{PARTS}</wsp:Policy>",
        certificate("ProtectionToken", "Never"),
        suite("Basic256"),
    );
    folder.write("books.wsdl", books(&backend, &conversing(&nobody)));
    let (client_port, places) = places();
    let said = folder
        .run(&format!("init open --wsdl books.wsdl {places}"))
        .succeeds();
    let told = "The policy lets nobody be known who begins a conversation, so every call is refused. gateway.toml says with FILL IN how anybody may call.";
    assert!(said.text().contains(told), "{}", said.text());
    let check = || {
        let checked = folder.run("gateway --config open/gateway.toml --check");
        checked.succeeds().text().to_owned()
    };
    assert!(
        check().contains("(serves nobody: its clients are anonymous)"),
        "{}",
        check()
    );
    let text = folder.read("open/gateway.toml");
    let (before, line) = text
        .split_once("\n# security = ")
        .unwrap_or_else(|| panic!("{text}"));
    let closed = before.rfind("\nsecurity = ").expect("the line above");
    let opened = format!("{}\nsecurity = {line}", &before[..closed]);
    folder.write("open/gateway.toml", opened);
    assert!(!check().contains("serves nobody"), "{}", check());
    runs(&folder, "open", client_port);
}

/// No place is told in a file that is not there.
#[test]
fn a_policy_whose_files_could_not_be_used_is_told_by_its_own_place() {
    let folder = Folder::new();
    let basic = format!(
        "<wsp:Policy><sp:TransportBinding><wsp:Policy><sp:TransportToken><wsp:Policy><sp:HttpsToken><wsp:Policy><sp:HttpBasicAuthentication/></wsp:Policy>\
         </sp:HttpsToken></wsp:Policy></sp:TransportToken>{}</wsp:Policy></sp:TransportBinding></wsp:Policy>",
        suite("Basic256")
    );
    folder.write("books.wsdl", books("http://127.0.0.1:1/books", &basic));
    let expected = "books.wsdl: nothing is written, as gateway.toml would have this problem: \
                    `sp:HttpBasicAuthentication` demands a user of HTTP of requests, which is not checked here (at line 1 column ";
    folder.run("init x --wsdl books.wsdl").fails(expected);
    assert!(!folder.path("x").exists());
}

/// CXF, Metro and WSS4J sign no key of short cipher text.
#[test]
fn files_for_encryption_before_signing_name_the_settings_of_short_cipher_text() {
    let folder = Folder::new();
    let gcm = "<sp:AlgorithmSuite><wsp:Policy><c:Basic256GCM xmlns:c='http://cxf.apache.org/custom/security-policy'/></wsp:Policy></sp:AlgorithmSuite>";
    let before = "<sp:EncryptBeforeSigning/>";
    for (name, suite, order, times) in [
        ("before", suite("Basic256"), before, 1),
        ("after", suite("Basic256"), "", 0),
        ("gcm", gcm.to_owned(), before, 0),
    ] {
        let policy = format!(
            "<wsp:Policy><sp:AsymmetricBinding><wsp:Policy>{}{}{suite}<sp:IncludeTimestamp/>{order}</wsp:Policy></sp:AsymmetricBinding>{PARTS}</wsp:Policy>",
            certificate("InitiatorToken", "AlwaysToRecipient"),
            certificate("RecipientToken", "Never"),
        );
        folder.write("books.wsdl", books("http://127.0.0.1:1/books", &policy));
        let (_, places) = places();
        folder
            .run(&format!("init {name} --wsdl books.wsdl {places}"))
            .succeeds();
        for file in ["gateway.toml", "client-gateway.toml"] {
            let words = format!("gateway --config {name}/{file} --check");
            folder.run(&words).succeeds();
            let text = folder.read(&format!("{name}/{file}"));
            for setting in ["allow_short_cipher_text = true", "sign_session_key = false"] {
                assert_eq!(text.matches(setting).count(), times, "{name}: {text}");
            }
        }
    }
}

/// A policy whose conversations begin by this one.
fn conversing(bootstrap: &str) -> String {
    let (begin, end) = ("<wsp:Policy>", "</wsp:Policy>");
    format!(
        "{begin}<sp:SymmetricBinding>{begin}<sp:ProtectionToken>{begin}<sp:SecureConversationToken sp:IncludeToken='{SP}/IncludeToken/AlwaysToRecipient'>\
         {begin}<sp:RequireDerivedKeys/><sp:BootstrapPolicy>{bootstrap}</sp:BootstrapPolicy>{end}</sp:SecureConversationToken>{end}\
         </sp:ProtectionToken>{}<sp:IncludeTimestamp/>{end}</sp:SymmetricBinding>{PARTS}{end}",
        suite("Basic256"),
    )
}

#[track_caller]
fn answers(url: &str, request: &str) {
    let answer = post(url, request);
    assert!(answer.starts_with("HTTP/1.1 200"), "{url}: {answer}");
    assert!(answer.contains("<getBooksResponse "), "{answer}");
}

/// The sample services, and the address of their books.
fn services(folder: &Folder) -> (Server, String) {
    let services = Server::start(folder, "services --listen 127.0.0.1:0", "/temperature");
    let url = services.said.lines().find(|line| line.ends_with("/books"));
    let url = url.expect("the address of Books").to_owned();
    (services, url)
}

/// The addresses of the two gateways of a folder, as arguments.
fn places() -> (u16, String) {
    let (port, client_port) = (free_port(), free_port());
    let words = format!("--listen 127.0.0.1:{port} --client-listen 127.0.0.1:{client_port}");
    (client_port, words)
}

/// Runs both gateways of a folder, and calls through them.
#[track_caller]
fn runs(folder: &Folder, name: &str, client_port: u16) {
    let start = |file: &str| {
        let words = format!("gateway --config {name}/{file}");
        Server::start(folder, &words, "gateway at")
    };
    let _gateways = (start("gateway.toml"), start("client-gateway.toml"));
    let request = folder.read(&format!("{name}/request.xml"));
    answers(&format!("http://127.0.0.1:{client_port}/books"), &request);
}

#[test]
fn each_kind_of_policy_gets_the_keys_and_users_that_it_takes() {
    let folder = Folder::new();
    let (_services, backend) = services(&folder);
    let sometimes = ["alice.password", "client.cert.pem", "client.key.pem"];
    for (name, policy, files) in policies() {
        folder.write("books.wsdl", books(&backend, &policy));
        let (client_port, places) = places();
        let said = folder
            .run(&format!("init {name} --wsdl books.wsdl {places}"))
            .succeeds();
        let written: Vec<&str> = sometimes
            .into_iter()
            .filter(|file| folder.path(&format!("{name}/{file}")).exists())
            .collect();
        assert_eq!(written, files, "{name}");
        assert_eq!(
            folder.read(&format!("{name}/service.wsdl")),
            folder.read("books.wsdl")
        );
        let mut lines = said.text().lines();
        let line = lines.find(|line| line.starts_with("  request.xml "));
        let made =
            line.is_some_and(|line| line.ends_with("  a call of getBooks, made from the schema"));
        assert!(made, "{}", said.text());
        for file in ["gateway.toml", "client-gateway.toml"] {
            let words = format!("gateway --config {name}/{file} --check");
            folder.run(&words).succeeds();
        }
        runs(&folder, name, client_port);
    }
}

#[test]
fn the_description_that_a_server_shows_is_as_good_as_a_file() {
    let folder = Folder::new();
    let (_services, backend) = services(&folder);
    // Without a policy: the mechanism that is asked for.
    let (client_port, at) = places();
    let words = format!(
        "init plain --wsdl {backend}?wsdl --mechanism sign --suite Basic256Sha256+RsaSha256 {at}"
    );
    let said = folder.run(&words).succeeds();
    assert!(
        said.text()
            .contains(&format!("Your service answers at {backend}. A plain call")),
        "{}",
        said.text()
    );
    assert!(!folder.path("plain/service.wsdl").exists());
    runs(&folder, "plain", client_port);
    // A gateway publishes the policy of its mechanism, which another one reads.
    let start = Server::start(&folder, "gateway --config plain/gateway.toml", "gateway at");
    let gateway = start.said.split_once("gateway at ").expect("its address").1;
    let gateway = gateway.split_whitespace().next().expect("its address");
    let (client_port, places) = places();
    let published =
        format!("init published --wsdl http://{gateway}/books?wsdl --backend {backend} {places}");
    folder.run(&published).succeeds();
    assert!(
        folder
            .read("published/service.wsdl")
            .contains("AsymmetricBinding")
    );
    runs(&folder, "published", client_port);
}

#[test]
fn what_cannot_be_written_is_told_before_anything_is() {
    let folder = Folder::new();
    let asymmetric = policies().swap_remove(0).1;
    folder.write("books.wsdl", books("http://127.0.0.1:1/books", &asymmetric));
    let plain = books("nowhere", "");
    folder.write("plain.wsdl", &plain);
    folder.write(
        "query.wsdl",
        books("http://127.0.0.1:1/books?sap-client=100", ""),
    );
    folder.write("user.wsdl", books("http://a:b@127.0.0.1:1/books", ""));
    folder.write("urn.wsdl", books("urn:books", ""));
    folder.write(
        "open.wsdl",
        plain.replace("<soap:address location='nowhere'/>", ""),
    );
    for (words, saying) in [
        (
            "init x --wsdl books.wsdl --mechanism sign",
            "the WSDL has a policy, which says what --mechanism and --suite would\nhint: leave them out; or name a WSDL without a policy",
        ),
        (
            "init x --wsdl books.wsdl --wsdl-port Films",
            "books.wsdl: no SOAP port is called Films\nhint: its ports: Books",
        ),
        (
            "init x --wsdl plain.wsdl",
            "the WSDL does not say where its port is\nhint: say where the service is, with --backend",
        ),
        (
            "init x --wsdl urn.wsdl",
            "the address of the port of the WSDL must be an http or https URL without a query and without a user, found a text without http:// or https://\nhint: say where the service is, with --backend",
        ),
        (
            "init x --wsdl query.wsdl",
            "found a URL with a query\nhint: say where the service is, with --backend",
        ),
        (
            "init x --wsdl user.wsdl",
            "found a URL with a user\nhint: say where the service is, with --backend",
        ),
        (
            "init x --wsdl open.wsdl",
            "the WSDL does not say where its port is\nhint: say where the service is, with --backend",
        ),
        ("init x --wsdl none.wsdl", "none.wsdl"),
        (
            "init x --wsdl http://a@127.0.0.1:1/books",
            "http://a@127.0.0.1:1/books: the URL cannot be asked: it has a user",
        ),
        (
            "init x --wsdl http://127.0.0.1:1/books",
            "http://127.0.0.1:1/books: ",
        ),
    ] {
        folder.run(words).fails(saying);
        assert!(!folder.path("x").exists(), "{words}");
    }
}

/// SOAP 1.2, an element that cannot be made, and names that a shell would take for more lines.
#[test]
fn commands_fit_the_request_and_no_name_forges_a_line() {
    let folder = Folder::new();
    let wsdl = books("http://127.0.0.1:1/books", "")
        .replace("/wsdl/soap/", "/wsdl/soap12/")
        .replace("type='x:int'", "type='x:a---b'")
        .replace("soapAction=''", "soapAction='urn:a&#10;  rm'")
        .replace("name='getBooks'><", "name='get&#10;  rm -rf x'><")
        .replace(
            "<x:element name='get&#10;  rm -rf x'",
            "<x:element name='getBooks'",
        );
    folder.write("books.wsdl", &wsdl);
    let made = wsdl.replace("x:a---b", "x:int");
    folder.write("made.wsdl", made.replace("urn:a&#10;  rm", "urn:a b"));
    let said = folder.run("init x --wsdl books.wsdl").succeeds();
    assert!(!said.text().contains("\n  rm"), "{}", said.text());
    let request = folder.read("x/request.xml");
    assert!(
        request
            .starts_with("<soap:Envelope xmlns:soap=\"http://www.w3.org/2003/05/soap-envelope\">"),
        "{request}"
    );
    assert!(request.contains("the type a- - -b ("), "{request}");
    let plain = "curl -s -H 'Content-Type: application/soap+xml' --data-binary";
    assert!(said.text().contains(plain), "{}", said.text());
    let said = folder.run("init y --wsdl made.wsdl").succeeds();
    assert!(
        said.text()
            .contains("a call of get\\n  rm -rf x, made from the schema"),
        "{}",
        said.text()
    );
    let with_action = "curl -s -H 'Content-Type: application/soap+xml; action=\"urn:a b\"'";
    assert!(said.text().contains(with_action), "{}", said.text());
    folder
        .run("init z --wsdl books.wsdl --wsdl-port Films")
        .fails("hint: its ports: Books");
}
