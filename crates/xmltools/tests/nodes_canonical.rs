//! Node-sets: what filters leave of them and what their canonical form is.

use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, ParseOptions, canonicalize,
};
use soapstone_xmltools::nodes::filter::{Filter, Operation, enveloped_signature, filter2};
use soapstone_xmltools::nodes::xpath::{Evaluation, Expression};
use soapstone_xmltools::nodes::{NodeSet, Tree, canonicalize_nodes};

use Canonicalization::{
    Exclusive, ExclusiveWithComments, Inclusive10, Inclusive10WithComments, Inclusive11,
    Inclusive11WithComments,
};

const METHODS: [Canonicalization; 6] = [
    Inclusive10,
    Inclusive10WithComments,
    Inclusive11,
    Inclusive11WithComments,
    Exclusive,
    ExclusiveWithComments,
];

fn document(source: &str) -> Document {
    Document::parse(
        source.as_bytes().to_vec(),
        &ParseOptions::default(),
        &mut Buffers::default(),
    )
    .unwrap()
}

fn expression(text: &str) -> Expression {
    Expression::parse(text, &|prefix| (prefix == "p").then_some("urn:p")).unwrap()
}

fn octets(tree: &Tree<'_>, set: &NodeSet, method: Canonicalization, prefixes: &[&str]) -> String {
    let mut octets = Vec::new();
    canonicalize_nodes(tree, set, method, prefixes, &mut octets);
    String::from_utf8(octets).unwrap()
}

/// The canonical form of what `path` selects.
fn selected(source: &str, path: &str, method: Canonicalization, prefixes: &[&str]) -> String {
    let document = document(source);
    let tree = Tree::new(&document, &[]).unwrap();
    let set = Evaluation::new(&tree).select(&expression(path)).unwrap();
    octets(&tree, &set, method, prefixes)
}

/// The canonical form of the nodes for which `filter` is true.
fn kept(source: &str, filter: &str, method: Canonicalization, prefixes: &[&str]) -> String {
    selected(
        source,
        &format!("(//. | //@* | //namespace::*)[{filter}]"),
        method,
        prefixes,
    )
}

#[test]
fn whole_subtrees_come_out_as_on_the_fast_path() {
    let source = "<?a b?><!-- c --><p:a xmlns:p='urn:p' xmlns='urn:d' z='1' p:y=\"&#9;'&quot;\" xml:lang='en' xml:base='x/'>\
        <b xmlns='' xmlns:q='urn:q' xml:space='preserve'><q:c q:d=''/>&lt;<![CDATA[&]]>&#13;<!-- e --><?f?></b>\
        <g xml:lang='de' xmlns:p='urn:r'><p:h xmlns:p='urn:p'/><i xmlns:q='urn:q' xmlns='urn:d'/></g></p:a><!-- j --><?k?>";
    let document = document(source);
    let tree = Tree::new(&document, &[]).unwrap();
    let mut scratch = C14nScratch::default();
    for method in METHODS {
        for prefixes in [&[][..], &["p", "#default"]] {
            let mut options = C14nOptions::new(method);
            options.inclusive_prefixes = prefixes;
            let mut fast = |apex| {
                let mut octets = Vec::new();
                canonicalize(&document, apex, &options, &mut scratch, &mut octets).unwrap();
                String::from_utf8(octets).unwrap()
            };
            assert_eq!(
                octets(&tree, &tree.whole(true), method, prefixes),
                fast(Apex::Document),
                "{method:?}"
            );
            for element in document.root().descendants() {
                let node = tree.element(element.id()).unwrap();
                let slow = octets(&tree, &tree.subtree_set(node, true), method, prefixes);
                assert_eq!(
                    slow,
                    fast(Apex::Element(element.id())),
                    "{method:?} {element:?}"
                );
            }
        }
    }
}

#[test]
fn an_element_that_is_out_lets_its_parts_through() {
    let source = "<p:a xmlns:p='urn:p' b='1'><c d='2'>text<e/></c></p:a>";
    assert_eq!(
        kept(source, "not(self::c)", Inclusive10, &[]),
        "<p:a xmlns:p=\"urn:p\" b=\"1\"> d=\"2\"text<e></e></p:a>"
    );
    assert_eq!(
        kept(source, "not(self::*)", Inclusive10, &[]),
        " xmlns:p=\"urn:p\" b=\"1\" xmlns:p=\"urn:p\" d=\"2\"text xmlns:p=\"urn:p\""
    );
    assert_eq!(selected(source, "//@*", Exclusive, &[]), " b=\"1\" d=\"2\"");
    assert_eq!(
        selected(source, "//*", Inclusive10, &[]),
        "<p:a><c><e></e></c></p:a>"
    );
    assert_eq!(selected(source, "/..", Inclusive10, &[]), "");
}

#[test]
fn comments_and_instructions_outside_the_root_are_lines_of_their_own() {
    let source = "<?a?><!-- b --><c><!-- d --></c><!-- e -->\n<?f g?>";
    assert_eq!(
        kept(source, "true()", Inclusive10WithComments, &[]),
        "<?a?>\n<!-- b -->\n<c><!-- d --></c>\n<!-- e -->\n<?f g?>"
    );
    assert_eq!(
        kept(source, "true()", Inclusive10, &[]),
        "<?a?>\n<c></c>\n<?f g?>"
    );
}

