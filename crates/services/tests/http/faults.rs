//! What is refused, and what the client is told: by HTTP where HTTP can tell, by a SOAP fault
//! otherwise.

use crate::support::{Answer, Http, envelope};
use http::{Method, StatusCode};
use soapstone_services::SoapVersion::{Soap11, Soap12};
use soapstone_services::{Config, Running, Service, Services, SoapVersion, requests};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn started() -> (Running, Http) {
    (
        Services::start(Config::default()).await.unwrap(),
        Http::one(),
    )
}

/// Asserts a fault in both versions: code by its SOAP 1.2 name, and the reason.
async fn assert_fault(
    services: &Running,
    service: Service,
    header: &str,
    body: &str,
    code: &str,
    reason: &str,
) {
    for version in SoapVersion::ALL {
        let message = envelope(version, header, body);
        let answer = Http::one()
            .call(version, &services.url(service), message)
            .await;
        assert_is_fault(&answer, version, code, reason);
    }
}

fn assert_is_fault(answer: &Answer, version: SoapVersion, code: &str, reason: &str) {
    let (code, status) = match (version, code) {
        (Soap11, "Sender") => ("Client", StatusCode::INTERNAL_SERVER_ERROR),
        (Soap11, "Receiver") => ("Server", StatusCode::INTERNAL_SERVER_ERROR),
        (Soap12, "Sender") => (code, StatusCode::BAD_REQUEST),
        _ => (code, StatusCode::INTERNAL_SERVER_ERROR),
    };
    let expected = match version {
        Soap11 => format!(
            "<soap:Body><soap:Fault><faultcode>soap:{code}</faultcode><faultstring xml:lang=\"en\">{reason}\
             </faultstring></soap:Fault></soap:Body></soap:Envelope>"
        ),
        Soap12 => format!(
            "<soap:Body><soap:Fault><soap:Code><soap:Value>soap:{code}</soap:Value></soap:Code><soap:Reason>\
             <soap:Text xml:lang=\"en\">{reason}</soap:Text></soap:Reason></soap:Fault></soap:Body></soap:Envelope>"
        ),
    };
    let text = answer.text();
    assert!(
        text.ends_with(&expected),
        "expected …{expected}\nfound {text}"
    );
    assert_eq!(answer.status, status);
    assert_eq!(answer.header("content-type"), version.content_type());
}

