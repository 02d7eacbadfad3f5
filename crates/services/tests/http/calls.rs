//! Every operation over real HTTP, in both versions of SOAP, and the contracts it is described by.

use crate::support::{Http, envelope};
use http::StatusCode;
use soapstone_services::SoapVersion::{Soap11, Soap12};
use soapstone_services::{
    BOOKS, Config, EMPLOYEES, Service, Services, SoapVersion, json, requests, responses,
};

#[tokio::test]
async fn every_operation_answers_in_the_version_it_was_asked_in() {
    let services = Services::start(Config::default()).await.unwrap();
    for http in [Http::one(), Http::two()] {
        for version in SoapVersion::ALL {
            let text = "a < b && c > d, naïve ☂\r\n";
            let strings = ["one", "", "<three>"];
            for (service, request, response) in [
                (
                    Service::Echo,
                    requests::echo(version, text),
                    responses::echo(version, text),
                ),
                (
                    Service::EchoStringArray,
                    requests::echo_string_array(version, &strings),
                    responses::echo_string_array(version, &strings),
                ),
                (
                    Service::Sum,
                    requests::sum(version, -2, 44),
                    responses::sum(version, -2, 44),
                ),
                (
                    Service::Employees,
                    requests::employee_details(version),
                    responses::employee_details(version, EMPLOYEES),
                ),
                (
                    Service::Books,
                    requests::get_books(version, 100),
                    responses::books(version, 100),
                ),
                (
                    Service::Temperature,
                    requests::get_temperature(version),
                    responses::temperature(version, 2_150),
                ),
            ] {
                let answer = http.call(version, &services.url(service), request).await;
                assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
                assert_eq!(answer.header("content-type"), version.content_type());
                assert_eq!(answer.text(), std::str::from_utf8(&response).unwrap());
            }
        }
    }
    services.shutdown().await;
}

#[tokio::test]
async fn books_from_memory_and_from_the_database_are_the_same_bytes() {
    let services = Services::start(Config::default()).await.unwrap();
    let http = Http::one();
    let url = services.url(Service::Books);
    for version in SoapVersion::ALL {
        for count in [0, 1, 2_500, BOOKS] {
            let request = requests::get_books(version, count);
            let stored = http.call(version, &url, request.clone()).await;
            assert_eq!(stored.status, StatusCode::OK);
            for source in ["memory", "database"] {
                let named = http
                    .call(version, &format!("{url}?source={source}"), request.clone())
                    .await;
                assert!(named.body == stored.body, "{source} differs at n = {count}");
            }
        }
    }
    services.shutdown().await;
}

/// CMU/SEI-2010-TR-023, appendix E: eight strings, each "Hello World".
#[tokio::test]
async fn one_record_is_given_to_those_who_ask_for_the_one_of_the_study() {
    let services = Services::start(Config::default()).await.unwrap();
    let url = services.url(Service::Employees);
    let http = Http::one();
    let version = SoapVersion::Soap11;
    let all = responses::employee_details(version, EMPLOYEES);
    let one = responses::one_employee(version);
    for (query, right) in [("", &all), ("?records=all", &all), ("?records=one", &one)] {
        let url = format!("{url}{query}");
        let answer = http
            .call(version, &url, requests::employee_details(version))
            .await;
        assert!(answer.body == *right, "{query}: {}", answer.text());
    }
    let text = String::from_utf8_lossy(&one);
    assert_eq!(text.matches(">Hello World</").count(), 8);
    assert_eq!(text.matches("<employee>").count(), 1);
    services.shutdown().await;
}

#[tokio::test]
async fn employees_are_given_as_json_to_those_who_accept_it() {
    let services = Services::start(Config::default()).await.unwrap();
    let url = services.url(Service::Employees);
    let get = |accept: &'static str, url: &str| {
        let request = http::Request::get(url).header("accept", accept);
        request.body(Default::default()).unwrap()
    };
    let http = Http::one();
    let answer = http
        .send(get("text/html;q=0.5, application/json", &url))
        .await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.body, json::employee_details(EMPLOYEES));
    let wsdl = http
        .send(get("application/json", &format!("{url}?wsdl")))
        .await;
    assert_eq!(wsdl.header("content-type"), "text/xml; charset=utf-8");
    for (accept, service) in [
        ("text/html", Service::Employees),
        ("application/json", Service::Echo),
    ] {
        let answer = http.send(get(accept, &services.url(service))).await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    }
    services.shutdown().await;
}

