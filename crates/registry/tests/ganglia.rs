//! The XML of Ganglia, written and read.

use soapstone_registry::ganglia::{GangliaError, HostMetrics, read, write};
use soapstone_xml::Problem;

fn host() -> HostMetrics {
    HostMetrics {
        name: "p1-10.0.0.1".to_owned(),
        address: "10.0.0.1".to_owned(),
        seconds: 3,
        patience: 20,
        metrics: vec![
            ("load_one".to_owned(), 0.25, String::new()),
            ("cpu_idle".to_owned(), 75.5, "%".to_owned()),
        ],
    }
}

#[test]
fn what_is_written_is_read_back() {
    let document = write("soapstone", 1_790_000_000, &[host()]);
    let hosts = read(document.as_bytes()).expect("a document");
    assert_eq!(hosts, [host()]);
    assert_eq!(hosts[0].host().load_one, Some(0.25));
    assert_eq!(hosts[0].host().cpu_idle, Some(75.5));
    assert_eq!(hosts[0].host().mem_free, None);
}

/// `gmetad` makes a folder of the name of a host, and a file of that of a metric: it ends where one
/// has a slash, and `..` leads out of its folder.
#[test]
fn names_of_hosts_and_metrics_are_names_of_files() {
    let named = |name: &str| HostMetrics {
        name: name.to_owned(),
        metrics: vec![(name.to_owned(), 1.0, String::new())],
        ..host()
    };
    let long = "x".repeat(300);
    for (name, expected) in [
        (
            "p1 http://10.0.0.1:9000/books",
            "p1_http___10.0.0.1_9000_books",
        ),
        ("../../etc/cron.d/x", "_.._etc_cron.d_x"),
        ("..", ""),
        ("<\"&>\u{e9}", "_____"),
        (&long, &long[..200]),
    ] {
        let document = write("soapstone", 1_790_000_000, &[named(name)]);
        let hosts = read(document.as_bytes()).expect("a document");
        assert_eq!(hosts[0].name, expected);
        assert_eq!(hosts[0].metrics[0].0, expected);
    }
}

#[test]
fn a_gmond_has_so_many_hosts() {
    let document = |hosts: usize| format!("<GANGLIA_XML>{}</GANGLIA_XML>", "<HOST/>".repeat(hosts));
    let hosts = read(document(10_000).as_bytes()).expect("a document");
    assert_eq!(hosts.len(), 10_000);
    let refused = read(document(10_001).as_bytes()).map(|hosts| hosts.len());
    assert_eq!(refused, Err(GangliaError::TooManyHosts));
}

#[test]
fn the_document_type_of_gmond_is_skipped() {
    let document = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" standalone=\"yes\"?>\n\
        <!DOCTYPE GANGLIA_XML [\n<!ELEMENT GANGLIA_XML (GRID|CLUSTER|HOST)*>\n\
        <!ATTLIST GANGLIA_XML VERSION CDATA #REQUIRED>\n]>\n\
        <GANGLIA_XML VERSION=\"3.7.2\" SOURCE=\"gmond\"><CLUSTER NAME=\"c\" LOCALTIME=\"1\">\
        <HOST NAME=\"h\" IP=\"10.0.0.2\" TN=\"81\" TMAX=\"20\" DMAX=\"0\">\
        <METRIC NAME=\"os_name\" VAL=\"Linux\" TYPE=\"string\" UNITS=\"\"/>\
        <METRIC NAME=\"load_one\" VAL=\"NaN\" TYPE=\"float\" UNITS=\" \"/>\
        <METRIC NAME=\"mem_free\" VAL=\"1024\" TYPE=\"float\" UNITS=\"KB\"/></HOST></CLUSTER></GANGLIA_XML>";
    let hosts = read(document.as_bytes()).expect("a document");
    assert_eq!(hosts.len(), 1);
    assert_eq!(
        hosts[0].metrics,
        [("mem_free".to_owned(), 1024.0, "KB".to_owned())]
    );
    assert!(!hosts[0].is_up());
}

#[test]
fn entities_are_refused() {
    for declared in [
        "<!ENTITY x SYSTEM \"file:///etc/passwd\">",
        "<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">",
        "<!ENTITY % p SYSTEM \"http://203.0.113.66/\">",
    ] {
        let document = format!("<!DOCTYPE GANGLIA_XML [{declared}]><GANGLIA_XML/>");
        assert_eq!(read(document.as_bytes()), Err(GangliaError::Entity));
    }
    // Nor does a reference get by without its declaration.
    let document = "<GANGLIA_XML><HOST NAME=\"&x;\"/></GANGLIA_XML>";
    let Err(GangliaError::Malformed(error)) = read(document.as_bytes()) else {
        panic!("it is refused");
    };
    assert!(
        matches!(error.problem, Problem::UnknownEntity { .. }),
        "{error:?}"
    );
}

#[test]
fn another_document_is_refused() {
    let found = "html".to_owned();
    assert_eq!(read(b"<html/>"), Err(GangliaError::Root { found }));
}
