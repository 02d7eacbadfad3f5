//! Canonical forms by hand: one rule of the specification each.

use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, Graft, NodeId,
    ParseOptions, canonicalize, canonicalize_each,
};

use Canonicalization::{
    Exclusive, ExclusiveWithComments, Inclusive10, Inclusive10WithComments, Inclusive11,
};

fn parse(source: &str) -> Document {
    Document::parse(source.into(), &ParseOptions::default(), &mut Buffers::new()).unwrap()
}

/// The canonical form, with runs and without.
fn octets(document: &Document, apex: Apex, options: &C14nOptions<'_>) -> String {
    let mut scratch = C14nScratch::default();
    let mut forms = [true, false].map(|canonical_runs| {
        let mut octets = Vec::new();
        let options = C14nOptions {
            canonical_runs,
            ..*options
        };
        canonicalize(document, apex, &options, &mut scratch, &mut octets).unwrap();
        String::from_utf8(octets).unwrap()
    });
    assert_eq!(forms[0], forms[1], "runs change nothing");
    std::mem::take(&mut forms[0])
}

fn whole(source: &str, method: Canonicalization) -> String {
    octets(&parse(source), Apex::Document, &C14nOptions::new(method))
}

/// The canonical form of the element with the attribute `xml:id="x"`.
fn subtree(source: &str, method: Canonicalization) -> String {
    let document = parse(source);
    let x = document.by_id("x").unwrap().unwrap();
    octets(&document, Apex::Element(x), &C14nOptions::new(method))
}

#[test]
fn what_is_canonical_stays_as_it_is() {
    let source = "<a xmlns=\"urn:a\" x=\"1\" y=\"2\"><b>text &amp; &lt; &gt; &#xD;</b><c></c></a>";
    for method in Canonicalization::ALL {
        assert_eq!(whole(source, method), source);
    }
}

#[test]
fn tags_are_rewritten() {
    let source = "<?xml version='1.0'?>\n<a  y='2'\nx = \"1\" ><b/><c  /><d></d ></a\n>\n";
    let expected = "<a x=\"1\" y=\"2\"><b></b><c></c><d></d></a>";
    assert_eq!(whole(source, Exclusive), expected);
    assert_eq!(whole(source, Inclusive10), expected);
}

#[test]
fn line_ends_and_white_space_are_normalized() {
    let source = "<a x=\"1\r\n2\t3\r4\n5&#xD;&#xA;&#9;\">a\r\nb\rc\nd&#xD;<![CDATA[\r\n<&>]]></a>";
    let expected = "<a x=\"1 2 3 4 5&#xD;&#xA;&#x9;\">a\nb\nc\nd&#xD;\n&lt;&amp;&gt;</a>";
    assert_eq!(whole(source, Exclusive), expected);
}

#[test]
fn characters_are_written_as_themselves() {
    let source = "<a x='\"&apos;>&gt;&#x1F600;é'>&#233;&#x1F600;\"&quot;'&apos;></a>";
    let expected = "<a x=\"&quot;'>>😀é\">é😀\"\"''&gt;</a>";
    assert_eq!(whole(source, Exclusive), expected);
}

#[test]
fn attributes_are_ordered_by_namespace_and_local_name() {
    let source =
        "<a xmlns:b=\"urn:2\" xmlns:a=\"urn:3\" a:x=\"1\" b:z=\"2\" b:y=\"3\" z=\"4\" y=\"5\"/>";
    let expected =
        "<a xmlns:a=\"urn:3\" xmlns:b=\"urn:2\" y=\"5\" z=\"4\" b:y=\"3\" b:z=\"2\" a:x=\"1\"></a>";
    assert_eq!(whole(source, Inclusive10), expected);
    assert_eq!(whole(source, Exclusive), expected);
}

#[test]
fn comments_are_kept_only_when_asked_for() {
    let source = "<!--1\r\n--><?p  d ?><a>x<!--2-->y<?q?></a><!--3--><?r d?>";
    assert_eq!(
        whole(source, Exclusive),
        "<?p d ?>\n<a>xy<?q?></a>\n<?r d?>"
    );
    assert_eq!(
        whole(source, ExclusiveWithComments),
        "<!--1\n-->\n<?p d ?>\n<a>x<!--2-->y<?q?></a>\n<!--3-->\n<?r d?>"
    );
}

