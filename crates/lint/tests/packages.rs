//! MIME packages and recorded HTTP: one reading, or none, and places in the file as it is.

use soapstone_lint::{Choice, LintError, PackageError, Profile, Profiles, Report, Subject, lint};

const MESSAGE: &str = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\">\r\n <s:Body><a/></s:Body></s:Envelope>";

/// A package whose message breaks R1014 in the tenth line.
fn package() -> String {
    format!(
        "Content-Type: multipart/related; boundary=b; type=\"text/xml\"; start=\"<root@x>\"\r\n\r\n--b\r\nContent-ID: <part@x>\r\n\r\n\r\n--b\r\n\
         Content-Type: text/xml\r\nContent-ID: <root@x>\r\n\r\n{MESSAGE}\r\n--b--\r\n"
    )
}

fn look(source: impl AsRef<[u8]>) -> Result<Report, LintError> {
    let profiles = Profiles::of(Profile::Bp11).with(Profile::Swa);
    lint(source.as_ref().to_vec(), &Choice::Of(profiles), &|_| None)
}

fn places(report: &Report) -> Vec<(&'static str, u32, u32)> {
    let findings = report.findings.iter();
    findings
        .map(|one| (one.rule.id, one.line, one.column))
        .collect()
}

fn refused(source: impl AsRef<[u8]>) -> PackageError {
    match look(source) {
        Err(LintError::Package(error)) => error,
        other => panic!("expected a package that is refused, found {other:?}"),
    }
}

/// The package with something replaced, refused.
fn refused_with(from: &str, to: &str) -> PackageError {
    let package = package();
    assert!(package.contains(from), "{from}");
    refused(package.replacen(from, to, 1))
}

#[test]
fn places_are_those_of_the_file() {
    let report = look(package()).expect("a package");
    assert_eq!(report.subject, Subject::Package);
    assert_eq!(places(&report), [("R1014", 12, 10)]);
    let around = package().replacen("\r\n\r\n--b", "\r\n\r\n\r\nx\r\n--b", 1);
    let around = look(around).expect("a package");
    assert_eq!(
        places(&around),
        [("swa-outside-parts", 4, 1), ("R1014", 14, 10)]
    );
    let behind = look(package() + "\r\nx").expect("a package");
    assert_eq!(places(&behind)[1], ("swa-outside-parts", 15, 1));
    let of_part = package().replacen("<part@x>", "part@x", 1);
    let report = look(of_part).expect("a package");
    assert_eq!(
        places(&report),
        [("swa-content-id", 4, 1), ("R1014", 12, 10)]
    );
    let no_xml = package().replacen("<a/>", "<a>", 1);
    let error = look(no_xml).expect_err("no XML").to_string();
    assert!(error.contains("line 12"), "{error}");
}

#[test]
fn a_line_that_begins_like_a_boundary_is_refused() {
    let with = |content: &str| {
        let with = format!("\r\n\r\nx{content}\r\n--b");
        package().replacen("\r\n\r\n\r\n--b", &with, 1)
    };
    let delimiter = |line| PackageError::Delimiter {
        line,
        boundary: "b".to_owned(),
    };
    // RFC 2046, 5.1.1, has readers compare beginnings of lines, and many take an LF for a line end.
    for (content, line) in [
        ("\r\n--bb", 7),
        ("\r\n--b-", 7),
        ("\r\n--b--x", 7),
        ("\r\n--b\rx", 7),
        ("\r\n--b\n", 7),
        ("\n--b\n", 7),
        ("\n--b--\r\n", 7),
        ("\n--b: 1", 7),
        ("\r--b\r", 6),
    ] {
        assert_eq!(refused(with(content)), delimiter(line), "{content:?}");
        let before = package().replacen("\r\n\r\n--b", &format!("\r\n\r\nx{content}\r\n--b"), 1);
        assert!(
            matches!(refused(before), PackageError::Delimiter { .. }),
            "{content:?}"
        );
    }
    // In a header, where it is the name of a field.
    assert_eq!(
        refused_with("Content-ID: <root@x>", "--bb: x\r\nContent-ID: <root@x>"),
        delimiter(9)
    );
    assert_eq!(refused_with("Content-ID: <part@x>", "--b: x"), delimiter(4));
    // Behind the last line some readers go on.
    assert_eq!(refused(package() + "--b\r\n"), delimiter(14));
    assert_eq!(refused(package() + "x\n--b--"), delimiter(15));
    // A CR in front of the LF is content for some, and a part of the line end for others.
    let unix = with("")
        .replace("\r\n", "\n")
        .replacen("x\n--b", "x\r\n--b", 1);
    assert_eq!(refused(unix), delimiter(7));
    for content in ["--b--", "\r\n --b", "\r\n-b", "\r\n--c"] {
        let report = look(with(content)).unwrap_or_else(|error| panic!("{content:?}: {error}"));
        let rules: Vec<&str> = places(&report).iter().map(|place| place.0).collect();
        assert_eq!(rules, ["R1014"], "{content:?}");
    }
    // White space behind a boundary belongs to its line (RFC 2046, 5.1.1).
    let spaced = package().replace("--b\r\n", "--b \t\r\n");
    assert_eq!(places(&look(spaced).expect("a package")).len(), 1);
}