#[test]
fn inclusive_1_0_takes_every_xml_attribute_over_and_1_1_what_inherits() {
    let source = "<a xml:lang='en' xml:id='i' xml:base='http://x/y/' xml:other='o'><b xml:space='preserve' xml:base='z/'>\
        <c xml:base='w'/></b></a>";
    assert_eq!(
        kept(source, "ancestor-or-self::c", Inclusive10, &[]),
        "<c xml:base=\"w\" xml:id=\"i\" xml:lang=\"en\" xml:other=\"o\" xml:space=\"preserve\"></c>"
    );
    assert_eq!(
        kept(source, "ancestor-or-self::c", Inclusive11, &[]),
        "<c xml:base=\"http://x/y/z/w\" xml:lang=\"en\" xml:space=\"preserve\"></c>"
    );
    assert_eq!(
        kept(source, "ancestor-or-self::c", Exclusive, &[]),
        "<c xml:base=\"w\"></c>"
    );
    // Only bases of the elements left out between two that stay are joined.
    assert_eq!(
        kept(
            source,
            "not(self::b) and not(parent::b and not(self::c))",
            Inclusive11,
            &[]
        ),
        "<a xml:base=\"http://x/y/\" xml:id=\"i\" xml:lang=\"en\" xml:other=\"o\"><c xml:base=\"z/w\" xml:lang=\"en\" xml:space=\"preserve\"></c></a>"
    );
}

#[test]
fn bases_that_join_to_nothing_go_and_an_empty_one_alone_stays() {
    assert_eq!(
        selected("<a xml:base=''><b/></a>", "//. | //@*", Inclusive11, &[]),
        "<a xml:base=\"\"><b></b></a>"
    );
    assert_eq!(
        selected(
            "<a xml:base='x/'><b xml:base='..'/></a>",
            "//b | //b/@*",
            Inclusive11,
            &[]
        ),
        "<b></b>"
    );
}

#[test]
fn a_default_namespace_that_is_gone_is_undeclared() {
    let source = "<a xmlns='urn:d'><b xmlns=''><c xmlns='urn:d'/></b></a>";
    assert_eq!(
        kept(source, "true()", Inclusive10, &[]),
        "<a xmlns=\"urn:d\"><b xmlns=\"\"><c xmlns=\"urn:d\"></c></b></a>"
    );
    assert_eq!(
        kept(source, "true()", Exclusive, &[]),
        "<a xmlns=\"urn:d\"><b xmlns=\"\"><c xmlns=\"urn:d\"></c></b></a>"
    );
    // Without its namespace node in the set an element has none to declare.
    assert_eq!(
        kept(source, "self::* or parent::p:none", Inclusive10, &[]),
        "<a><b><c></c></b></a>"
    );
}

#[test]
fn exclusive_declares_what_is_visibly_utilized_and_inclusive_prefixes_where_they_appear() {
    let source = "<a xmlns:p='urn:p' xmlns:q='urn:q'><b p:x='1'><p:c/></b><p:d q:y='2'/></a>";
    assert_eq!(
        kept(source, "true()", Exclusive, &[]),
        "<a><b xmlns:p=\"urn:p\" p:x=\"1\"><p:c></p:c></b><p:d xmlns:p=\"urn:p\" xmlns:q=\"urn:q\" q:y=\"2\"></p:d></a>"
    );
    assert_eq!(
        kept(source, "true()", Exclusive, &["q"]),
        "<a xmlns:q=\"urn:q\"><b xmlns:p=\"urn:p\" p:x=\"1\"><p:c></p:c></b><p:d xmlns:p=\"urn:p\" q:y=\"2\"></p:d></a>"
    );
    // An attribute that is out utilizes nothing.
    assert_eq!(
        kept(source, "not(self::node()[name() = 'p:x'])", Exclusive, &[]),
        "<a><b><p:c xmlns:p=\"urn:p\"></p:c></b><p:d xmlns:p=\"urn:p\" xmlns:q=\"urn:q\" q:y=\"2\"></p:d></a>"
    );
}

#[test]
fn an_enveloped_signature_goes_and_nothing_else() {
    let document = document("<a><s><t/>x</s><!-- c --><s/></a>");
    let tree = Tree::new(&document, &[]).unwrap();
    let signature = tree
        .element(document.root().first_child().unwrap().id())
        .unwrap();
    let mut set = tree.whole(false);
    enveloped_signature(&tree, signature, &mut set);
    assert_eq!(
        octets(&tree, &set, Inclusive10WithComments, &[]),
        "<a><s></s></a>"
    );
}

#[test]
fn filter_2_combines_subtrees_and_only_takes_away() {
    let document = document("<a><b><c>1</c></b><d><c>2</c></d><!-- e --></a>");
    let tree = Tree::new(&document, &[]).unwrap();
    let filtered = |filters: &[(Operation, &str)]| {
        let filters: Vec<Filter> = filters
            .iter()
            .map(|(operation, text)| Filter {
                operation: *operation,
                expression: expression(text),
                here: None,
            })
            .collect();
        let set = filter2(&mut Evaluation::new(&tree), &filters, &tree.whole(false)).unwrap();
        octets(&tree, &set, Inclusive10WithComments, &[])
    };
    use Operation::{Intersect, Subtract, Union};
    assert_eq!(filtered(&[(Intersect, "//b")]), "<b><c>1</c></b>");
    assert_eq!(filtered(&[(Subtract, "//c")]), "<a><b></b><d></d></a>");
    assert_eq!(
        filtered(&[(Subtract, "//b | //d"), (Union, "//c[2 > 1]")]),
        "<a><c>1</c><c>2</c></a>"
    );
    assert_eq!(
        filtered(&[(Intersect, "//b | //d"), (Subtract, "//c[. = 2]")]),
        "<b><c>1</c></b><d></d>"
    );
    // The comment was not in what went in.
    assert_eq!(
        filtered(&[(Union, "/")]),
        "<a><b><c>1</c></b><d><c>2</c></d></a>"
    );
    assert_eq!(filtered(&[(Intersect, "//c/text()")]), "12");
}
