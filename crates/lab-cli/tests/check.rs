//! `soapstone lab check`: the experiments on services and messages of the user's.

#[path = "../../cli/tests/common/mod.rs"]
mod common;
#[path = "../../cli/tests/common/server.rs"]
mod server;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::Folder;
use serde_json::Value;
use server::{Server, free_port};

const SOAP: &str = "http://schemas.xmlsoap.org/soap/envelope/";

fn envelope(content: &str) -> String {
    format!("<e:Envelope xmlns:e=\"{SOAP}\"><e:Body>{content}</e:Body></e:Envelope>")
}

/// A service that counts its calls, and tells the count in each answer.
struct Counter {
    url: String,
    calls: Arc<AtomicU64>,
}

impl Counter {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!(
            "http://{}/count",
            listener.local_addr().expect("an address")
        );
        let calls = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&calls);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                std::thread::spawn(move || serve(stream, &counted));
            }
        });
        Self { url, calls }
    }

    fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

/// Answers every request of a connection; gives back at its end.
fn serve(stream: TcpStream, calls: &AtomicU64) -> Option<()> {
    let mut requests = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let (mut line, mut length, mut asked) = (String::new(), 0, false);
        while requests.read_line(&mut line).ok()? > 2 {
            let lower = line.to_ascii_lowercase();
            if let Some(value) = lower.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
            asked |= lower.starts_with("soapaction: \"urn:count\"");
            line.clear();
        }
        if line.is_empty() {
            return None;
        }
        let mut request = vec![0; length];
        requests.read_exact(&mut request).ok()?;
        let is_right = asked && String::from_utf8_lossy(&request).contains("<c:count");
        let number = calls.fetch_add(1, Ordering::SeqCst);
        let answer = envelope(&format!(
            "<c:counted xmlns:c=\"urn:c\">{number}</c:counted>"
        ));
        let status = if is_right {
            "200 OK"
        } else {
            "400 Bad Request"
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/xml\r\nContent-Length: {}\r\n\r\n",
            answer.len()
        );
        stream.write_all((head + &answer).as_bytes()).ok()?;
    }
}

fn folder(service: &Counter, more: &str) -> Folder {
    let folder = Folder::new();
    folder.write("count.xml", envelope("<c:count xmlns:c=\"urn:c\"/>"));
    let url = &service.url;
    folder.write(
        "calls.toml",
        format!(
            "target = \"{url}?unit=one\"\nmechanisms = [\"sign-encrypt/Basic128GCM\", \"secure-conversation/Basic128GCM\"]\n\
             calls = 6\nclients = 2\nconversation = 4\nnewcomers = 2\n{more}\n\
             [[operations]]\nname = \"count\"\nrequest = \"count.xml\"\nsoap_action = \"urn:count\"\n"
        ),
    );
    folder
}

/// The calls of each operation that are told.
fn told(text: &str) -> u64 {
    let number = text.split(" calls at most").next();
    number
        .and_then(|it| it.trim().parse().ok())
        .unwrap_or_else(|| panic!("no count: {text}"))
}

