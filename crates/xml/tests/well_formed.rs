//! What is accepted and what is refused, with the exact reason and place: XML 1.0 (5th edition) and
//! Namespaces in XML 1.0.

use soapstone_xml::{Buffers, Document, Limit, ParseOptions, Problem};

fn parse(source: &[u8]) -> Result<Document, (usize, Problem)> {
    Document::parse(
        source.to_vec(),
        &ParseOptions::default(),
        &mut Buffers::new(),
    )
    .map_err(|error| (error.position.offset, error.problem))
}

#[track_caller]
fn refused(source: &str, offset: usize, problem: Problem) {
    assert_eq!(
        parse(source.as_bytes()).err(),
        Some((offset, problem)),
        "{source}"
    );
}

#[track_caller]
fn accepted(source: &str) {
    if let Err((offset, problem)) = parse(source.as_bytes()) {
        panic!("{source}: {problem} at {offset}");
    }
}

fn expected(expected: &'static str) -> Problem {
    Problem::Expected { expected }
}

fn ends_inside(inside: &'static str) -> Problem {
    Problem::UnexpectedEnd { inside }
}

#[test]
fn documents_of_all_constructs_are_accepted() {
    accepted("<a/>");
    accepted("\u{FEFF}<?xml version=\"1.0\"?><a/>");
    accepted(
        "<?xml version='1.1' encoding='utf-8' standalone='yes' ?>\r\n<a></a  >\n<!-- c --><?p?>",
    );
    accepted("<a><![CDATA[]]]]><![CDATA[>]]>&lt;&#x10FFFF;<b c='>' d=\"'\"/></a>");
    accepted("<élan xmlns:ñ='urn:n'><ñ:_.-·/></élan>");
    accepted("<a xml:lang='x' xmlns:xml='http://www.w3.org/XML/1998/namespace'/>");
    accepted("<a xmlns='relative/uri' xmlns:p='other' p:x='1' x='2'><p:b xmlns:p='urn:2'/></a>");
    accepted("<a xmlns='urn:1'><b xmlns=''/></a>");
    accepted("<a>]] ></a>");
    accepted("<a b=']]>'/>");
    accepted("<a>\u{D7FF}\u{E000}\u{FFFD}\u{10000}\u{7F}\u{85}</a>");
}

#[test]
fn a_doctype_is_refused_at_its_first_byte() {
    refused(
        "<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
        0,
        Problem::Doctype,
    );
    refused(
        "<?xml version='1.0'?>\n<!DOCTYPE a><a/>",
        22,
        Problem::Doctype,
    );
    refused(
        "<!-- c --><!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>",
        10,
        Problem::Doctype,
    );
    refused("<a><!DOCTYPE a></a>", 3, Problem::Doctype);
    refused("<!DOCTYPE", 0, Problem::Doctype);
}

#[test]
fn only_the_predefined_entities_are_known() {
    let unknown = |name: &str| Problem::UnknownEntity {
        name: name.to_owned(),
    };
    refused("<a>&b;</a>", 3, unknown("b"));
    refused("<a b='&nbsp;'/>", 6, unknown("nbsp"));
    refused("<a>&#0;</a>", 3, Problem::MalformedReference);
    refused("<a>x & y</a>", 5, Problem::MalformedReference);
    refused("<a b='&#xFFFF;'/>", 6, Problem::MalformedReference);
}

#[test]
fn tags_must_match() {
    let mismatched = |expected: &str, found: &str| Problem::MismatchedEndTag {
        expected: expected.to_owned(),
        found: found.to_owned(),
    };
    refused("<a></b>", 3, mismatched("a", "b"));
    refused("<a><b></a></b>", 6, mismatched("b", "a"));
    refused("<a></aa>", 3, mismatched("a", "aa"));
    refused("<aa></a>", 4, mismatched("aa", "a"));
    refused("<a></ a>", 3, mismatched("a", ""));
    refused(
        "<p:a xmlns:p='u' xmlns:q='u'></q:a>",
        29,
        mismatched("p:a", "q:a"),
    );
    refused("<a><b>x</c><b>x</b></a>", 7, mismatched("b", "c"));
    refused("<a><b>x</b><b>x</c></a>", 15, mismatched("b", "c"));
    let long = "a-name-that-is-longer-than-a-key";
    let similar = "a-name-that-as-longer-than-a-key";
    refused(
        &format!("<{long}></{similar}>"),
        34,
        mismatched(long, similar),
    );
    refused(
        &format!("<r><{long}></{long}><{long}></{similar}></r>"),
        3 + 34 + 35 + 34,
        mismatched(long, similar),
    );
    refused("</a>", 0, Problem::UnexpectedEndTag);
    refused("<a/></a>", 4, Problem::UnexpectedEndTag);
    refused("<a></a b>", 7, expected("`>`"));
}