#[test]
fn lines_end_in_one_way() {
    let unix = package().replace("\r\n", "\n");
    assert_eq!(places(&look(unix).expect("a package")), [("R1014", 12, 10)]);
    let mixed = refused_with("--b\r\nContent-Type", "--b\r\nX: 1\nContent-Type");
    assert_eq!(mixed, PackageError::LineEnd { line: 8 });
    let mixed = package().replace("\r\n", "\n");
    let mixed = refused(mixed.replacen("--b\nContent-Type", "--b\nX: 1\r\nContent-Type", 1));
    assert_eq!(mixed, PackageError::LineEnd { line: 8 });
}

#[test]
fn headers_are_read_strictly() {
    let no_field = |line, found: &str| PackageError::NoField {
        line,
        found: found.to_owned(),
    };
    let id = "Content-ID: <root@x>";
    assert_eq!(refused_with(id, "no field"), no_field(9, "no field"));
    assert_eq!(refused_with(id, ": <root@x>"), no_field(9, ": <root@x>"));
    assert_eq!(
        refused_with(id, "Content-ID : <root@x>"),
        no_field(9, "Content-ID : <root@x>")
    );
    assert_eq!(
        refused_with("Content-Type: text/xml\r\n", " text/xml\r\n"),
        no_field(8, " text/xml")
    );
    assert_eq!(
        refused_with(id, "Content-ID: <ro\u{1}ot@x>"),
        no_field(9, "Content-ID: <ro\u{1}ot@x>")
    );
    for (field, name) in [
        ("content-id: <root@x>", "Content-ID"),
        ("content-type: text/plain", "Content-Type"),
    ] {
        let repeated = refused_with(id, &format!("{id}\r\n{field}"));
        assert_eq!(repeated, PackageError::Repeated { line: 10, name });
    }
    let endless = refused_with(id, &format!("X: {}", "x".repeat(70_000)));
    assert_eq!(endless, PackageError::HeaderEnd { line: 8 });
    let many = "X: 1\r\n".repeat(128);
    assert_eq!(
        refused_with(id, &many),
        PackageError::TooMany {
            what: "fields of a header",
            limit: 128
        }
    );
    assert_eq!(
        refused("Content-Type: text/xml"),
        PackageError::HeaderEnd { line: 1 }
    );
    assert_eq!(
        refused("MIME-Version: 1.0\r\n\r\n"),
        PackageError::NoContentType
    );
}

#[test]
fn a_value_that_goes_on_in_the_next_line_is_one_value() {
    let folded = package().replacen(" type=", "\r\n\ttype=", 1);
    assert_eq!(
        places(&look(folded).expect("a package")),
        [("R1014", 13, 10)]
    );
}

#[test]
fn other_types_are_no_messages() {
    let of_type = |found: &str| PackageError::ContentType {
        line: 1,
        found: found.to_owned(),
    };
    for found in [
        "multipart/mixed; boundary=b",
        "image/png",
        "text",
        "multipart/related; a=b c",
    ] {
        let source = format!("Content-Type: {found}\r\n\r\n--b\r\n\r\nx\r\n--b--\r\n");
        assert_eq!(refused(source), of_type(found));
    }
}

#[test]
fn a_boundary_is_there_and_has_its_form() {
    let long = "b".repeat(71);
    for parameter in [
        "",
        " boundary=\"\";",
        " boundary=\"b \";",
        " boundary=\"b#\";",
        &format!(" boundary={long};"),
    ] {
        let refused = refused_with(" boundary=b;", parameter);
        assert_eq!(refused, PackageError::Boundary { line: 1 }, "{parameter}");
    }
}

#[test]
fn a_package_that_was_cut_is_refused() {
    let unclosed = PackageError::Unclosed {
        boundary: "b".to_owned(),
    };
    assert_eq!(refused_with("--b--\r\n", ""), unclosed);
    assert_eq!(
        refused_with("--b--", "--b"),
        PackageError::HeaderEnd { line: 14 }
    );
    // The last line needs no line end.
    assert!(look(package().trim_end()).is_ok());
    let empty = "Content-Type: multipart/related; boundary=b\r\n\r\n--b--\r\n";
    assert_eq!(refused(empty), PackageError::NoParts);
}