#[tokio::test]
async fn a_wrong_element_is_answered_with_what_was_expected_and_where() {
    let (services, http) = started().await;
    for (service, body, reason) in [
        (
            Service::Echo,
            "",
            "expected one element {urn:soapstone:services:echo}Echo in the Body, found none at line 1, column @",
        ),
        (
            Service::Echo,
            "<Echo/>",
            "expected one element {urn:soapstone:services:echo}Echo in the Body, found Echo at line 1, column @",
        ),
        (
            Service::Echo,
            "<Echo xmlns='urn:soapstone:services:echo'><text>x</text></Echo><Second/>",
            "expected one element {urn:soapstone:services:echo}Echo in the Body, found Second at line 1, column @",
        ),
        (
            Service::Echo,
            "<Echo xmlns='urn:soapstone:services:echo'/>",
            "expected {urn:soapstone:services:echo}text in Echo, found none at line 1, column @",
        ),
        (
            Service::Echo,
            "<Echo xmlns='urn:soapstone:services:echo'><text>x<b/></text></Echo>",
            "expected text in text, found {urn:soapstone:services:echo}b at line 1, column @",
        ),
        (
            Service::Echo,
            "<Echo xmlns='urn:soapstone:services:echo'><text xmlns:i='http://www.w3.org/2001/XMLSchema-instance' \
             i:nil='true'/></Echo>",
            "expected text to have a value, found xsi:nil at line 1, column @",
        ),
        (
            Service::Sum,
            "<Sum xmlns='urn:soapstone:services:sum'><b>1</b><a>1</a></Sum>",
            "expected {urn:soapstone:services:sum}a in Sum, found {urn:soapstone:services:sum}b at line 1, column @",
        ),
        (
            Service::Sum,
            "<Sum xmlns='urn:soapstone:services:sum'><a>1</a><b>1</b><c>1</c></Sum>",
            "expected nothing after {urn:soapstone:services:sum}b in Sum, found {urn:soapstone:services:sum}c at \
             line 1, column @",
        ),
        (
            Service::Employees,
            "<EmployeeDetails xmlns='urn:soapstone:services:employees'><n/></EmployeeDetails>",
            "expected nothing in EmployeeDetails, found {urn:soapstone:services:employees}n at line 1, column @",
        ),
        (
            Service::EchoStringArray,
            "<EchoStringArray xmlns='urn:soapstone:services:echo-string-array'><strings/></EchoStringArray>",
            "expected strings in EchoStringArray, found {urn:soapstone:services:echo-string-array}strings at line 1, \
             column @",
        ),
        (
            Service::EchoStringArray,
            "<m:EchoStringArray xmlns:m='urn:soapstone:services:echo-string-array'><strings><item>x</item></strings>\
             </m:EchoStringArray>",
            "expected {urn:soapstone:services:echo-string-array}item in strings, found item at line 1, column @",
        ),
    ] {
        for version in SoapVersion::ALL {
            let answer = http
                .call(version, &services.url(service), envelope(version, "", body))
                .await;
            let (before, _) = reason.split_once('@').unwrap();
            let text = answer.text();
            assert!(text.contains(before), "expected {before}\nfound {text}");
            let column = text
                .split_once(before)
                .unwrap()
                .1
                .split_once('<')
                .unwrap()
                .0;
            let column: u32 = column.parse().expect("a column");
            assert_is_fault(
                &answer,
                version,
                "Sender",
                &reason.replace('@', &column.to_string()),
            );
        }
    }
    services.shutdown().await;
}

#[tokio::test]
async fn a_value_outside_its_type_is_answered_with_the_type() {
    let (services, _) = started().await;
    for (n, reason) in [
        ("25001", "expected n to be from 0 to 25000, found \"25001\""),
        ("-1", "expected n to be from 0 to 25000, found \"-1\""),
        ("many", "expected n to be an xsd:int, found \"many\""),
        ("", "expected n to be an xsd:int, found \"\""),
        ("1 2", "expected n to be an xsd:int, found \"1 2\""),
        (
            "2147483648",
            "expected n to be an xsd:int, found \"2147483648\"",
        ),
    ] {
        let body = format!("<getBooks xmlns='urn:soapstone:services:books'><n>{n}</n></getBooks>");
        assert_fault(&services, Service::Books, "", &body, "Sender", reason).await;
    }
    let body = "<Sum xmlns='urn:soapstone:services:sum'><a>1</a><b>1.5</b></Sum>";
    let reason = "expected b to be an xsd:int, found \"1.5\"";
    assert_fault(&services, Service::Sum, "", body, "Sender", reason).await;
    services.shutdown().await;
}

#[tokio::test]
async fn an_unknown_source_of_books_is_answered_with_the_known_ones() {
    let (services, http) = started().await;
    let url = format!("{}?source=tape", services.url(Service::Books));
    let answer = http
        .call(Soap12, &url, requests::get_books(Soap12, 1))
        .await;
    let reason = "expected source to be database or memory, found \"tape\"";
    assert_is_fault(&answer, Soap12, "Sender", reason);
    services.shutdown().await;
}

#[tokio::test]
async fn an_unknown_number_of_records_is_answered_with_the_known_ones() {
    let (services, http) = started().await;
    let url = format!("{}?records=2", services.url(Service::Employees));
    let answer = http
        .call(Soap12, &url, requests::employee_details(Soap12))
        .await;
    let reason = "expected records to be all or one, found \"2\"";
    assert_is_fault(&answer, Soap12, "Sender", reason);
    services.shutdown().await;
}