#[test]
fn instructions_behind_a_canonical_root_start_on_a_new_line() {
    assert_eq!(whole("<a>x</a>\n\n<?p d?>", Exclusive), "<a>x</a>\n<?p d?>");
    assert_eq!(
        whole("<a></a><!--c--><?p?>", ExclusiveWithComments),
        "<a></a>\n<!--c-->\n<?p?>"
    );
}

#[test]
fn exclusive_declares_what_is_used_where_it_is_used() {
    let source = "<a:r xmlns:a=\"urn:a\" xmlns:b=\"urn:b\" xmlns:c=\"urn:c\" xmlns=\"urn:d\" xml:id=\"x\"><b:s c:t=\"1\"><b:u></b:u></b:s><b:s></b:s><v></v><w xmlns=\"\"><y></y></w></a:r>";
    let expected = "<a:r xmlns:a=\"urn:a\" xml:id=\"x\"><b:s xmlns:b=\"urn:b\" xmlns:c=\"urn:c\" c:t=\"1\"><b:u></b:u></b:s><b:s xmlns:b=\"urn:b\"></b:s><v xmlns=\"urn:d\"></v><w><y></y></w></a:r>";
    assert_eq!(whole(source, Exclusive), expected);
    assert_eq!(subtree(source, Exclusive), expected);
}

#[test]
fn exclusive_undeclares_the_default_namespace_only_below_a_rendered_one() {
    let source =
        "<r xmlns=\"urn:a\" xml:id=\"x\"><s xmlns=\"\"><t xmlns=\"\"/><u xmlns=\"urn:a\"/></s></r>";
    let expected =
        "<r xmlns=\"urn:a\" xml:id=\"x\"><s xmlns=\"\"><t></t><u xmlns=\"urn:a\"></u></s></r>";
    assert_eq!(subtree(source, Exclusive), expected);
    assert_eq!(subtree(source, Inclusive10), expected);
}

#[test]
fn redundant_declarations_vanish_and_rebound_prefixes_do_not() {
    let source = "<p:r xmlns:p=\"urn:1\"><p:s xmlns:p=\"urn:1\"><p:t xmlns:p=\"urn:2\"><p:u></p:u></p:t><p:u></p:u></p:s></p:r>";
    let expected = "<p:r xmlns:p=\"urn:1\"><p:s><p:t xmlns:p=\"urn:2\"><p:u></p:u></p:t><p:u></p:u></p:s></p:r>";
    for method in [Exclusive, Inclusive10, Inclusive11] {
        assert_eq!(whole(source, method), expected);
    }
}

#[test]
fn inclusive_apex_declares_everything_in_scope() {
    let source = "<a xmlns=\"urn:d\" xmlns:p=\"urn:p\" xmlns:q=\"urn:q\"><b xmlns:q=\"urn:q2\"><c xml:id=\"x\"><d></d></c></b></a>";
    let expected =
        "<c xmlns=\"urn:d\" xmlns:p=\"urn:p\" xmlns:q=\"urn:q2\" xml:id=\"x\"><d></d></c>";
    assert_eq!(subtree(source, Inclusive10), expected);
}

#[test]
fn inclusive_apex_inherits_xml_attributes() {
    let source = "<a xml:lang=\"en\" xml:space=\"preserve\" xml:id=\"i\"><b xml:lang=\"de\"><c xml:id=\"x\"><d></d></c></b></a>";
    let expected = "<c xml:id=\"x\" xml:lang=\"de\" xml:space=\"preserve\"><d></d></c>";
    assert_eq!(subtree(source, Inclusive10), expected);
    assert_eq!(subtree(source, Inclusive11), expected);
    assert_eq!(subtree(source, Exclusive), "<c xml:id=\"x\"><d></d></c>");
    let source = "<a xml:id=\"i\"><b wsu:Id=\"x\" xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\"></b></a>";
    assert!(subtree(source, Inclusive10).contains("xml:id"));
    assert!(!subtree(source, Inclusive11).contains("xml:id"));
}

