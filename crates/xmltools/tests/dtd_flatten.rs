//! What a DTD does to a document, and what it is not allowed to do.

use soapstone_xml::{Limits, Problem};
use soapstone_xmltools::dtd::{DeclaredId, DtdError, Flattened, Place, flatten};

fn flat(source: &str) -> Result<Flattened, DtdError> {
    flatten(source.as_bytes(), &Limits::default(), &mut |_| None)
}

fn text(source: &str) -> String {
    String::from_utf8(flat(source).unwrap().document).unwrap()
}

fn with_files(source: &str, files: &[(&str, &str)]) -> Result<String, DtdError> {
    let mut resolve = |system_id: &str| {
        files
            .iter()
            .find(|(name, _)| *name == system_id)
            .map(|(_, content)| content.as_bytes().to_vec())
    };
    let flattened = flatten(source.as_bytes(), &Limits::default(), &mut resolve)?;
    Ok(String::from_utf8(flattened.document).unwrap())
}

fn in_document(line: u32, column: u32) -> Place {
    Place {
        entity: String::new(),
        line,
        column,
    }
}

#[test]
fn a_document_without_dtd_stays_as_it_is_but_for_its_declaration() {
    let source = "<?xml version='1.0' encoding='UTF-8'?>\n<a b = 'x &amp; &#10; y'><![CDATA[<&]]><!-- & --><?p & ?>&lt;</a>\n";
    assert_eq!(
        text(source),
        "\n<a b = 'x &amp; &#10; y'><![CDATA[<&]]><!-- & --><?p & ?>&lt;</a>\n"
    );
}

#[test]
fn internal_entities_expand_in_content_and_attributes() {
    let source = "<!DOCTYPE a [<!ENTITY b 'one <i>&c;</i>'><!ENTITY c 'two'><!ENTITY d '\"&c;\"'>]><a x='&d;'>&b;&c;</a>";
    assert_eq!(
        text(source),
        "<a x=\"&quot;two&quot;\">one <i>two</i>two</a>"
    );
}

#[test]
fn the_example_of_xml_appendix_d_expands_as_the_specification_says() {
    let source = "<!DOCTYPE r [<!ENTITY example \"<p>An ampersand (&#38;#38;) may be escaped\nnumerically (&#38;#38;#38;) or with a general entity\n(&amp;amp;).</p>\" >]><r>&example;</r>";
    assert_eq!(
        text(source),
        "<r><p>An ampersand (&#38;) may be escaped\nnumerically (&#38;#38;) or with a general entity\n(&amp;amp;).</p></r>"
    );
}

#[test]
fn the_tricky_example_of_xml_appendix_d_declares_an_entity_through_parameter_entities() {
    let source = "<?xml version='1.0'?>\n<!DOCTYPE test [\n<!ELEMENT test (#PCDATA) >\n<!ENTITY % xx '&#37;zz;'>\n\
        <!ENTITY % zz '&#60;!ENTITY tricky \"error-prone\" >' >\n%xx;\n]>\n<test>This sample shows a &tricky; method.</test>";
    assert_eq!(
        text(source).trim(),
        "<test>This sample shows a error-prone method.</test>"
    );
}

#[test]
fn a_character_reference_in_an_entity_value_becomes_the_character_before_it_is_parsed() {
    assert_eq!(
        text("<!DOCTYPE a [<!ENTITY b '&#60;c/>'>]><a>&b;</a>"),
        "<a><c/></a>"
    );
    assert_eq!(
        text("<!DOCTYPE a [<!ENTITY b '&#38;#60;c/>'>]><a>&b;</a>"),
        "<a>&#60;c/></a>"
    );
}

#[test]
fn a_carriage_return_from_a_reference_is_not_taken_for_a_line_end() {
    let source = "<!DOCTYPE a [<!ENTITY b '1&#13;\r\n2<![CDATA[3&#13;4]]>'>]><a>&b;\r\n</a>";
    assert_eq!(
        text(source),
        "<a>1&#13;\n2<![CDATA[3]]>&#13;<![CDATA[4]]>\n</a>"
    );
}

#[test]
fn a_carriage_return_from_a_reference_is_white_space_in_tags() {
    let source = "<!DOCTYPE r [<!ENTITY e '<a&#13;b=\"c\"&#13;></a&#13;>'>]><r>&e;</r>";
    assert_eq!(text(source), "<r><a b=\"c\" ></a ></r>");
}