#[test]
fn calls_of_ones_own_are_measured_under_each_mechanism_and_no_more_are_made_than_were_told() {
    let service = Counter::start();
    let folder = folder(&service, "");
    let dry = folder.run("lab check calls.toml --dry-run").succeeds();
    assert_eq!(service.calls(), 0);
    for part in [
        "<c:count xmlns:c=\"urn:c\"/>",
        "action \"urn:count\"",
        "?unit=one",
    ] {
        assert!(dry.text().contains(part), "{}", dry.text());
    }
    let run = folder
        .run("lab check calls.toml --json --keep kept -o own.html")
        .succeeds();
    let most = told(&run.err);
    assert_eq!(most, told(dry.text()));
    // Retries of gateways and repetitions left out for their time would make it another number.
    assert_eq!(service.calls(), most);
    let lines: Vec<Value> = run
        .text()
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    for (figure, quantity, arms) in [("calls", "time", 4), ("first-calls", "newcomer", 3)] {
        let is_it = |line: &&Value| line["shown_in"] == figure && line["quantity"] == quantity;
        assert_eq!(lines.iter().filter(is_it).count(), arms, "{figure}");
    }
    let size = |arm: &str, quantity: &str| {
        let is_it = |line: &&Value| {
            (&line["shown_in"], &line["arm"], &line["quantity"])
                == (&"calls".into(), &arm.into(), &quantity.into())
        };
        lines.iter().find(is_it).expect("a line")["figures"]["best"].as_f64()
    };
    assert_eq!(size("none", "size"), size("none", "secured"));
    assert!(size("sign-encrypt/Basic128GCM", "secured") > size("none", "secured"));
    let page = folder.read("own.html");
    for part in [
        "What do my calls cost, and what shall I use?",
        "For calls of count, 4 a conversation, that must be signed and encrypted in the message: choose ",
        "Repeat it: <code>soapstone lab check FILE.toml --experiment 2</code>",
        "After how many calls the second of two mechanisms costs less in all",
    ] {
        assert!(page.contains(part), "{part} is not in the page");
    }
    // What was measured is not called again.
    folder
        .run("lab check calls.toml --json --keep kept")
        .succeeds();
    assert_eq!(service.calls(), most);
    // Lines of one's own calls stand in reports beside those of studies.
    let report = folder.run("lab report kept --markdown").succeeds();
    assert!(report.text().contains("\n## Your own services\n"));
}

#[test]
fn answers_that_must_be_the_same_and_are_not_end_the_run() {
    let service = Counter::start();
    let folder = folder(&service, "answers = \"same\"");
    let run = folder.run("lab check calls.toml --experiment 1");
    assert_eq!(run.status, 1);
    assert!(run.err.contains(" is not what count gives"), "{}", run.err);
}

#[test]
fn every_problem_of_a_file_is_told_with_its_place_before_any_call() {
    let service = Counter::start();
    let folder = Folder::new();
    folder.write("plain.xml", "<a/>");
    folder.write(
        "secured.xml",
        format!(
            "<e:Envelope xmlns:e=\"{SOAP}\"><e:Header><w:Security xmlns:w=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\"/></e:Header><e:Body/></e:Envelope>"
        ),
    );
    folder.write(
        "calls.toml",
        format!(
            "target = \"{}\"\nmechanisms = [\"sign\", \"username/Basic128GCM\", \"seal\"]\nanswer = \"same\"\n\
             [[operations]]\nname = \"one\"\nrequest = \"plain.xml\"\n\
             [[operations]]\nname = \"two\"\nrequest = \"secured.xml\"\ntarget = \"https://127.0.0.1/x\"\n\
             [[operations]]\nname = \"three\"\nsoap_action = 'a\"b'\n",
            service.url
        ),
    );
    let run = folder.run("lab check calls.toml");
    assert_eq!((run.status, service.calls()), (1, 0));
    for part in [
        "calls.toml:2:15: `mechanisms`: expected a suite behind sign, such as sign/Basic128GCM",
        "calls.toml:2:23: `mechanisms`: username has no suite",
        "calls.toml:2:47: `mechanisms`: expected https or a mechanism (",
        "calls.toml:3:1: unknown key `answer`",
        "did you mean `answers`?",
        "plain.xml is no SOAP message: ",
        "secured.xml has a Security header: capture it where the service gets it in plain",
        "`target` is behind https, and `ca` names no file with its authority",
        "`request` is missing in [operations]",
        "`soap_action` must be one line of ASCII without quotes",
    ] {
        assert!(run.err.contains(part), "{part} is not in\n{}", run.err);
    }
}

