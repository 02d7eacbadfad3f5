//! WSDLs of several documents.

use super::*;

/// A WSDL with a policy that imports this.
fn importing(location: &str) -> String {
    let asymmetric = policies().swap_remove(0).1;
    let import = format!("<import namespace='urn:o' location='{location}'/><types>");
    books("http://127.0.0.1:1/books", &asymmetric).replace("<types>", &import)
}

const EMPTY: &str = "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/'/>";

#[test]
fn a_copy_has_the_name_that_is_referred_to_and_no_other_file_has_it() {
    let folder = Folder::new();
    for name in [
        "service.wsdl",
        "gateway.toml",
        "ca.key.pem",
        "Request.XML",
        "client.cert.pem",
    ] {
        folder.write(name, EMPTY);
        folder.write("main.wsdl", importing(name));
        let saying =
            format!("main.wsdl: its policy is in {name}, which the folder cannot have\nhint: put");
        folder.run("init x --wsdl main.wsdl").fails(&saying);
        assert!(!folder.path("x").exists(), "{name}");
    }
    folder.write("policy.wsdl", EMPTY);
    folder.write("main.wsdl", importing("./policy.wsdl"));
    folder.run("init x --wsdl main.wsdl").succeeds();
    assert_eq!(folder.read("x/policy.wsdl"), EMPTY);
}

#[test]
fn a_server_is_asked_for_each_document_once() {
    let folder = Folder::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (asked, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut line = String::new();
            let mut lines = BufReader::new(stream.try_clone().expect("a stream"));
            lines.read_line(&mut line).expect("a request");
            let mut head = String::new();
            while lines.read_line(&mut head).expect("its head") > 2 {}
            let document = if line.contains("main.wsdl") {
                importing("policy.wsdl")
            } else {
                EMPTY.to_owned()
            };
            let length = document.len();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            stream
                .write_all(format!("{head}{document}").as_bytes())
                .expect("it reads");
            asked.send(line).expect("the test waits");
        }
    });
    let words = format!("init x --wsdl http://{address}/main.wsdl");
    folder.run(&words).succeeds();
    let asked: Vec<String> = heard.try_iter().collect();
    assert_eq!(
        asked,
        [
            "GET /main.wsdl HTTP/1.1\r\n",
            "GET /policy.wsdl HTTP/1.1\r\n"
        ]
    );
}