#[test]
fn brackets_that_meet_only_through_expansion_do_not_end_a_cdata_section() {
    assert_eq!(
        text("<!DOCTYPE a [<!ENTITY b ']]'>]><a>&b;></a>"),
        "<a>]]&gt;</a>"
    );
    assert_eq!(
        text("<!DOCTYPE a [<!ENTITY b ']>'>]><a>]&b;</a>"),
        "<a>]]&gt;</a>"
    );
}

#[test]
fn attribute_defaults_are_added_and_the_first_declaration_binds() {
    let source = "<!DOCTYPE a [<!ATTLIST b c CDATA 'one' d CDATA #IMPLIED e CDATA #FIXED 'f'><!ATTLIST b c CDATA 'two' g (h|i) 'i'>\
        <!ATTLIST b xmlns CDATA 'urn:x'>]><a><b/><b c=\"own\"></b><b  /></a>";
    assert_eq!(
        text(source),
        "<a><b c=\"one\" e=\"f\" g=\"i\" xmlns=\"urn:x\"/><b c=\"own\" e=\"f\" g=\"i\" xmlns=\"urn:x\"></b>\
         <b c=\"one\" e=\"f\" g=\"i\" xmlns=\"urn:x\"  /></a>"
    );
}

#[test]
fn tokenized_attributes_are_normalized_and_character_data_is_not() {
    let source = "<!DOCTYPE a [<!ATTLIST a i ID #IMPLIED n NMTOKENS #IMPLIED c CDATA #IMPLIED>]>\
        <a i=' &#39;   &#x20;&#13;&#xa;&#9;   &#39; ' n='\n  A   &#x20;&#13;&#9;   B ' c='  A\n B '/>";
    assert_eq!(
        text(source),
        "<a i=\"' &#13;&#10;&#9; '\" n=\"A &#13;&#9; B\" c='  A\n B '/>"
    );
}

#[test]
fn white_space_that_an_entity_brings_into_an_attribute_becomes_a_space() {
    let source = "<!DOCTYPE a [<!ENTITY b '1&#13;&#10;2&#9;3'>]><a c='&b;&#9;'/>";
    assert_eq!(text(source), "<a c=\"1  2 3&#9;\"/>");
}

#[test]
fn attributes_of_type_id_are_reported() {
    let flattened = flat("<!DOCTYPE a [<!ATTLIST x:b c ID #IMPLIED d IDREF #IMPLIED><!ATTLIST e f ID #REQUIRED>]><a/>").unwrap();
    let id = |element: &str, attribute: &str| DeclaredId {
        element: element.into(),
        attribute: attribute.into(),
    };
    assert_eq!(flattened.ids, [id("x:b", "c"), id("e", "f")]);
}

#[test]
fn external_subset_parameter_entities_and_conditional_sections_apply() {
    let files = [
        (
            "dtd/main.dtd",
            "<?xml encoding='UTF-8'?><!ENTITY % draft 'INCLUDE'><!ENTITY % final 'IGNORE'>\
             <![%draft;[<!ATTLIST a b CDATA 'draft'><![ INCLUDE [ <!ENTITY in 'in'> ]]>]]>\
             <![ %final; [<!ATTLIST a b CDATA 'final' c CDATA 'c'><![ INCLUDE [ ]]> junk ]]>\
             <!ENTITY % model '(x | y)*'><!ELEMENT a %model;><!ENTITY % type 'CDATA \"typed\"'><!ATTLIST a t %type;>\
             <!ENTITY % more SYSTEM 'more.mod'>%more;<!ENTITY said 'internal loses'>",
        ),
        (
            "dtd/more.mod",
            "<!ENTITY % word 'word'><!ENTITY quoted '\"%word;\" of %word;s'>",
        ),
    ];
    let source = "<!DOCTYPE a SYSTEM 'dtd/main.dtd' [<!ENTITY said 'internal wins'>]><a>&said; &quoted; &in;</a>";
    assert_eq!(
        with_files(source, &files).unwrap(),
        "<a b=\"draft\" t=\"typed\">internal wins \"word\" of words in</a>"
    );
}