#[test]
fn there_is_one_root_and_nothing_around_it() {
    refused("", 0, Problem::NoElement);
    refused(" \n<!-- c -->", 12, Problem::NoElement);
    refused("<a/><b/>", 4, Problem::SecondElement);
    refused("<a></a><a></a>", 7, Problem::SecondElement);
    refused("x<a/>", 0, Problem::TextOutsideElement);
    refused("<a/>\nx", 5, Problem::TextOutsideElement);
    refused("<a></a>&#32;", 7, Problem::TextOutsideElement);
    refused("<a/><![CDATA[ ]]>", 4, Problem::TextOutsideElement);
    refused("<a/><!-- c -->x", 14, Problem::TextOutsideElement);
    refused("\u{FEFF}\u{FEFF}<a/>", 3, Problem::TextOutsideElement);
}

#[test]
fn everything_must_end() {
    refused("<a>", 3, ends_inside("an element"));
    refused("<a><b></b>", 10, ends_inside("an element"));
    refused("<a", 2, ends_inside("a start tag"));
    refused("<a b", 4, ends_inside("markup"));
    refused("<a b=\"c", 3, ends_inside("an attribute value"));
    refused("<a></a", 6, ends_inside("markup"));
    refused("<a></", 3, ends_inside("an end tag"));
    refused("<a><", 3, ends_inside("markup"));
    refused("<a><!-- c", 3, ends_inside("a comment"));
    refused("<a><![CDATA[ ]]", 3, ends_inside("a CDATA section"));
    refused("<a><?p ?", 3, ends_inside("a processing instruction"));
    refused("<?xml version='1.0'", 0, ends_inside("the XML declaration"));
}

#[test]
fn characters_that_xml_forbids_are_refused_everywhere() {
    for character in [
        '\0', '\u{1}', '\u{8}', '\u{B}', '\u{C}', '\u{E}', '\u{1F}', '\u{FFFE}', '\u{FFFF}',
    ] {
        let illegal = Problem::IllegalCharacter { character };
        refused(&format!("<a>{character}</a>"), 3, illegal.clone());
        refused(
            &format!("<a><b>x</b><b>{character}</b></a>"),
            14,
            illegal.clone(),
        );
        refused(&format!("<a b='{character}'/>"), 6, illegal.clone());
        refused(&format!("<a><!--{character}--></a>"), 7, illegal.clone());
        refused(
            &format!("<a><![CDATA[{character}]]></a>"),
            12,
            illegal.clone(),
        );
        refused(&format!("<a><?p {character}?></a>"), 7, illegal.clone());
        let far = "é".repeat(3000);
        refused(&format!("<a>{far}{character}</a>"), 6003, illegal);
    }
}

#[test]
fn a_name_of_nothing_is_no_long_name_met_before() {
    let long = "a-name-longer-than-16-bytes";
    let source = format!("<r><{long}></{long}><{}></r>", "\0".repeat(40));
    refused(&source, 3 + 2 * long.len() + 5 + 1, Problem::IllegalName);
}

#[test]
fn names_follow_the_productions() {
    for name in [
        "1a", "-a", ".a", ":a", "a:", "a:b:c", "a:1", "a$b", "×", "a\u{37E}", "a;", "a\"b", "a<b",
    ] {
        refused(&format!("<{name}></{name}>"), 1, Problem::IllegalName);
        refused(&format!("<a {name}=''/>"), 3, Problem::IllegalName);
    }
    refused("<>", 1, Problem::IllegalName);
    refused("< a/>", 1, Problem::IllegalName);
    refused("<a ='b'/>", 3, Problem::IllegalName);
    refused("<a><?1?></a>", 5, Problem::IllegalName);
    refused(
        "<a><?p:q:r?></a>",
        6,
        expected("white space after the target"),
    );
}