#[tokio::test]
async fn an_envelope_of_another_version_than_announced_is_a_version_mismatch() {
    let (services, http) = started().await;
    let url = services.url(Service::Sum);
    let upgrade = "<upgrade:Upgrade xmlns:upgrade=\"http://www.w3.org/2003/05/soap-envelope\">\
                   <upgrade:SupportedEnvelope xmlns:supported=\"http://www.w3.org/2003/05/soap-envelope\" \
                   qname=\"supported:Envelope\"></upgrade:SupportedEnvelope>\
                   <upgrade:SupportedEnvelope xmlns:supported=\"http://schemas.xmlsoap.org/soap/envelope/\" \
                   qname=\"supported:Envelope\"></upgrade:SupportedEnvelope></upgrade:Upgrade>";
    for (version, message, found) in [
        (
            Soap11,
            requests::sum(Soap12, 1, 1),
            "{http://www.w3.org/2003/05/soap-envelope}Envelope",
        ),
        (
            Soap12,
            requests::sum(Soap11, 1, 1),
            "{http://schemas.xmlsoap.org/soap/envelope/}Envelope",
        ),
        (Soap12, "<order/>".to_owned(), "order"),
        (
            Soap11,
            "<Envelope xmlns='urn:future'/>".to_owned(),
            "{urn:future}Envelope",
        ),
    ] {
        let answer = http.call(version, &url, message).await;
        let reason = format!(
            "expected a {} message, {{{}}}Envelope, as the Content-Type {} says, found {found}",
            version.name(),
            version.namespace(),
            version.media_type()
        );
        assert_is_fault(&answer, version, "VersionMismatch", &reason);
        assert!(answer.text().contains(upgrade), "{}", answer.text());
    }
    services.shutdown().await;
}

#[tokio::test]
async fn a_header_block_that_must_be_understood_is_refused_by_name() {
    let (services, http) = started().await;
    let url = services.url(Service::Sum);
    let body = "<Sum xmlns='urn:soapstone:services:sum'><a>1</a><b>1</b></Sum>";
    let reason = "header blocks marked mustUnderstand are not understood: {urn:a}A, {urn:b}B";
    for (version, role, next) in [
        (
            Soap11,
            "actor",
            "http://schemas.xmlsoap.org/soap/actor/next",
        ),
        (
            Soap12,
            "role",
            "http://www.w3.org/2003/05/soap-envelope/role/next",
        ),
    ] {
        let header = format!(
            "<soap:Header><a:A xmlns:a='urn:a' soap:mustUnderstand='1'/><o:Other xmlns:o='urn:o'/>\
             <b:B xmlns:b='urn:b' soap:mustUnderstand='1' soap:{role}='{next}'/></soap:Header>"
        );
        let answer = http
            .call(version, &url, envelope(version, &header, body))
            .await;
        assert_is_fault(&answer, version, "MustUnderstand", reason);
        let named = "<soap:Header><soap:NotUnderstood xmlns:block=\"urn:a\" qname=\"block:A\"></soap:NotUnderstood>\
                     <soap:NotUnderstood xmlns:block=\"urn:b\" qname=\"block:B\"></soap:NotUnderstood></soap:Header>";
        assert_eq!(answer.text().contains(named), version == Soap12);
    }
    let maybe = "<soap:Header><a:A xmlns:a='urn:a' soap:mustUnderstand='maybe'/></soap:Header>";
    let answer = http.call(Soap11, &url, envelope(Soap11, maybe, body)).await;
    assert_is_fault(
        &answer,
        Soap11,
        "Sender",
        "expected mustUnderstand to be 0 or 1, found \"maybe\"",
    );
    services.shutdown().await;
}