#[test]
fn external_parsed_entities_are_included_with_their_own_encoding() {
    let source = "<!DOCTYPE a [<!ENTITY b SYSTEM 'x/b.ent'><!ENTITY g SYSTEM 'g.gif' NDATA gif><!ATTLIST a p ENTITY #IMPLIED>]><a p='g'>&b;</a>";
    let mut resolve = |system_id: &str| {
        assert_eq!(system_id, "x/b.ent");
        Some(b"<?xml version='1.0' encoding='ISO-8859-1'?>caf\xE9\r\n<i/>".to_vec())
    };
    let flattened = flatten(source.as_bytes(), &Limits::default(), &mut resolve).unwrap();
    assert_eq!(
        String::from_utf8(flattened.document).unwrap(),
        "<a p=\"g\">café\n<i/></a>"
    );
}

#[test]
fn latin_1_and_utf_16_documents_become_utf_8() {
    let latin = flatten(
        b"<?xml version='1.0' encoding='iso-8859-1'?><a>\xE9</a>",
        &Limits::default(),
        &mut |_| None,
    );
    assert_eq!(latin.unwrap().document, "<a>é</a>".as_bytes());
    let wide: Vec<u8> = "\u{FEFF}<?xml version='1.0' encoding='UTF-16'?><a>é😀</a>"
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    assert_eq!(
        flatten(&wide, &Limits::default(), &mut |_| None)
            .unwrap()
            .document,
        "<a>é😀</a>".as_bytes()
    );
    let unknown = flatten(
        b"<?xml version='1.0' encoding='EBCDIC-US'?><a/>",
        &Limits::default(),
        &mut |_| None,
    );
    let problem = Problem::UnsupportedEncoding {
        encoding: "EBCDIC-US".into(),
    };
    assert_eq!(
        unknown,
        Err(DtdError::Encoding {
            entity: String::new(),
            offset: 30,
            problem
        })
    );
}

#[test]
fn nothing_external_is_read_when_the_resolver_has_nothing() {
    let refused = |system_id: &str| {
        Err(DtdError::Unresolved {
            system_id: system_id.into(),
        })
    };
    assert_eq!(
        flat("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>"),
        refused("file:///etc/passwd")
    );
    assert_eq!(
        flat("<!DOCTYPE a [<!ENTITY b SYSTEM '/etc/passwd'>]><a>&b;</a>"),
        refused("/etc/passwd")
    );
    assert_eq!(
        flat("<!DOCTYPE a [<!ENTITY % b SYSTEM 'http://x/'>%b;]><a/>"),
        refused("http://x/")
    );
    // Declared but never referenced: nobody is asked.
    assert_eq!(
        text("<!DOCTYPE a [<!ENTITY b SYSTEM '/etc/passwd'>]><a/>"),
        "<a/>"
    );
}

#[test]
fn a_standalone_document_asks_for_no_external_declarations() {
    let source = "<?xml version='1.0' standalone='yes'?><!DOCTYPE a SYSTEM 'a.dtd' [<!ENTITY % b SYSTEM 'b'>%b;<!ENTITY c 'd'>]><a>&c;</a>";
    assert_eq!(text(source), "<a>d</a>");
}

#[test]
fn an_external_entity_in_an_attribute_value_is_refused() {
    assert_eq!(
        flat("<!DOCTYPE a [<!ENTITY b SYSTEM 'b'>]><a c='&b;'/>"),
        Err(DtdError::Forbidden {
            place: in_document(1, 44),
            reference: "&b;".into(),
            constraint: "No External Entity References"
        })
    );
}

#[test]
fn an_unparsed_entity_in_content_is_refused() {
    assert_eq!(
        flat("<!DOCTYPE a [<!ENTITY b SYSTEM 'b' NDATA c>]><a>&b;</a>"),
        Err(DtdError::Forbidden {
            place: in_document(1, 49),
            reference: "&b;".into(),
            constraint: "Parsed Entity"
        })
    );
}

#[test]
fn an_undeclared_entity_is_refused() {
    assert_eq!(
        flat("<a>\n &b;</a>"),
        Err(DtdError::Undeclared {
            place: in_document(2, 2),
            reference: "&b;".into()
        })
    );
}