#[test]
fn inclusive_apex_keeps_to_its_own_xml_attributes_where_it_is_asked_to() {
    let document = parse(
        "<a xmlns:p=\"urn:p\" xml:base=\"http://a/\" xml:lang=\"en\"><b xml:base=\"b\"><p:c/></b></a>",
    );
    let b = document.root().first_child().unwrap().id();
    for method in [Inclusive10, Inclusive11] {
        let options = C14nOptions {
            inherited_attributes: false,
            ..C14nOptions::new(method)
        };
        assert_eq!(
            octets(&document, Apex::Element(b), &options),
            "<b xmlns:p=\"urn:p\" xml:base=\"b\"><p:c></p:c></b>"
        );
    }
}

#[test]
fn canonical_forms_one_behind_the_other_are_what_each_is_alone() {
    let document = parse(
        "<r xmlns='urn:r' xmlns:p='urn:p' xml:lang='en' xml:b='1'><s xml:lang='de' p:c='2'><a/><b xml:lang='' d='3'><c/></b></s><t xml:b='4'><a/>\
         <p:b>5</p:b></t><a/></r>",
    );
    let nodes: Vec<NodeId> = document.root().descendants().map(|one| one.id()).collect();
    for method in Canonicalization::ALL {
        let options = C14nOptions::new(method);
        let mut scratch = C14nScratch::default();
        let mut together = Vec::new();
        canonicalize_each(&document, &nodes, &options, &mut scratch, &mut together).unwrap();
        let alone = nodes
            .iter()
            .map(|node| octets(&document, Apex::Element(*node), &options));
        let alone: String = alone.collect();
        assert_eq!(String::from_utf8(together).unwrap(), alone, "{method:?}");
    }
    let options = C14nOptions::new(Inclusive10);
    let inner = document.root().first_child().unwrap().first_child();
    assert_eq!(
        octets(&document, Apex::Element(inner.unwrap().id()), &options),
        "<a xmlns=\"urn:r\" xmlns:p=\"urn:p\" xml:b=\"1\" xml:lang=\"de\"></a>"
    );
}

#[test]
fn listed_prefixes_are_treated_inclusively() {
    let source = "<a xmlns=\"urn:d\" xmlns:p=\"urn:p\" xmlns:q=\"urn:q\"><q:b xml:id=\"x\"><q:c xmlns:p=\"urn:p2\" xmlns=\"\"></q:c></q:b></a>";
    let document = parse(source);
    let x = document.by_id("x").unwrap().unwrap();
    let mut options = C14nOptions::new(Exclusive);
    options.inclusive_prefixes = &["p", "#default", "unknown"];
    assert_eq!(
        octets(&document, Apex::Element(x), &options),
        "<q:b xmlns=\"urn:d\" xmlns:p=\"urn:p\" xmlns:q=\"urn:q\" xml:id=\"x\"><q:c xmlns=\"\" xmlns:p=\"urn:p2\"></q:c></q:b>"
    );
}

#[test]
fn omitted_subtrees_leave_nothing() {
    let document = parse("<a xml:id=\"x\"><b></b>1<s><t/></s>2</a>");
    let s = document.root().child("", "s").unwrap().id();
    let omit = [s];
    let options = C14nOptions {
        omit: &omit,
        ..C14nOptions::new(Inclusive10WithComments)
    };
    assert_eq!(
        octets(&document, Apex::Document, &options),
        "<a xml:id=\"x\"><b></b>12</a>"
    );
    assert_eq!(octets(&document, Apex::Element(s), &options), "");
}

#[test]
fn grafts_are_canonicalized_in_their_place() {
    let mut document =
        parse("<a xmlns=\"urn:d\" xmlns:p=\"urn:p\"><p:e xmlns=\"urn:gone\"><c/></p:e>tail</a>");
    let at: NodeId = document.root().first_child().unwrap().id();
    let plaintext = b"head<b y='1' x='2'/><!--c-->&#65;<p:b></p:b>".to_vec();
    document
        .graft(at, plaintext, Graft::Content, &ParseOptions::default())
        .unwrap();
    let expected =
        "<a xmlns=\"urn:d\">head<b x=\"2\" y=\"1\"></b>A<p:b xmlns:p=\"urn:p\"></p:b>tail</a>";
    assert_eq!(
        octets(&document, Apex::Document, &C14nOptions::new(Exclusive)),
        expected
    );
    let replaced = octets(&document, Apex::Element(at), &C14nOptions::new(Exclusive));
    assert_eq!(
        replaced,
        "<p:e xmlns:p=\"urn:p\"><c xmlns=\"urn:gone\"></c></p:e>"
    );
}