#[test]
fn attributes_follow_the_grammar() {
    refused("<a b/>", 4, expected("`=`"));
    refused("<a b=c/>", 5, expected("a quoted attribute value"));
    refused("<a b='c'd='e'/>", 8, expected("white space, `/>` or `>`"));
    refused("<a b='<'/>", 6, Problem::LessThanInAttribute);
    refused("<a / >", 4, expected("`>`"));
    let twice = |name: &str| Problem::DuplicateAttribute {
        name: name.to_owned(),
    };
    refused("<a b='1' b='2'/>", 9, twice("b"));
    refused("<a c='1' b='2' a='3' b='4'/>", 21, twice("b"));
    refused(
        "<a xmlns:p='u' xmlns:q='u' p:b='1' q:b='2'/>",
        35,
        twice("q:b"),
    );
    refused("<a xmlns='u' xmlns='u'/>", 13, twice("xmlns"));
    refused("<a xmlns:p='u' xmlns:p='v'/>", 15, twice("xmlns:p"));
    accepted("<a xmlns='u' xmlns:p='u' p:b='1' b='2'/>");
}

#[test]
fn namespaces_follow_their_constraints() {
    let undeclared = |prefix: &str| Problem::UndeclaredPrefix {
        prefix: prefix.to_owned(),
    };
    let reserved = |prefix: &str| Problem::ReservedNamespace {
        prefix: prefix.to_owned(),
    };
    refused("<p:a/>", 1, undeclared("p"));
    refused("<a p:b=''/>", 3, undeclared("p"));
    refused(
        "<a><b xmlns:p='u'><p:c/></b><p:c/></a>",
        29,
        undeclared("p"),
    );
    refused("<xmlns:a/>", 1, undeclared("xmlns"));
    refused(
        "<a xmlns:p=''/>",
        3,
        Problem::UndeclaringPrefix { prefix: "p".into() },
    );
    refused("<a xmlns:xmlns='urn:x'/>", 3, reserved("xmlns"));
    refused("<a xmlns:xml='urn:x'/>", 3, reserved("xml"));
    refused(
        "<a xmlns:p='http://www.w3.org/XML/1998/namespace'/>",
        3,
        reserved("p"),
    );
    refused(
        "<a xmlns='http://www.w3.org/XML/1998/namespace'/>",
        3,
        reserved(""),
    );
    refused(
        "<a xmlns='http://www.w3.org/2000/xmlns/'/>",
        3,
        reserved(""),
    );
    // The value counts, however it is written.
    refused(
        "<a xmlns:p='&#104;ttp://www.w3.org/2000/xmlns/'/>",
        3,
        reserved("p"),
    );
}

#[test]
fn comments_and_instructions_follow_the_grammar() {
    refused("<a><!-- -- --></a>", 8, Problem::DoubleHyphenInComment);
    refused("<a><!-- ---></a>", 8, Problem::DoubleHyphenInComment);
    refused("<a><!x></a>", 5, expected("a comment or a CDATA section"));
    refused(
        "<a><![cdata[]]></a>",
        5,
        expected("a comment or a CDATA section"),
    );
    refused("<a><?xml version='1.0'?></a>", 3, Problem::ReservedTarget);
    refused("<a><?XmL?></a>", 3, Problem::ReservedTarget);
    refused(" <?xml version='1.0'?><a/>", 1, Problem::ReservedTarget);
    accepted("<a><?xml-stylesheet ?></a>");
}

#[test]
fn the_xml_declaration_follows_the_grammar() {
    refused("<?xml?><a/>", 0, Problem::ReservedTarget);
    refused("<?xml ?><a/>", 5, expected("`version`"));
    refused(
        "<?xml version='2.0'?><a/>",
        0,
        Problem::UnsupportedVersion {
            version: "2.0".into(),
        },
    );
    refused(
        "<?xml version='1.'?><a/>",
        0,
        Problem::UnsupportedVersion {
            version: "1.".into(),
        },
    );
    refused(
        "<?xml version='1.0' standalone='maybe'?><a/>",
        38,
        expected("`yes` or `no`"),
    );
    refused(
        "<?xml version='1.0'encoding='UTF-8'?><a/>",
        19,
        expected("white space"),
    );
    refused(
        "<?xml version='1.0' standalone='no' encoding='UTF-8'?><a/>",
        36,
        expected("`?>`"),
    );
    refused("<?xml version='1.0' x='y'?><a/>", 20, expected("`?>`"));
}