#[test]
fn entities_that_reference_themselves_are_refused() {
    let place = |entity: &str, column| Place {
        entity: entity.into(),
        line: 1,
        column,
    };
    assert_eq!(
        flat("<!DOCTYPE a [<!ENTITY b 'x&c;'><!ENTITY c '&b;'>]><a>&b;</a>"),
        Err(DtdError::Recursive {
            place: place("&c;", 1),
            reference: "&b;".into()
        })
    );
    assert_eq!(
        flat("<!DOCTYPE a [<!ENTITY b 'x&c;'><!ENTITY c '&b;'>]><a d='&b;'/>"),
        Err(DtdError::Recursive {
            place: place("&c;", 1),
            reference: "&b;".into()
        })
    );
    assert_eq!(
        flat("<!DOCTYPE a [<!ENTITY % b '&#37;b;'>%b;]><a/>"),
        Err(DtdError::Recursive {
            place: place("%b;", 2),
            reference: "%b;".into()
        })
    );
}

#[test]
fn a_billion_laughs_end_early_in_content_and_in_attributes() {
    let mut declarations = "<!ENTITY l0 'lol'>".to_owned();
    for level in 1..=9 {
        declarations += &format!(
            "<!ENTITY l{level} '{}'>",
            format!("&l{};", level - 1).repeat(10)
        );
    }
    for document in ["<a>&l9;</a>", "<a b='&l9;'/>"] {
        let error = flat(&format!("<!DOCTYPE a [{declarations}]>{document}")).unwrap_err();
        assert!(
            matches!(
                error,
                DtdError::Limit {
                    limit: "entities",
                    maximum: 10_000,
                    ..
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn quadratic_blowup_ends_at_the_replaced_limit() {
    let source = format!(
        "<!DOCTYPE a [<!ENTITY b '{}'>]><a>{}</a>",
        "x".repeat(50_000),
        "&b;".repeat(10_000)
    );
    let error = flat(&source).unwrap_err();
    assert!(
        matches!(
            error,
            DtdError::Limit {
                limit: "expansion",
                maximum: 8_388_608,
                ..
            }
        ),
        "{error}"
    );
    let source = format!(
        "<!DOCTYPE a [<!ATTLIST b c CDATA '{}'>]><a>{}</a>",
        "x".repeat(50_000),
        "<b/>".repeat(10_000)
    );
    let error = flat(&source).unwrap_err();
    assert!(
        matches!(
            error,
            DtdError::Limit {
                limit: "expansion",
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn parameter_entities_cannot_grow_without_bound() {
    let mut external = "<!ENTITY % p0 'xxxxxxxxxx'>".to_owned();
    for level in 1..=9 {
        external += &format!(
            "<!ENTITY % p{level} '{}'>",
            format!("%p{};", level - 1).repeat(10)
        );
    }
    let error = with_files("<!DOCTYPE a SYSTEM 'a'><a/>", &[("a", &external)]).unwrap_err();
    assert!(matches!(error, DtdError::Limit { .. }), "{error}");
}

#[test]
fn deep_chains_of_entities_end_at_the_depth_limit() {
    let mut declarations = "<!ENTITY e0 'x'>".to_owned();
    for level in 1..=100 {
        declarations += &format!("<!ENTITY e{level} '&e{};'>", level - 1);
    }
    for document in ["<a>&e100;</a>", "<a b='&e100;'/>"] {
        let error = flat(&format!("<!DOCTYPE a [{declarations}]>{document}")).unwrap_err();
        assert!(
            matches!(
                error,
                DtdError::Limit {
                    limit: "entity depth",
                    maximum: 32,
                    ..
                }
            ),
            "{error}"
        );
    }
}

#[test]
fn an_entity_must_hold_whole_elements() {
    for (value, at) in [("<b>", 4), ("</b>", 1)] {
        let source = format!("<!DOCTYPE a [<!ENTITY e '{value}'>]><a><b>&e;</b></a>");
        let place = Place {
            entity: "&e;".into(),
            line: 1,
            column: at,
        };
        assert_eq!(flat(&source), Err(DtdError::Unbalanced { place }));
    }
}

#[test]
fn a_declaration_must_end_in_the_entity_where_it_begins() {
    let error = with_files(
        "<!DOCTYPE a SYSTEM 'a'><a/>",
        &[("a", "<!ENTITY % end '>'><!ELEMENT b ANY %end;")],
    )
    .unwrap_err();
    assert!(matches!(error, DtdError::Unbalanced { .. }), "{error}");
}

#[test]
fn a_parameter_entity_inside_a_declaration_of_the_internal_subset_is_refused() {
    let error = flat("<!DOCTYPE a [<!ENTITY % b 'c'><!ENTITY d '%b;'>]><a/>").unwrap_err();
    assert_eq!(
        error,
        DtdError::Forbidden {
            place: in_document(1, 1),
            reference: "%b;".into(),
            constraint: "PEs in Internal Subset"
        }
    );
}

#[test]
fn syntax_errors_say_what_was_expected_and_where() {
    for (source, expected, found, column) in [
        (
            "<!DOCTYPE a [<!ENTITY b c>]><a/>",
            "an entity value",
            "`c>]><a/>`",
            25,
        ),
        (
            "<!DOCTYPE a [<!WHAT>]><a/>",
            "a declaration",
            "`<!WHAT>]><a/>`",
            14,
        ),
        (
            "<!DOCTYPE a [<!ATTLIST b c WHAT 'd'>]><a/>",
            "an attribute type",
            "`WHAT 'd'>]><a/>`",
            28,
        ),
        (
            "<!DOCTYPE a [<!ENTITY b 'c",
            "the closing quote",
            "the end of the entity",
            25,
        ),
        ("<a b=c/>", "a quoted value", "`c/>`", 6),
        (
            "<a>&b</a>",
            "a reference to a character or an entity",
            "`&b</a>`",
            4,
        ),
        ("<a/>&b;", "the root element", "`&b;`", 5),
        ("<a/>&#32;", "the root element", "`&#32;`", 5),
        (
            "<!DOCTYPE a><!DOCTYPE a><a/>",
            "a tag, comment, processing instruction or character data",
            "`<!DOCTYPE a><a/>`",
            13,
        ),
    ] {
        let place = in_document(1, column);
        assert_eq!(
            flat(source),
            Err(DtdError::Syntax {
                place,
                expected,
                found: found.into()
            }),
            "{source}"
        );
    }
}

#[test]
fn what_would_come_first_without_the_dtd_and_mean_something_else_is_refused() {
    for (source, expected, found) in [
        (
            "<!DOCTYPE a><?xml version=\"1.0\"?><a/>",
            "no target `xml` but in a declaration at the very beginning",
            "`<?xml version=\"1`",
        ),
        (
            "<!DOCTYPE a><?XML version=\"1.0\"?><a/>",
            "no target `xml` but in a declaration at the very beginning",
            "`<?XML version=\"1`",
        ),
        (
            "<!DOCTYPE a>\u{feff}<a/>",
            "only markup and white space outside the root element",
            "`\u{feff}<a/>`",
        ),
    ] {
        assert_eq!(
            flat(source),
            Err(DtdError::Syntax {
                place: in_document(1, 13),
                expected,
                found: found.into()
            }),
            "{source}"
        );
    }
    assert_eq!(
        text("<!DOCTYPE a><?xml-stylesheet href=\"b\"?><a/>"),
        "<?xml-stylesheet href=\"b\"?><a/>"
    );
}

#[test]
fn content_models_are_read_over_if_they_are_well_formed() {
    for model in [
        "EMPTY",
        "ANY",
        "(#PCDATA)",
        "( #PCDATA )*",
        "(#PCDATA | b|c)*",
        "(b)",
        "(b,c?,(d|e)+)*",
        "((b))",
        "( ( b , c ) | d )",
    ] {
        assert_eq!(
            text(&format!("<!DOCTYPE a [<!ELEMENT a {model}>]><a/>")),
            "<a/>",
            "{model}"
        );
    }
    let separator = "the separator used before, or `)`";
    for (model, expected, column) in [
        ("b", "a content model", 26),
        ("(b|c,d)", separator, 30),
        ("(b,(c|d)|e)", separator, 34),
        ("()", "the name of an element", 27),
        ("(#PCDATA|b)", "*", 37),
        ("(b|#PCDATA)", "the name of an element", 29),
        ("(b))", ">", 29),
    ] {
        let error = flat(&format!("<!DOCTYPE a [<!ELEMENT a {model}>]><a/>")).unwrap_err();
        let DtdError::Syntax {
            place,
            expected: found,
            ..
        } = error
        else {
            panic!("{error}")
        };
        assert_eq!(
            (found, place),
            (expected, in_document(1, column)),
            "{model}"
        );
    }
}