#[test]
fn the_message_is_the_one_part_that_start_names() {
    let start = |parts| PackageError::Start {
        named: "<root@x>".to_owned(),
        parts,
    };
    assert_eq!(
        refused_with("Content-ID: <root@x>", "Content-ID: <other@x>"),
        start(0)
    );
    assert_eq!(
        refused_with("Content-ID: <part@x>", "Content-ID: <root@x>"),
        start(2)
    );
    // Without it the message is the first part.
    let first = package().replacen("; start=\"<root@x>\"", "", 1);
    assert!(matches!(look(first), Err(LintError::NotXml(_))));
    assert_eq!(
        refused_with(
            "Content-ID: <root@x>",
            "Content-ID: <root@x>\r\nContent-Transfer-Encoding: base64"
        ),
        PackageError::RootEncoded {
            line: 10,
            found: "base64".to_owned()
        }
    );
}

#[test]
fn the_number_of_parts_is_bounded() {
    let many = |count| {
        let parts = "--b\r\n\r\n\r\n".repeat(count);
        package().replacen("--b\r\n", &format!("{parts}--b\r\n"), 1)
    };
    assert!(look(many(254)).is_ok());
    assert_eq!(
        refused(many(255)),
        PackageError::TooMany {
            what: "parts",
            limit: 256
        }
    );
}

#[test]
fn a_recorded_request_and_a_recorded_answer_are_read() {
    let length = MESSAGE.len();
    for first in ["POST /shop HTTP/1.1", "HTTP/1.1 200 OK", "HTTP/1.0 500 "] {
        let http = format!(
            "{first}\r\nHost: x\r\nContent-Type: text/xml; charset=utf-8\r\nContent-Length: {length}\r\n\r\n{MESSAGE}"
        );
        let report = look(http).unwrap_or_else(|error| panic!("{first}: {error}"));
        assert_eq!(report.subject, Subject::Envelope);
        assert_eq!(places(&report), [("R1014", 7, 10)]);
    }
    let package = package();
    let http = format!("POST / HTTP/1.1\r\n{package}");
    assert_eq!(places(&look(http).expect("a package")), [("R1014", 13, 10)]);
    for none in [
        "post / HTTP/1.1",
        "POST / HTTP/2",
        "POST  HTTP/1.1",
        "GET / HTTP/1.1 x",
        "HTTP/1.1 20 x",
    ] {
        let error = look(format!("{none}\r\nContent-Type: text/xml\r\n\r\n{MESSAGE}"));
        assert!(matches!(error, Err(LintError::NotXml(_))), "{none}");
    }
}

#[test]
fn a_body_of_http_is_whole_and_as_it_is() {
    let with = |field: &str| {
        refused(format!(
            "POST / HTTP/1.1\r\nContent-Type: text/xml\r\n{field}\r\n\r\n{MESSAGE}"
        ))
    };
    let found = MESSAGE.len();
    for said in [
        (found - 1).to_string(),
        (found + 1).to_string(),
        "x".to_owned(),
        format!("+{found}"),
        format!("{found}, {found}"),
        String::new(),
    ] {
        let expected = PackageError::Length {
            said: said.clone(),
            found,
        };
        assert_eq!(with(&format!("Content-Length: {said}")), expected);
    }
    for (name, found) in [
        ("Transfer-Encoding", "chunked"),
        ("Content-Encoding", "gzip"),
    ] {
        let expected = PackageError::HttpEncoded {
            name,
            found: found.to_owned(),
        };
        assert_eq!(with(&format!("{name}: {found}")), expected);
    }
}

#[test]
fn a_body_without_its_request_is_whole_as_well() {
    let length = |bytes: usize| {
        format!(
            "Content-Type: text/xml\r\nContent-Length: {bytes}\r\nTransfer-Encoding: identity\r\n\r\n{MESSAGE}"
        )
    };
    assert!(look(length(MESSAGE.len())).is_ok());
    assert!(matches!(refused(length(5)), PackageError::Length { .. }));
}

#[test]
fn the_bytes_of_a_package_are_bounded() {
    let mut source = b"Content-Type: application/soap+xml\r\n\r\n".to_vec();
    source.resize(soapstone_lint::LARGEST_PACKAGE, b' ');
    // The message is beyond the limit of the parser, and the package is not beyond its own.
    assert!(matches!(look(&source), Err(LintError::NotXml(_))));
    source.push(b' ');
    let limit = soapstone_lint::LARGEST_PACKAGE;
    assert_eq!(
        refused(&source),
        PackageError::TooMany {
            what: "bytes",
            limit
        }
    );
}

/// Whatever is cut or changed, there is an answer.
#[test]
fn broken_packages_do_not_panic() {
    let package = package().into_bytes();
    for end in 0..package.len() {
        let _ = look(&package[..end]);
    }
    for place in 0..package.len() {
        for byte in [0, b'\r', b'\n', b'-', b'"', b';', b':', 0xff] {
            let mut changed = package.clone();
            changed[place] = byte;
            let _ = look(changed);
        }
    }
}