#[test]
fn the_end_of_a_cdata_section_is_refused_in_text() {
    refused("<a>]]></a>", 3, Problem::CdataEndInText);
    refused("<a><b>x</b><b>]]></b></a>", 14, Problem::CdataEndInText);
    refused("<a><![CDATA[x]]>]]></a>", 16, Problem::CdataEndInText);
    accepted("<a><![CDATA[x]]>></a>");
    accepted("<a>]]&gt;</a>");
}

#[test]
fn malformed_utf_8_is_refused_with_its_offset() {
    let problem = Problem::MalformedEncoding { encoding: "UTF-8" };
    assert_eq!(parse(b"<a>\xFF</a>").err(), Some((3, problem.clone())));
    assert_eq!(parse(b"<a>\xC3</a>").err(), Some((3, problem)));
}

#[test]
fn errors_tell_line_and_column() {
    let source = "<a>\r\n  <é>\r<b></c>";
    let error =
        Document::parse(source.into(), &ParseOptions::default(), &mut Buffers::new()).unwrap_err();
    assert_eq!((error.position.line, error.position.column), (3, 4));
    assert_eq!(
        error.to_string(),
        "expected end tag `b`, found `c` (at line 3 column 4)"
    );
}

#[test]
fn each_limit_is_kept() {
    let limited = |source: &str, change: fn(&mut soapstone_xml::Limits)| {
        let mut options = ParseOptions::default();
        change(&mut options.limits);
        let parsed = Document::parse(source.into(), &options, &mut Buffers::new());
        parsed.err().map(|error| error.problem)
    };
    let too_many = |limit, allowed| Some(Problem::TooMany { limit, allowed });
    let depth = |limits: &mut soapstone_xml::Limits| limits.depth = 3;
    assert_eq!(limited("<a><b><c></c><c/></b></a>", depth), None);
    assert_eq!(
        limited("<a><b><c><d/></c></b></a>", depth),
        too_many(Limit::Depth, 3)
    );
    // In the fast path too.
    let deep = "<a><b><c></c><c></c></b><b><c><c></c></c></b></a>";
    assert_eq!(limited(deep, depth), too_many(Limit::Depth, 3));
    let attributes = |limits: &mut soapstone_xml::Limits| limits.attributes = 2;
    assert_eq!(limited("<a b='' c=''/>", attributes), None);
    assert_eq!(
        limited("<a b='' c='' xmlns=''/>", attributes),
        too_many(Limit::Attributes, 2)
    );
    assert_eq!(
        limited("<a>  </a>", |limits| limits.message = 8),
        too_many(Limit::Message, 8)
    );
    let elements = |limits: &mut soapstone_xml::Limits| limits.elements = 3;
    assert_eq!(limited("<a><b>x</b><b>x</b></a>", elements), None);
    assert_eq!(
        limited("<a><b>x</b><b>x</b><b>x</b></a>", elements),
        too_many(Limit::Elements, 3)
    );
    assert_eq!(
        limited("<a><b/><b/><b/></a>", elements),
        too_many(Limit::Elements, 3)
    );
    let ids = |limits: &mut soapstone_xml::Limits| limits.ids = 1;
    assert_eq!(
        limited("<a xml:id='x'><b xml:id='y'/></a>", ids),
        too_many(Limit::Ids, 1)
    );
    let name = |limits: &mut soapstone_xml::Limits| limits.name = 4;
    assert_eq!(limited("<abcd/>", name), None);
    assert_eq!(limited("<abcde/>", name), too_many(Limit::Name, 4));
    assert_eq!(limited("<a bcdef=''/>", name), too_many(Limit::Name, 4));
    let names = |limits: &mut soapstone_xml::Limits| limits.names = 2;
    assert_eq!(limited("<a b=''/>", names), None);
    assert_eq!(limited("<a b='' c=''/>", names), too_many(Limit::Names, 2));
    let namespaces = |limits: &mut soapstone_xml::Limits| limits.namespaces = 2;
    assert_eq!(limited("<a xmlns:p='1' xmlns:q='2'/>", namespaces), None);
    assert_eq!(
        limited("<a xmlns:p='1' xmlns:q='2' xmlns:r='1'/>", namespaces),
        too_many(Limit::Namespaces, 2)
    );
}