#[tokio::test]
async fn an_envelope_in_disorder_is_refused() {
    let (services, http) = started().await;
    let url = services.url(Service::Sum);
    let soap = "xmlns:soap='http://schemas.xmlsoap.org/soap/envelope/'";
    for (message, expected) in [
        (
            format!("<soap:Envelope {soap}/>"),
            "Body in the Envelope, after an optional Header, found none at line 1, column 1",
        ),
        (
            format!("<soap:Envelope {soap}><soap:Body/><soap:Header/></soap:Envelope>"),
            "expected nothing after the Body, found {http://schemas.xmlsoap.org/soap/envelope/}Header at line 1, column",
        ),
        (
            format!("<soap:Envelope {soap}><Body/></soap:Envelope>"),
            "Body in the Envelope, after an optional Header, found Body at line 1, column",
        ),
        (
            format!(
                "<!DOCTYPE x [<!ENTITY e 'e'>]><soap:Envelope {soap}><soap:Body/></soap:Envelope>"
            ),
            "<faultcode>soap:Client</faultcode><faultstring xml:lang=\"en\">the message cannot be read: ",
        ),
        (
            format!("<soap:Envelope {soap}><soap:Body></soap:Envelope>"),
            "<faultcode>soap:Client</faultcode><faultstring xml:lang=\"en\">the message cannot be read: ",
        ),
        (
            String::new(),
            "<faultcode>soap:Client</faultcode><faultstring xml:lang=\"en\">the message cannot be read: ",
        ),
    ] {
        let answer = http.call(Soap11, &url, message).await;
        assert!(
            answer.text().contains(expected),
            "expected {expected}\nfound {}",
            answer.text()
        );
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    }
    services.shutdown().await;
}

#[tokio::test]
async fn what_http_can_tell_is_told_by_http() {
    let (services, http) = started().await;
    let url = services.url(Service::Echo);

    let lost = http
        .get(&format!("http://{}/nowhere", services.addr()))
        .await;
    assert_eq!(lost.status, StatusCode::NOT_FOUND);
    assert_eq!(lost.text(), "there is nothing at /nowhere; see /\n");

    let no_message = http.get(&url).await;
    assert_eq!(no_message.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(no_message.header("allow"), "POST");
    assert_eq!(
        no_message.text(),
        format!("this is a SOAP service: expected a POST; its contract is at {url}?wsdl\n")
    );
    let put = http.method(Method::PUT, &url).await;
    assert_eq!(
        (put.status, put.header("allow")),
        (StatusCode::METHOD_NOT_ALLOWED, "GET, HEAD, POST")
    );

    let head = http.method(Method::HEAD, &format!("{url}?wsdl")).await;
    assert_eq!((head.status, head.text()), (StatusCode::OK, ""));

    let post = |name, value| {
        http::Request::post(&url)
            .header(name, value)
            .body(requests::echo(Soap11, "x").into())
            .unwrap()
    };
    for (name, value, complaint) in [
        (
            "content-type",
            "application/json",
            "expected Content-Type text/xml (SOAP 1.1) or application/soap+xml (SOAP 1.2), found \"application/json\"\n",
        ),
        (
            "soapaction",
            "\"\"",
            "expected Content-Type text/xml (SOAP 1.1) or application/soap+xml (SOAP 1.2), found none\n",
        ),
        (
            "content-type",
            "text/xml; charset=iso-8859-1",
            "expected charset utf-8 or utf-16, found \"text/xml; charset=iso-8859-1\"\n",
        ),
        (
            "content-encoding",
            "gzip",
            "expected no Content-Encoding, found \"gzip\"\n",
        ),
    ] {
        let refused = http.send(post(name, value)).await;
        assert_eq!(refused.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
        assert_eq!(refused.text(), complaint);
    }
    services.shutdown().await;
}

#[tokio::test]
async fn a_message_beyond_the_limit_is_refused_before_it_is_read() {
    let services = Services::start(Config {
        message: 1_000,
        ..Config::default()
    })
    .await
    .unwrap();
    let http = Http::one();
    let url = services.url(Service::Echo);
    let fits = requests::echo(Soap11, "x");
    assert_eq!(http.call(Soap11, &url, fits).await.status, StatusCode::OK);
    let large = http
        .call(Soap11, &url, requests::echo(Soap11, &"x".repeat(1_000)))
        .await;
    assert_eq!(large.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(large.text(), "expected a message of at most 1000 bytes\n");
    // The same when its size is not announced.
    let mut stream = tokio::net::TcpStream::connect(services.addr())
        .await
        .unwrap();
    let head = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = format!("{head}3e9\r\n{}\r\n", "x".repeat(1_001));
    stream.write_all(chunk.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 413 Payload Too Large\r\n"),
        "{answer}"
    );
    services.shutdown().await;
}