#[test]
fn a_service_that_answers_with_a_status_of_failure_is_told_with_its_answer() {
    let service = Counter::start();
    let folder = folder(&service, "");
    folder.write("count.xml", envelope("<c:other xmlns:c=\"urn:c\"/>"));
    let run = folder.run("lab check calls.toml --experiment 1");
    assert_eq!(run.status, 1);
    assert!(run.err.contains("failed: 400 Bad Request: "), "{}", run.err);
}

const WSDL: &str = include_str!("../../services/contract/sum.wsdl");
const SCHEMA: &str = include_str!("../../services/contract/sum.xsd");

/// The sample services, and a gateway before them that ends TLS as `localhost`. Its authority is in
/// `ca.cert.pem`, and its address in `sum.wsdl`.
fn behind_tls(folder: &Folder) -> [Server; 2] {
    folder.run("keys new ca --ca --subject CN=ca").succeeds();
    folder
        .run("keys new gateway --signed-by ca --san localhost")
        .succeeds();
    let services = Server::start(folder, "services --listen 127.0.0.1:0", "/temperature");
    let url = services.said.lines().find(|line| line.ends_with("/sum"));
    let (url, port) = (url.expect("the address of Sum"), free_port());
    folder.write(
        "tls.toml",
        format!(
            "listen = \"127.0.0.1:{port}\"\n[tls]\ncertificate = \"gateway.cert.pem\"\nkey = \"gateway.key.pem\"\n\
             [[routes]]\npath = \"/sum\"\nbackend = \"{url}\"\n"
        ),
    );
    let gateway = Server::start(folder, "gateway --config tls.toml", "gateway at");
    let address = format!("https://localhost:{port}/sum");
    folder.write(
        "sum.wsdl",
        WSDL.replace("http://localhost:9000/sum", &address),
    );
    folder.write("sum.xsd", SCHEMA);
    [gateway, services]
}

/// A file that names nothing but the description, and whom to believe.
fn described(folder: &Folder, more: &str) {
    folder.write(
        "calls.toml",
        format!(
            "wsdl = \"sum.wsdl\"\nmechanisms = [\"https\", \"sign/Basic128GCM\"]\ncalls = 3\nclients = 1\nconversation = 2\n\
             newcomers = 1\n{more}"
        ),
    );
}

#[test]
fn a_service_behind_https_is_called_as_its_wsdl_says() {
    let folder = Folder::new();
    let _running = behind_tls(&folder);
    described(&folder, "ca = [\"ca.cert.pem\"]\n");
    let dry = folder.run("lab check calls.toml --dry-run").succeeds();
    for part in [
        "Sum to https://localhost:",
        "action \"urn:soapstone:services:sum:Sum\"",
    ] {
        assert!(dry.text().contains(part), "{}", dry.text());
    }
    let run = folder
        .run("lab check calls.toml --experiment 1 --json --keep kept")
        .succeeds();
    let lines: Vec<Value> = run
        .text()
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    for arm in ["direct", "none", "https", "sign/Basic128GCM"] {
        let is_it = |line: &&Value| line["arm"] == arm && line["quantity"] == "time";
        let line = lines.iter().find(is_it);
        let line = line.unwrap_or_else(|| panic!("no {arm}: {lines:?}"));
        assert_eq!(line["at"]["operation"], "Sum", "{arm}");
        assert_eq!(line["figures"]["n"], 3, "{arm}");
    }
}

#[test]
fn a_service_behind_https_that_another_authority_certified_is_not_measured() {
    let folder = Folder::new();
    let _running = behind_tls(&folder);
    folder
        .run("keys new other --ca --subject CN=other")
        .succeeds();
    described(&folder, "ca = [\"other.cert.pem\"]\n");
    let run = folder.run("lab check calls.toml --experiment 1 --json --keep kept");
    assert_eq!(run.status, 1);
    assert!(run.err.contains("certificate"), "{}", run.err);
    assert!(!run.text().contains("\"quantity\""), "{}", run.text());
}