#[tokio::test]
async fn a_message_in_utf_16_is_answered() {
    let services = Services::start(Config::default()).await.unwrap();
    let message: Vec<u8> = std::iter::once(0xFEFF)
        .chain(requests::echo(Soap11, "naïve ☂").encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let answer = Http::one()
        .post(
            "text/xml; charset=UTF-16",
            &services.url(Service::Echo),
            message,
        )
        .await;
    assert!(
        answer.text().contains("<text>naïve ☂</text>"),
        "{}",
        answer.text()
    );
    services.shutdown().await;
}

#[tokio::test]
async fn other_ways_to_write_the_same_message_are_understood() {
    let services = Services::start(Config::default()).await.unwrap();
    let http = Http::one();
    for (service, body, expected) in [
        (
            Service::Echo,
            "<e:Echo xmlns:e='urn:soapstone:services:echo'>\n<e:text><![CDATA[<&>]]>&#x20;<!-- c -->x</e:text>\n</e:Echo>",
            "<text>&lt;&amp;&gt; x</text>",
        ),
        (
            Service::Echo,
            "<Echo xmlns='urn:soapstone:services:echo'><text/></Echo>",
            "<text></text>",
        ),
        (
            Service::Sum,
            "<Sum xmlns='urn:soapstone:services:sum'><a> +0040\n</a><b>\t-42 </b></Sum>",
            "<sum>-2</sum>",
        ),
        (
            Service::EchoStringArray,
            "<EchoStringArray xmlns='urn:soapstone:services:echo-string-array'><strings xmlns=''>\
             <item xmlns='urn:soapstone:services:echo-string-array'>x</item></strings></EchoStringArray>",
            "<result><m:item>x</m:item></result>",
        ),
    ] {
        // Header blocks that nobody has to understand are ignored; so are those for somebody else.
        let header = "<soap:Header><a:To xmlns:a='urn:a'>x</a:To><b:B xmlns:b='urn:b' soap:mustUnderstand='0'/>\
                      <c:C xmlns:c='urn:c' soap:mustUnderstand='1' soap:actor='urn:somebody-else'/></soap:Header>";
        let message = envelope(Soap11, header, body);
        let answer = http.call(Soap11, &services.url(service), message).await;
        assert!(answer.text().contains(expected), "{}", answer.text());
    }
    services.shutdown().await;
}

#[tokio::test]
async fn the_contract_names_the_server_as_the_client_reached_it() {
    let services = Services::start(Config::default()).await.unwrap();
    for http in [Http::one(), Http::two()] {
        for service in Service::ALL {
            let url = services.url(service);
            let wsdl = http.get(&format!("{url}?wsdl")).await;
            assert_eq!(wsdl.status, StatusCode::OK);
            assert_eq!(wsdl.header("content-type"), "text/xml; charset=utf-8");
            assert_eq!(
                wsdl.text().matches(&format!("location=\"{url}\"")).count(),
                2
            );
            assert!(
                wsdl.text()
                    .contains(&format!("schemaLocation=\"{url}?xsd=1\""))
            );
            let schema = http.get(&format!("{url}?xsd=1")).await;
            assert!(
                schema
                    .text()
                    .contains(&format!("targetNamespace=\"{}\"", service.namespace()))
            );
        }
        let url = services.url(Service::Books);
        let schema = http.get(&format!("{url}?xsd=1")).await;
        assert!(
            schema
                .text()
                .contains(&format!("schemaLocation=\"{url}?xsd=2\""))
        );
        assert!(
            http.get(&format!("{url}?xsd=2"))
                .await
                .text()
                .contains("name=\"Publisher\"")
        );
        assert_eq!(
            http.get(&format!("{url}?xsd=3")).await.status,
            StatusCode::NOT_FOUND
        );
        assert_eq!(
            http.get(&format!("{url}?xsd=")).await.status,
            StatusCode::NOT_FOUND
        );
    }
    services.shutdown().await;

    let services = Services::start(Config {
        public_url: Some("https://services.example/samples/".to_owned()),
        ..Config::default()
    })
    .await
    .unwrap();
    let wsdl = Http::one()
        .get(&format!("{}?WSDL", services.url(Service::Sum)))
        .await;
    assert!(
        wsdl.text()
            .contains("location=\"https://services.example/samples/sum\"")
    );
    services.shutdown().await;
}

#[tokio::test]
async fn the_host_header_is_escaped_in_the_contract() {
    let services = Services::start(Config::default()).await.unwrap();
    let request = http::Request::get(format!("{}?wsdl", services.url(Service::Echo)))
        .header("host", "a&b:80")
        .body(Default::default())
        .unwrap();
    let wsdl = Http::one().send(request).await;
    assert!(
        wsdl.text().contains("location=\"http://a&amp;b:80/echo\""),
        "{}",
        wsdl.text()
    );
    services.shutdown().await;
}

#[tokio::test]
async fn a_soap_12_answer_follows_a_soap_12_request_with_parameters_in_its_media_type() {
    let services = Services::start(Config::default()).await.unwrap();
    let answer = Http::one()
        .post(
            "Application/SOAP+xml;charset=\"UTF-8\"; action=\"urn:soapstone:services:sum:Sum\"",
            &services.url(Service::Sum),
            requests::sum(Soap12, 1, 1),
        )
        .await;
    assert_eq!(
        answer.header("content-type"),
        "application/soap+xml; charset=utf-8"
    );
    assert!(answer.text().contains("<sum>2</sum>"));
    services.shutdown().await;
}
