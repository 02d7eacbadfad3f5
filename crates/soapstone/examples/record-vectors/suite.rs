//! The folder that is recorded: plain messages, endpoint files, secured messages and the manifest
//! that lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use soapstone::config::EndpointConfig;
use soapstone::endpoint::{Endpoint as Compiled, Fixed};
use soapstone::wss::Rejected;
use soapstone::{ForgetfulReplayCache, Memory, Opener, Securer};

use crate::endpoints::Endpoint;

/// The versions of SOAP, and their namespaces.
pub(crate) const SOAP: [(&str, &str); 2] = [
    ("soap11", "http://schemas.xmlsoap.org/soap/envelope/"),
    ("soap12", "http://www.w3.org/2003/05/soap-envelope"),
];

/// What is recorded so far.
pub(crate) struct Suite {
    folder: PathBuf,
    cases: Vec<Value>,
    /// Cases that were not judged as they say.
    wrong: Vec<String>,
    /// Endpoint files by their text, so that each is written once.
    endpoints: BTreeMap<String, String>,
    names: BTreeSet<String>,
}

impl Suite {
    /// Begins anew.
    pub(crate) fn new(folder: &Path) -> Self {
        if folder.exists() {
            fs::remove_dir_all(folder).expect("the old cases are removed");
        }
        for inner in ["plain", "endpoints", "accepted", "refused"] {
            fs::create_dir_all(folder.join(inner)).expect("a folder");
        }
        for (version, namespace) in SOAP {
            let path = folder.join(format!("plain/{version}.xml"));
            fs::write(path, plain(namespace)).expect("a plain message");
        }
        Self {
            folder: folder.to_owned(),
            cases: Vec::new(),
            wrong: Vec::new(),
            endpoints: BTreeMap::new(),
            names: BTreeSet::new(),
        }
    }

    fn compiled<P: Fixed>(&self, endpoint: &Endpoint) -> Compiled<P> {
        let file = self.folder.join("endpoints/endpoint.toml");
        EndpointConfig::from_text(&endpoint.text(), &file, &|_| None)
            .and_then(|config| Compiled::from_config(&config))
            .unwrap_or_else(|problems| panic!("{problems}\n{}", endpoint.text()))
    }

    /// The plain message of a version, secured.
    pub(crate) fn secure(&self, client: &Endpoint, version: &str) -> String {
        let plain = fs::read(self.folder.join(format!("plain/{version}.xml")));
        let securer: Securer = self.compiled(client);
        let secured = securer.secure(plain.expect("a plain message"));
        let secured = secured.unwrap_or_else(|error| panic!("{error}\n{}", client.text()));
        String::from_utf8(secured.bytes).expect("UTF-8")
    }

    fn open(&self, service: &Endpoint, message: &[u8]) -> Result<Vec<u8>, Rejected> {
        let opener: Opener = self.compiled(service);
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        Ok(opener.open(message.to_vec(), memory)?.bytes)
    }

    /// A message that `service` accepts. `name` is that of its file, without suffix.
    pub(crate) fn accept(&mut self, name: &str, service: &Endpoint, message: &str, version: &str) {
        match self.open(service, message.as_bytes()) {
            Ok(_) => {
                let expected =
                    json!({ "outcome": "valid", "plain": format!("plain/{version}.xml") });
                self.keep(
                    &format!("accepted/{name}"),
                    service,
                    message.as_bytes(),
                    expected,
                );
            }
            Err(rejected) => self.wrong.push(format!("{name}: {rejected}")),
        }
    }

    /// A message that `service` refuses for a reason, by its stable name.
    pub(crate) fn refuse(&mut self, name: &str, service: &Endpoint, message: &[u8], reason: &str) {
        match self.open(service, message) {
            Err(rejected) if rejected.cause().name() == reason => {
                let expected = json!({ "outcome": "invalid", "reason": reason });
                self.keep(&format!("refused/{name}"), service, message, expected);
            }
            Err(rejected) => self.wrong.push(format!(
                "{name}: expected {reason}, found {}: {rejected}",
                rejected.cause().name()
            )),
            Ok(_) => self
                .wrong
                .push(format!("{name}: expected {reason}, accepted")),
        }
    }

    fn keep(&mut self, path: &str, service: &Endpoint, message: &[u8], expected: Value) {
        let file = format!("{path}.xml");
        assert!(self.names.insert(file.clone()), "{file} is written twice");
        let target = self.folder.join(&file);
        fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
        fs::write(target, message).expect("a message");
        let endpoint = self.endpoint(path, service);
        self.cases.push(json!({
            "id": format!("messages/{path}"),
            "kind": "endpoint-open",
            "file": file,
            "endpoint": endpoint,
            "expected": expected,
        }));
    }

    /// The file of an endpoint, named after the first message that it opens.
    fn endpoint(&mut self, path: &str, service: &Endpoint) -> String {
        let text = service.text();
        if let Some(file) = self.endpoints.get(&text) {
            return file.clone();
        }
        let name = path.split_once('/').map_or(path, |(_, name)| name);
        let file = format!("endpoints/{}.toml", name.replace('/', "_"));
        fs::write(self.folder.join(&file), &text).expect("an endpoint file");
        self.endpoints.insert(text, file.clone());
        file
    }

    /// Writes the manifest, and removes the keys that no endpoint file names: those that senders
    /// alone needed.
    ///
    /// # Panics
    /// If a case was judged otherwise than it says.
    pub(crate) fn finish(self) {
        let lines: Vec<String> = self.cases.iter().map(Value::to_string).collect();
        let manifest = format!(
            "{{\"suite\": \"messages\", \"title\": \"Messages secured by the project, and altered copies\", \"cases\": [\n{}\n]}}\n",
            lines.join(",\n")
        );
        fs::write(self.folder.join("manifest.json"), manifest).expect("a manifest");
        for entry in fs::read_dir(self.folder.join("keys")).expect("the keys") {
            let path = entry.expect("a key").path();
            let name = path.file_name().expect("a name").to_string_lossy();
            let used = format!("/{name}\"");
            if !self.endpoints.keys().any(|text| text.contains(&used)) {
                fs::remove_file(&path).expect("a key is removed");
            }
        }
        println!("{} cases", self.cases.len());
        assert!(
            self.wrong.is_empty(),
            "{} cases are judged otherwise:\n{}",
            self.wrong.len(),
            self.wrong.join("\n")
        );
    }
}

/// A message with two header blocks, attributes with namespaces, a comment, CDATA, and characters
/// that are written in several ways.
fn plain(namespace: &str) -> String {
    format!(
        "<soap:Envelope xmlns:soap=\"{namespace}\"><soap:Header><a:To xmlns:a=\"http://www.w3.org/2005/08/addressing\">urn:books</a:To>\
         <a:Action xmlns:a=\"http://www.w3.org/2005/08/addressing\">urn:books/order</a:Action></soap:Header>\
         <soap:Body><b:order xmlns:b=\"urn:books\" b:number='7' kind=\"a &lt; b &quot;\"><b:title>Grüße &amp; <![CDATA[<mehr>]]></b:title>\
         <!-- a comment --><b:price currency=\"EUR\">100</b:price><empty xmlns=\"\"/></b:order></soap:Body></soap:Envelope>"
    )
}
